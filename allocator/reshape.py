"""Fewer replicas, or cheaper shapes, for what must be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import inf

from allocator.need import Need, Timing
from allocator.offers import ROUNDING, Offers
from allocator.room import Room
from fleet.cluster import Standing
from fleet.devices import Device
from fleet.shape import NOTHING, Configuration, Shape
from fleet.trial import Trial
from fleet.workload import Limits

WORTHWHILE_GPU = 0.1
"""A move that saves less of a card is not made: it costs a restart and brings nothing back."""

WORTHWHILE_SHARE = 0.05
"""Nor is one that saves less of what the workload takes and empties no card: noise would have it back.

Unless somebody waits for room: what is not worth having back may be all that another needs.
"""

APART = 2
"""Fault domains in which a workload that is to be spread stands at least."""

ON_PAPER = 0.5
"""What a share of a card given back is worth before it empties the card; the rest counts when it does."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """Where a workload should go once capacity may be moved or removed.

    Attributes:
        goal: What is asked for afterwards; equal to the start where nothing is moved.
        room: Room while the move is under way: the new replicas stand beside the old ones.
        because: Why, or why not.
        later: What the move adds once its first replica has had its trial.
    """

    goal: Configuration
    room: Room
    because: tuple[str, ...]
    later: Configuration = NOTHING


@dataclass(frozen=True, slots=True)
class Judge:
    """What the moves of one workload are judged by.

    Attributes:
        standing: The workload as it stands.
        limits: How many replicas it may have.
        need: Work needed.
        offers: Shapes and capacities.
        timing: Dwell times.
        at_s: Time of the decision, seconds since the epoch.
        is_scarce: Somebody waits for room: what would be noise is given up, too.
    """

    standing: Standing
    limits: Limits
    need: Need
    offers: Offers
    timing: Timing
    at_s: float
    is_scarce: bool = False

    def is_noise(self, worth: float, cards: int) -> bool:
        """Return whether a move is worth too little of what its workload takes; an emptied card never is."""
        least = WORTHWHILE_SHARE * self.offers.price(self.standing.wanted)
        return not self.is_scarce and cards <= 0 and worth < least - ROUNDING

    def gathered(self, goal: Configuration, moved: Room) -> str | None:
        """Return why the goal may not be left with what stays of it, `None` if it may.

        Of a workload that is to be spread over fault domains, two replicas are never left in one where they
        stand in two: which replicas leave is the ReplicaSet's choice, taken here to be the newest.
        """
        if not self.standing.is_spread or goal.replicas < APART:
            return None
        key = self.standing.key
        stays = moved.domains_without(key, leaving(self.standing, goal))
        if stays >= min(moved.domains_without(key), APART):
            return None
        return f"{goal} would leave all replicas in one fault domain"

    def refusal(self, goal: Configuration) -> str | None:
        """Return why this goal may not be aimed at now, `None` if it may."""
        start, timing, need = self.standing.wanted, self.timing, self.need
        changed_s, reshaped_s = (
            self._since(self.standing.changed_at_s),
            self._since(self.standing.reshaped_at_s),
        )
        if need.distrust:
            return f"nothing is removed: {need.distrust[0]}"
        if changed_s < timing.dwell_s:
            return f"changed {changed_s:.0f} s ago, stays for {timing.dwell_s:.0f} s"
        if set(goal) != set(start) and reshaped_s < timing.shape_dwell_s:
            return f"reshaped {reshaped_s:.0f} s ago, keeps its shapes for {timing.shape_dwell_s:.0f} s"
        if any(self.offers.carried(state) < need.keep - ROUNDING for state in states_between(start, goal)):
            return (
                f"on the way to {goal} the smallest would set the pace; a least-loaded router would allow it"
            )
        return None

    def _since(self, then_s: float | None) -> float:
        return inf if then_s is None else self.at_s - then_s


def reshape(judge: Judge, room: Room) -> Reshape:
    """Return the configuration of one shape that carries need-keep and saves most, if the way is safe.

    Old replicas stay until the new ones are ready, so the move is tried in the room that is left
    beside them, and no state on the way may carry less than need-keep. Between goals that save the
    same, the one is taken that is ready sooner, then the one that carries more.
    """
    standing, need, offers = judge.standing, judge.need, judge.offers
    if failed := offers.given_up & set(standing.wanted):
        return _retreat(judge, room, failed)
    start, price = standing.wanted, offers.price(standing.wanted)
    best, best_worth = Reshape(start, room, ()), WORTHWHILE_GPU
    first_refusal: tuple[str, ...] = ()
    for goal in _soonest_first(offers, offers.of_one_shape(need.keep, judge.limits), standing):
        shares = price - offers.price(goal)
        devices = leaving(standing, goal)
        if saved(shares, len({device.gpu for device in devices})) < best_worth:
            continue
        refusal = judge.refusal(goal)
        moved = room.beside(standing, goal) if refusal is None else None
        refusal = judge.gathered(goal, moved) if moved is not None else refusal
        if moved is None or refusal is not None:
            if shares >= WORTHWHILE_GPU:
                first_refusal = first_refusal or (refusal or room.obstacle(standing, goal),)
            continue
        cards = room.cards_without(()) - moved.cards_without(devices)
        worth = saved(shares, cards)
        if judge.is_noise(worth, cards):
            continue
        if worth > best_worth + ROUNDING or (worth >= best_worth and best.goal == start):
            why = (
                f"{start} to {goal} frees {shares:.2f} GPU in shares, {cards} cards; carries {need.keep:.2f}"
            )
            best, best_worth = Reshape(goal, moved, (why,)), worth
    return _tried(best, standing, room) if best.because else Reshape(start, room, first_refusal)


def led(judge: Judge, room: Room, aim: Configuration) -> Reshape | None:
    """Return the move to what the whole fleet packs best with, `None` where it is not one to make now.

    What it saves here does not matter. It has to carry need-keep, and the way has to be safe. Where it is
    only fewer of the same, it is for this workload alone, and has to be more than noise.
    """
    if judge.offers.given_up & set(judge.standing.wanted):
        return None
    found = _led(judge, room, aim)
    return None if found is None else _tried(found, judge.standing, room)


def _led(judge: Judge, room: Room, aim: Configuration) -> Reshape | None:
    start, keep = judge.standing.wanted, judge.need.keep
    if judge.offers.given_up & set(aim) or judge.offers.short(aim, keep):
        return None
    if not judge.limits.min_replicas <= aim.replicas <= judge.limits.max_replicas:
        return None
    if aim.counts == start.counts:
        return Reshape(start, room, ())
    if all(n <= start.counts.get(shape, 0) for shape, n in aim.counts.items()):
        price, left = judge.offers.price(start), room.cards_without(leaving(judge.standing, aim))
        cards = room.cards_without(()) - left
        if judge.is_noise(saved(price - judge.offers.price(aim), cards), cards):
            return Reshape(start, room, ())
    moved = room.beside(judge.standing, aim) if judge.refusal(aim) is None else None
    if moved is not None and judge.gathered(aim, moved) is not None:
        return None
    why = f"{start} to {aim}, with which the fleet takes fewest cards; carries {keep:.2f}"
    return None if moved is None else Reshape(aim, moved, (why,))


def _soonest_first(offers: Offers, goals: Iterable[Configuration], standing: Standing) -> list[Configuration]:
    """Return goals by price, those of one price by how soon their replicas are ready."""
    return sorted(goals, key=lambda goal: (offers.price(goal), *(standing.slows(shape) for shape in goal)))


def _tried(move: Reshape, standing: Standing, room: Room) -> Reshape:
    """Return a move, or in its place the first replica of a shape in it that is not proven."""
    unproven = next((shape for shape in move.goal if not standing.is_proven(shape)), None)
    start = standing.wanted
    if unproven is None or move.goal.counts == start.counts:
        return move
    if unproven in start.counts:
        trial = standing.trials.get(unproven, Trial())
        failed = f", {trial.failures} attempts failed" if trial.failures else ""
        so_far = f"{trial.served_s:.0f} s inside its objectives so far{failed}"
        why = f"{move.goal} waits for the trial of {unproven.name}: {so_far}"
        return Reshape(start, room, (why,), _beyond(start, move.goal))
    first = start.plus(unproven, 1)
    why = f"trial of {unproven.name}, for {move.because[0]}"
    return Reshape(first, room.beside(standing, first) or room, (why,), _beyond(first, move.goal))


def _beyond(start: Configuration, goal: Configuration) -> Configuration:
    """Return what a goal has more of than the start."""
    return Configuration({shape: n - start.counts.get(shape, 0) for shape, n in goal.counts.items()})


def _retreat(judge: Judge, room: Room, failed: frozenset[Shape]) -> Reshape:
    """Return the way back from shapes that were given up, the start where the others do not carry enough."""
    start = judge.standing.wanted
    goal = Configuration({shape: n for shape, n in start.counts.items() if shape not in failed})
    why = "; ".join(
        f"trial of {s.name} is given up: {judge.standing.trials[s].because}" for s in sorted(failed)
    )
    refusal = judge.refusal(goal) or judge.gathered(goal, room)
    if goal.replicas < judge.limits.min_replicas:
        refusal = f"at least {judge.limits.min_replicas} replicas must be there"
    return Reshape(start if refusal else goal, room, (f"{why}; it stays: {refusal}" if refusal else why,))


def saved(shares: float, cards: int) -> float:
    """Return what a move is worth in cards: half of its shares at once, the rest as it empties cards."""
    return ON_PAPER * shares + (1 - ON_PAPER) * cards


def leaving(standing: Standing, goal: Configuration) -> list[Device]:
    """Return the devices given back on the way to `goal`: of each shape the newest that stay leave."""
    devices = []
    for variant in standing.variants:
        placed = [one for one in variant.replicas if one.device is not None and not one.is_leaving]
        surplus = len(placed) - goal.counts.get(variant.shape, 0)
        if surplus > 0:
            newest_first = sorted(placed, key=lambda replica: (-replica.created_at_s, replica.pod))
            devices += [replica.device for replica in newest_first[:surplus] if replica.device is not None]
    return devices


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
