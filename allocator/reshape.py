"""Fewer replicas, or cheaper shapes, for what must be kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from allocator.need import Need, Timing
from allocator.offers import ROUNDING, Offers
from allocator.room import Room
from fleet.cluster import Standing
from fleet.devices import Device
from fleet.shape import Configuration
from fleet.workload import Workload

WORTHWHILE_GPU = 0.1
"""A move that saves less of a card is not made: it costs a restart and brings nothing back."""

ON_PAPER = 0.5
"""What a share of a card given back is worth before it empties the card; the rest counts when it does."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """Where a workload should go once capacity may be moved or removed.

    Attributes:
        goal: What is asked for afterwards; equal to the start where nothing is moved.
        room: Room while the move is under way: the new replicas stand beside the old ones.
        because: Why, or why not.
    """

    goal: Configuration
    room: Room
    because: tuple[str, ...]


def reshape(
    workload: Workload,
    standing: Standing,
    need: Need,
    offers: Offers,
    room: Room,
    timing: Timing,
    at_s: float,
    aim: Configuration | None = None,
) -> Reshape:
    """Return the configuration of one shape that carries need-keep and saves most, if the way is safe.

    Old replicas stay until the new ones are ready, so the move is tried in the room that is left
    beside them, and no state on the way may carry less than need-keep. Between goals that save the
    same, the one that carries more is taken. What the whole fleet packs best with, `aim`, is taken
    whatever it saves here, where it still carries need-keep and the way is safe.
    """
    if aim is not None and (led := _led(workload, standing, need, offers, room, timing, at_s, aim)):
        return _tried(led, standing, room)
    start, price = standing.wanted, offers.price(standing.wanted)
    best, best_worth = Reshape(start, room, ()), WORTHWHILE_GPU
    first_refusal: tuple[str, ...] = ()
    not_now = _not_now(standing, need, timing, at_s)
    for goal in offers.of_one_shape(need.keep, workload.limits):
        shares = price - offers.price(goal)
        devices = leaving(standing, goal)
        if saved(shares, len({device.gpu for device in devices})) < best_worth:
            continue
        refusal = not_now or _refusal(standing, start, need, goal, offers, timing, at_s)
        moved = room.beside(standing, goal) if refusal is None else None
        if moved is None:
            if shares >= WORTHWHILE_GPU:
                first_refusal = first_refusal or (refusal or f"no room to build {goal} beside {start}",)
            continue
        cards = room.cards_without(()) - moved.cards_without(devices)
        worth = saved(shares, cards)
        if worth > best_worth + ROUNDING or (worth >= best_worth and best.goal == start):
            why = (
                f"{start} to {goal} frees {shares:.2f} GPU in shares, {cards} cards; carries {need.keep:.2f}"
            )
            best, best_worth = Reshape(goal, moved, (why,)), worth
    return _tried(best, standing, room) if best.because else Reshape(start, room, first_refusal)


def _tried(move: Reshape, standing: Standing, room: Room) -> Reshape:
    """Return a move, or in its place the first replica of a shape in it that is not proven."""
    unproven = next((shape for shape in move.goal if not standing.is_proven(shape)), None)
    start = standing.wanted
    if unproven is None or move.goal.counts == start.counts:
        return move
    if unproven in start.counts:
        return Reshape(start, room, (f"{move.goal} waits for the trial of {unproven.name}",))
    first = start.plus(unproven, 1)
    why = f"trial of {unproven.name}, for {move.because[0]}"
    return Reshape(first, room.beside(standing, first) or room, (why,))


def _led(
    workload: Workload,
    standing: Standing,
    need: Need,
    offers: Offers,
    room: Room,
    timing: Timing,
    at_s: float,
    aim: Configuration,
) -> Reshape | None:
    """Return the move to `aim`, `None` where it is not one to make now."""
    start, limits = standing.wanted, workload.limits
    if offers.short(aim, need.keep) or not limits.min_replicas <= aim.replicas <= limits.max_replicas:
        return None
    if aim.counts == start.counts:
        return Reshape(start, room, ())
    if _not_now(standing, need, timing, at_s) or _refusal(standing, start, need, aim, offers, timing, at_s):
        return None
    moved = room.beside(standing, aim)
    why = f"{start} to {aim}, with which the fleet takes fewest cards; carries {need.keep:.2f}"
    return None if moved is None else Reshape(aim, moved, (why,))


def saved(shares: float, cards: int) -> float:
    """Return what a move is worth in cards: half of its shares at once, the rest as it empties cards."""
    return ON_PAPER * shares + (1 - ON_PAPER) * cards


def leaving(standing: Standing, goal: Configuration) -> list[Device]:
    """Return the devices given back on the way to `goal`: of each shape the newest replicas leave."""
    devices = []
    for variant in standing.variants:
        placed = [replica for replica in variant.replicas if replica.device is not None]
        newest_first = sorted(placed, key=lambda replica: (-replica.created_at_s, replica.pod))
        surplus = max(0, len(placed) - goal.counts.get(variant.shape, 0))
        devices += [replica.device for replica in newest_first[:surplus] if replica.device is not None]
    return devices


def _not_now(standing: Standing, need: Need, timing: Timing, at_s: float) -> str | None:
    """Return why nothing may be moved now, whatever the goal; `None` if something may."""
    if need.distrust:
        return f"nothing is removed: {need.distrust[0]}"
    if standing.changed_at_s is not None and at_s - standing.changed_at_s < timing.dwell_s:
        return f"changed {at_s - standing.changed_at_s:.0f} s ago, stays for {timing.dwell_s:.0f} s"
    return None


def _refusal(
    standing: Standing,
    start: Configuration,
    need: Need,
    goal: Configuration,
    offers: Offers,
    timing: Timing,
    at_s: float,
) -> str | None:
    """Return why this goal may not be aimed at now, `None` if it may."""
    reshaped_at_s = standing.reshaped_at_s if set(goal) != set(start) else None
    if reshaped_at_s is not None and at_s - reshaped_at_s < timing.shape_dwell_s:
        return f"reshaped {at_s - reshaped_at_s:.0f} s ago, keeps its shapes for {timing.shape_dwell_s:.0f} s"
    if any(offers.carried(state) < need.keep - ROUNDING for state in states_between(start, goal)):
        return f"on the way to {goal} the smallest would set the pace; a least-loaded router would allow it"
    return None


def states_between(start: Configuration, goal: Configuration) -> Iterator[Configuration]:
    """Yield what may stand on the way: new replicas come up one by one, then old ones leave.

    Old replicas of a shape leave in one write, so there is no state with a part of them; the shapes may
    leave in any order. The goal comes last; nothing is yielded where it is the start.
    """
    state = start
    for shape, replicas in goal.counts.items():
        for _ in range(replicas - start.counts.get(shape, 0)):
            state = state.plus(shape, 1)
            yield state
    leaving = [shape for shape, replicas in start.counts.items() if replicas > goal.counts.get(shape, 0)]
    for n in range(1, len(leaving) + 1):
        for gone in combinations(leaving, n):
            yield Configuration({**state.counts, **{shape: goal.counts.get(shape, 0) for shape in gone}})
