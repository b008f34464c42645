"""The DRA driver of NVIDIA's GPUs with dynamic MIG: what it publishes for the cards of one node.

Follows the driver's own output (kubernetes-sigs/dra-driver-nvidia-gpu, v0.5 line, gate DynamicMIG): all
counter sets of a node in a first slice, then one slice of devices per card, by name. A whole card
and each of its possible instances draw from the card's counters, so the scheduler allocates only what
can exist together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fleet.boards import Board, Engines
from simulator.api import NODE, Api, Json
from simulator.devices import (
    amounts,
    attributes,
    instance_identity,
    instance_name,
    slice_body,
    whole_identity,
)
from simulator.errors import NotModelledError

# The API allows eight counter sets in a slice (k8s.io/api resource/v1 ResourceSliceMaxSharedCounters), and
# the driver makes one counter slice per node.
_CARDS_MAX = 8


def publish(api: Api, node: str, slices: Iterable[Json]) -> None:
    """Publish the slices of a node, which must exist: they go when it goes."""
    owner = api.get(NODE, None, node)
    if owner is None:
        raise NotModelledError(f"a driver on node {node}, which is not registered")
    for body in slices:
        body["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        api.create(body)


def resource_slices(node: str, boards: Sequence[Board]) -> list[Json]:
    """Return the ResourceSlices of a node with one card of each of `boards`, in order of card index.

    Raises `NotModelledError` for more than eight cards.
    """
    if len(boards) > _CARDS_MAX:
        raise NotModelledError(f"{len(boards)} cards with dynamic MIG on one node")
    cards = list(enumerate(boards))
    parts = [{"sharedCounters": [_counter_set(index, board) for index, board in cards]}]
    parts += [{"devices": list(_devices(node, index, board))} for index, board in cards]
    return [slice_body(node, number, len(parts), part) for number, part in enumerate(parts)]


def _counter_set(index: int, board: Board) -> Json:
    return {"name": _counter_set_name(index), "counters": _counters(_whole(board), range(board.grid))}


def _devices(node: str, index: int, board: Board) -> Iterator[Json]:
    """Yield what a card can be, by name; not the whole one where leaving MIG mode takes a reset."""
    instances = {
        instance_name(index, profile, start): (profile, start)
        for profile in board.profiles
        for start in profile.starts
    }
    if board.resetless_mig_toggle or not board.profiles:
        identity = whole_identity(node, index)
        yield _device(f"gpu-{index}", index, board, identity, _whole(board), range(board.grid))
    for name, (profile, start) in sorted(instances.items()):
        covered = range(start, start + profile.memory_slices)
        held = amounts(profile.memory_gib, profile.sm, profile.engines)
        yield _device(name, index, board, instance_identity(node, index, profile), held, covered)


def _device(
    name: str, index: int, board: Board, identity: Json, held: dict[str, str], covered: range
) -> Json:
    return {
        "name": name,
        "attributes": attributes(board, index, identity),
        "capacity": {key: {"value": amount} for key, amount in held.items()},
        "consumesCounters": [{"counterSet": _counter_set_name(index), "counters": _counters(held, covered)}],
    }


def _counter_set_name(index: int) -> str:
    return f"gpu-{index}-counter-set"


def _whole(board: Board) -> dict[str, str]:
    """With dynamic MIG a card is published as large as the largest of its instances in every respect."""
    if not board.profiles:
        return amounts(board.memory_gib, board.sm, Engines(0, 0, 0, 0, 0))
    engines = [profile.engines for profile in board.profiles]
    return amounts(
        max(profile.memory_gib for profile in board.profiles),
        max(profile.sm for profile in board.profiles),
        Engines(
            copy=max(each.copy for each in engines),
            decoder=max(each.decoder for each in engines),
            encoder=max(each.encoder for each in engines),
            jpeg=max(each.jpeg for each in engines),
            ofa=max(each.ofa for each in engines),
        ),
    )


def _counters(held: dict[str, str], covered: range) -> Json:
    """Counters have the names of the capacities, hyphenated, and one more for each memory slice."""
    counters = {key.replace("Engines", "-engines"): {"value": amount} for key, amount in held.items()}
    return counters | {f"memory-slice-{unit}": {"value": "1"} for unit in covered}
