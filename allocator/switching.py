"""A workload whose own Deployment changes shape: more replicas first where more are needed, then all of them.

No copies are made, so all replicas are of one shape at rest. While the Deployment is rolled out never fewer
serve than are asked for, each on the old shape or the new one.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from allocator.growth import Growth, grow
from allocator.offers import Offers
from allocator.reshape import ON_PAPER, WORTHWHILE_GPU, Judge, Reshape, reshape
from allocator.room import Room, request_of
from fleet.cluster import Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.switching import obstacle
from fleet.workload import Mode, Workload


def grow_or_switch(workload: Workload, judge: Judge, room: Room, *, may_move: bool) -> Growth:
    """Return what is added; where nothing has to be, the switch or the removal that saves most.

    What is added is of the shape that the Deployment asks for now.
    """
    standing, own = judge.standing, _only(judge.offers, judge.standing.own.shape)
    growth = grow(workload, standing, judge.need, own, room)
    if growth.because or workload.mode is Mode.SCALE_UP_ONLY:
        return growth
    if standing.moving_to is not None:
        return replace(growth, because=(f"on the way to {growth.goal}",))
    if not may_move:
        return growth
    fewer = reshape(replace(judge, offers=own), room)
    switched = switch(judge, room, fewer.goal)
    if switched.goal.counts == standing.wanted.counts:
        # Why it is not switched is said beside what is done.
        switched = replace(fewer, because=(*fewer.because, *switched.because))
    return Growth(switched.goal, switched.room, 0.0, switched.because, switched.later)


def switch(judge: Judge, room: Room, otherwise: Configuration) -> Reshape:
    """Return the shape to switch to, if one saves more than going to `otherwise` and the way is safe.

    Where the trial of the present shape has failed, the cheapest of the others is taken whatever it saves.
    """
    standing, offers, start = judge.standing, judge.offers, judge.standing.wanted
    must_leave = standing.own.shape in offers.given_up
    refused: tuple[str, ...] = ()
    for goal in offers.of_one_shape(judge.need.keep, judge.limits):
        saves = offers.price(otherwise) - offers.price(goal)
        is_worth_it = ON_PAPER * saves >= WORTHWHILE_GPU and not judge.is_noise(ON_PAPER * saves, 0)
        if standing.own.shape in goal or not (is_worth_it or must_leave):
            continue
        refusal = _refusal(judge, goal)
        moved = _beside(standing, room, goal) if refusal is None else room
        if refusal is None and isinstance(moved, Room):
            why = f"{start} to {goal} by a switch saves {saves:.2f} GPU; carries {judge.need.keep:.2f}"
            return Reshape(goal, moved, (why,))
        refused = refused or (f"{start} is not switched to {goal}: {refusal or moved}",)
    return Reshape(start, room, refused)


def _refusal(judge: Judge, goal: Configuration) -> str | None:
    """Return why a goal of one other shape may not be switched to now, `None` if it may.

    What is carried on the way needs no look: as many as carry the need on the new shape, and no fewer than
    stand on the old one, are there at every moment.
    """
    standing, need = judge.standing, judge.need
    [shape] = goal
    if need.distrust:
        return need.distrust[0]
    since_s = inf if standing.reshaped_at_s is None else judge.at_s - standing.reshaped_at_s
    if since_s < judge.timing.shape_dwell_s:
        return f"reshaped {since_s:.0f} s ago, keeps its shape for {judge.timing.shape_dwell_s:.0f} s"
    return obstacle(standing, shape, judge.timing.trial_s) or None


def _most(standing: Standing, goal: Configuration) -> int:
    """Return with how many replicas a switch to a goal is made; fewer are asked for after it."""
    return max(goal.replicas, standing.own.wanted)


def _beside(standing: Standing, room: Room, goal: Configuration) -> Room | str:
    """Return the room while a switch is under way, or what there is no room for, one clause.

    One new replica has to fit beside all old ones, if what an old one gives back is room for the next; else
    all of them.
    """
    [shape] = goal
    own, most = standing.own, _most(standing, goal)
    raised = room.beside(standing, Configuration({own.shape: most}))
    if raised is None:
        return room.obstacle(standing, Configuration({own.shape: most}))
    wanted = 1 if _follows(room, own, shape) else most
    placed, after = raised.fill(shape, wanted, standing.pods(shape))
    if placed < wanted:
        limit = raised.limit(shape, standing.pods(shape))
        return f"no room for {wanted} x {shape.name} beside {most} x {own.shape.name}{limit and f': {limit}'}"
    return after


def _follows(room: Room, own: Variant, shape: Shape) -> bool:
    """Return whether a replica of a shape fits where one of a Deployment's own stands now.

    Cards that are cut once for all offer no other shape in the place of one.
    """
    cards = {replica.device.gpu for replica in own.replicas if replica.device is not None}
    if shape.board not in room.products or shape.board != own.shape.board:
        return False
    request = request_of(shape, room.products[shape.board])
    offering = {device.gpu for pool in room.pools for device in pool.asked_for(request)}
    slices = {d.profile: len(d.memory_slices) for pool in room.pools for d in pool.asked_for(request)}
    taken = min((len(r.device.memory_slices) for r in own.replicas if r.device is not None), default=0)
    return cards <= offering and max(slices.values(), default=taken + 1) <= taken


def _only(offers: Offers, shape: Shape) -> Offers:
    """Return offers of one shape alone."""
    return replace(offers, by_shape={s: offer for s, offer in offers.by_shape.items() if s == shape})
