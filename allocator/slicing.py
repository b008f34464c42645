"""How often idle nodes should offer their cards for what their workloads will need.

Only nodes on which nobody is are looked at: any other would have to be emptied first, as on which card a
tenant is, nobody says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from allocator.decide import Question, additions
from fleet.boards import Board
from fleet.devices import Device, Pool
from fleet.host import Host
from fleet.shape import TIME_SLICES, time_slice
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Reslice:
    """One node that should offer its cards another number of times.

    Attributes:
        node: Its name.
        replicas: How often, 1 = whole.
        because: Why, one clause.
    """

    node: str
    replicas: int
    because: str


def reslices(question: Question, nodes: Collection[str]) -> tuple[Reslice, ...]:
    """Return the nodes that should offer their cards another number of times, in order.

    One node after the other, as long as that leaves less of the need short and nobody shorter than before; of
    numbers that do as well the smallest, which leaves most to each. Complexity: a plan of additions for each
    kind of idle node and number; those of one kind have as many cards, and as much beside them.

    Args:
        question: The fleet, and what will be needed by the time that nodes can be changed.
        nodes: Nodes that may be changed.
    """
    found: list[Reslice] = []
    short = _short(question)
    while short:
        best = min(_ways(question, nodes, short), key=lambda way: way[0], default=None)
        if best is None:
            break
        _, node, replicas, question = best
        because = ", ".join(f"{key} would be short of {work:.2f}" for key, work in sorted(short.items()))
        found.append(Reslice(node, replicas, because))
        nodes, short = set(nodes) - {node}, _short(question)
    return tuple(found)


def _ways(
    question: Question, nodes: Collection[str], short: Mapping[WorkloadKey, float]
) -> Iterator[tuple[tuple[float, int, str], str, int, Question]]:
    """Yield what helps: its rank, the node, the number, and the question with it."""
    busy = {device.pool for device in question.fleet.allocated}
    boards = {gpu.uuid: gpu.board for gpu in question.fleet.gpus}
    tried: set[tuple[str, int, int, Host | None]] = set()
    for pool in sorted(question.fleet.pools, key=lambda pool: pool.node):
        cards = list(dict.fromkeys(device.gpu for device in pool.devices))
        is_cut = any(device.kind == "mig" for device in pool.devices)
        if pool.node not in nodes or pool.name in busy or is_cut or not cards:
            continue
        board, now = boards[cards[0]], len(pool.devices) // len(cards)
        if (kind := (board.id, len(cards), now, question.fleet.hosts.get(pool.node))) in tried:
            continue
        tried.add(kind)
        for replicas in {1, *TIME_SLICES} - {now}:
            offered = replace(pool, devices=tuple(_offered(pool, board, cards, replicas)))
            pools = tuple(offered if each is pool else each for each in question.fleet.pools)
            then = replace(question, fleet=replace(question.fleet, pools=pools))
            left = _short(then)
            is_worse = any(work > short.get(key, 0.0) + _ROUNDING for key, work in left.items())
            if not is_worse and sum(left.values()) < sum(short.values()) - _ROUNDING:
                yield (round(sum(left.values()), 6), replicas, pool.node), pool.node, replicas, then


_ROUNDING = 1e-6
"""Work that is not worth a change: sums of floats that are equal on paper."""


def _short(question: Question) -> dict[WorkloadKey, float]:
    return {one.workload: one.short for one in additions(question) if one.short}


def _offered(pool: Pool, board: Board, cards: list[str], replicas: int) -> Iterator[Device]:
    like = pool.devices[0]
    for number in range(replicas):
        for index, card in enumerate(cards):
            if replicas == 1:
                whole = frozenset(range(board.grid))
                yield replace(
                    like, name=f"gpu-{index}", kind="gpu", gpu=card, profile=None, memory_slices=whole
                )
            else:
                yield replace(
                    like,
                    name=f"gpu-{index}-{number}",
                    kind="share",
                    gpu=card,
                    profile=time_slice(board, replicas).profile,
                    memory_slices=frozenset({number}),
                )
