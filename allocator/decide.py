"""The decision core: from needs to what every workload should run on, with reasons.

Deterministic: the same snapshot gives the same decisions. Workloads are served in order of tier,
then need, so that when there is not enough the tiers decide who is short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from allocator.exchange import exchange
from allocator.growth import Growth, grow
from allocator.market import Market
from allocator.need import Need, NeedTable, Timing
from allocator.offers import Offers
from allocator.packing.first_fit import pack
from allocator.reshape import WORTHWHILE_GPU, Judge, Reshape, leaving, led, reshape, saved
from allocator.room import Room, Rooms
from allocator.switching import grow_or_switch
from fleet.cluster import Fleet, Standing
from fleet.codec import DERIVED
from fleet.shape import NOTHING, WHOLE, Configuration
from fleet.workload import Mode, Workload, WorkloadKey

NO_AIMS: Mapping[WorkloadKey, Configuration] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that decisions may depend on.

    Attributes:
        fleet: The cluster as it stands.
        workloads: The workloads to decide about; those that the fleet does not have are passed over.
        needs: Work needed by (workload, time step).
        offers: Shapes and capacities by workload.
        timing: Dwell times by workload.
        at_s: Time of the decision, seconds since the epoch.
        market: What cards cost, and what queues may use.
        rooms: Keeps the room that a fleet has left; whoever asks of one fleet again and again passes it on.
    """

    fleet: Fleet
    workloads: tuple[Workload, ...]
    needs: NeedTable
    offers: Mapping[WorkloadKey, Offers]
    timing: Mapping[WorkloadKey, Timing]
    at_s: float
    market: Market = field(default_factory=Market)
    rooms: Rooms = field(default_factory=Rooms, compare=False, repr=False, metadata=DERIVED)

    @property
    def room(self) -> Room:
        """Room that is left once everything that is already asked for has been placed."""
        return self.rooms.of(self.fleet, self.workloads, self.market)


@dataclass(frozen=True, slots=True)
class Decision:
    """Where one workload should go.

    Attributes:
        workload: Which.
        need: What was needed.
        start: What was asked for so far.
        goal: What should be asked for.
        short: Work of need-up that stays uncarried, 0 if none.
        because: Reasons, most important first.
        without_forecast: Goal of the same rule had there been no forecast; `additions` asks only where
            something is added, since without a forecast never more is.
        later: What is to be added as soon as there is room for it, or a trial has ended.
    """

    workload: WorkloadKey
    need: Need
    start: Configuration
    goal: Configuration
    short: float
    because: tuple[str, ...]
    without_forecast: Configuration
    later: Configuration = NOTHING

    @property
    def is_change(self) -> bool:
        """Whether anything is to be done."""
        return self.start.counts != self.goal.counts


def additions(question: Question) -> tuple[Decision, ...]:
    """Return for every workload what must be added now; asked every tick, from the newest need."""
    return _decide(question, _Pass(may_move=False))[0]


def plan(question: Question, aims: Mapping[WorkloadKey, Configuration] = NO_AIMS) -> tuple[Decision, ...]:
    """Return for every workload what should be added, moved or removed.

    Two ways are worked out in the scheduler's own room: workload by workload, each by what its move saves,
    and towards `aims`, with which a packing of the whole fleet takes fewest cards. That packing chooses the
    places of replicas, which the scheduler does not leave to us: its way is taken only where it ends better.
    """
    acting = {workload.key for workload in question.workloads if workload.mode.may_add}
    is_scarce = any(one.later.counts for one in additions(question) if one.workload in acting)
    moving = _Pass(may_move=True, is_scarce=is_scarce)
    alone, alone_worth = _decide(question, moving)
    if not aims:
        return alone
    towards, towards_worth = _decide(question, moving, aims)
    return towards if towards_worth > alone_worth + WORTHWHILE_GPU else alone


Tried = dict[tuple[WorkloadKey, Need, int], tuple[Room, Reshape]]
"""Moves that were looked for, by workload, need and room, which is kept so that none other has its id."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """How a question is gone through.

    Attributes:
        may_move: Whether capacity may be moved or removed.
        is_scarce: Whether somebody waits for room.
        tried: What was found so far: alone and towards aims, much is asked twice.
    """

    may_move: bool
    is_scarce: bool = False
    tried: Tried = field(default_factory=dict)


def _decide(
    question: Question, how: _Pass, aims: Mapping[WorkloadKey, Configuration] = NO_AIMS
) -> tuple[tuple[Decision, ...], float]:
    """Return the decisions, and what they are worth in cards once all is done."""
    room = start_room = question.room
    standings = {standing.key: standing for standing in question.fleet.standings}
    decisions = []
    given_back, shares = [], 0.0
    for workload in _in_order(question):
        standing = standings.get(workload.key)
        if standing is None:
            continue
        if workload.is_spread:
            standing = replace(standing, is_spread=True)
        need = question.needs[workload.key, 0]
        one = partial(_one, question, workload, standing, how)
        seen = one(need, room, aim=aims.get(workload.key))
        blind = seen
        if how.may_move or seen.because:
            blind = one(need.without_forecast(), room)
        if workload.mode.may_add:
            offers = question.offers[workload.key]
            shares += offers.price(standing.wanted) - offers.price(seen.goal)
            given_back += leaving(standing, seen.goal)
        room = seen.room if workload.mode.may_add else room  # advice takes no room away from those that act
        decisions.append(
            Decision(
                workload.key,
                need,
                standing.wanted,
                seen.goal,
                seen.short,
                seen.because,
                blind.goal,
                seen.later,
            )
        )
    cards = start_room.cards_without(()) - room.cards_without(given_back)
    return tuple(decisions), saved(shares, cards)


def _in_order(question: Question) -> list[Workload]:
    """Return workloads by tier, then largest need first, then name."""
    return sorted(question.workloads, key=lambda w: (w.tier.rank, -question.needs[w.key, 0].up, w.key))


def _one(
    question: Question,
    workload: Workload,
    standing: Standing,
    how: _Pass,
    need: Need,
    room: Room,
    *,
    aim: Configuration | None = None,
) -> Growth:
    """Return what is added; where nothing has to be and no plan is under way, what may be moved."""
    offers = question.offers[workload.key]
    timing = question.timing[workload.key]
    judge = Judge(standing, workload.limits, need, offers, timing, question.at_s, how.is_scarce)
    if standing.switches:
        return grow_or_switch(workload, judge, room, may_move=how.may_move)
    growth = grow(workload, standing, need, offers, room)
    # What may only grow would build the new replicas and keep the old ones for ever.
    if workload.mode is Mode.SCALE_UP_ONLY:
        return growth
    if growth.because:
        return exchange(workload, standing, need, offers, room, growth)
    if standing.moving_to is not None:
        return replace(growth, because=(f"on the way to {growth.goal}",))
    if not how.may_move:
        return growth
    moved = led(judge, room, aim) if aim is not None else None
    if moved is None:
        asked = workload.key, need, id(room)
        _, moved = how.tried[asked] = how.tried.get(asked) or (room, reshape(judge, room))
    return Growth(moved.goal, moved.room, 0.0, moved.because, moved.later)


def cards_if_packed(fleet: Fleet) -> int:
    """Return how many cards the allocated devices would take if layouts could be chosen freely.

    Compared with `Fleet.gpus_in_use` this says what first-fit placement costs right now. Cards on which
    shares are have no layout, and count as they are.
    """
    total = 0
    for board in fleet.boards():
        cards = {gpu.uuid for gpu in fleet.gpus if gpu.board == board}
        held = [device for device in fleet.allocated if device.gpu in cards]
        shared = {device.gpu for device in held if device.kind == "share"}
        cut = Counter(device.profile or WHOLE for device in held if device.gpu not in shared)
        total += len(shared) + len(pack(board, cut))
    return total
