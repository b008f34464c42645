"""What a node that is emptied takes away, and what has to be carried elsewhere before it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from actuator.layouts.node import Wish
from allocator.decide import Question, additions
from allocator.need import NeedTable
from fleet.cluster import Replica
from fleet.shape import WHOLE, Shape
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Begun:
    """A node under way.

    Attributes:
        node: Its name.
        wish: What it is to become.
        frees: Profiles that have to be given back, `None` = not known: all that it has.
    """

    node: str
    wish: Wish
    frees: frozenset[str] | None

    def moves(self, replica: Replica) -> bool:
        """Return whether a replica serves there and has to leave."""
        is_there = replica.device is not None and replica.device.node == self.node
        return replica.serves and is_there and (self.frees is None or replica.shape.profile in self.frees)


def raised(question: Question, begun: Begun) -> NeedTable:
    """Return the needs with what those who have to leave a node carry on top."""
    raised = dict(question.needs)
    for standing in question.fleet.standings:
        need = question.needs.get((standing.key, 0))
        leaving = [r for variant in standing.variants for r in variant.replicas if begun.moves(r)]
        if need is None or not leaving:
            continue
        left = standing.ready
        for replica in leaving:
            left = left.plus(replica.shape, -1)
        carried = question.offers[standing.key].carried
        level = need.keep + max(0.0, carried(standing.ready) - carried(left))
        raised[standing.key, 0] = replace(need, up=max(need.up, level), keep=level)
    return raised


def overtaken(question: Question, begun: Begun) -> bool:
    """Return whether one who has to leave a node cannot be carried elsewhere any more: need has grown."""
    leaving = _leaving(question, begun)
    return bool(leaving) and any(one.short > 0 and one.workload in leaving for one in additions(question))


def _leaving(question: Question, begun: Begun) -> set[WorkloadKey]:
    """Return the workloads that have replicas which have to leave a node."""
    return {
        standing.key
        for standing in question.fleet.standings
        if any(begun.moves(replica) for variant in standing.variants for replica in variant.replicas)
    }


def with_waiting(question: Question) -> NeedTable:
    """Return the needs with what replicas were to carry on top that wait for instances: none is free."""
    fleet, raised = question.fleet, dict(question.needs)
    boards, held = {gpu.uuid: gpu.board.id for gpu in fleet.gpus}, {device.id for device in fleet.allocated}
    offered = (device for pool in fleet.pools for device in pool.devices if device.id not in held)
    free = Counter(Shape(boards[device.gpu], device.profile or WHOLE) for device in offered)
    for standing in fleet.standings:
        rest = standing.told
        for replica in (r for variant in standing.variants for r in variant.replicas):
            if replica.device is None and not replica.is_leaving and not replica.shape.is_whole:
                rest = rest.plus(replica.shape, 0 if free[replica.shape] > 0 else -1)
                free[replica.shape] -= 1
        if rest.replicas < standing.told.replicas and (need := question.needs.get((standing.key, 0))):
            carried = question.offers[standing.key].carried
            up = need.up + max(0.0, carried(standing.told) - carried(rest))
            raised[standing.key, 0] = replace(need, up=up, keep=max(need.keep, up))
    return raised


def stranded(question: Question, begun: Begun) -> str:
    """Return who could not be carried if those who have to leave a node did, empty = all could.

    Of those who are short anyway only those are named who have to leave: they could not.
    """
    held = {device.id for device in question.fleet.allocated}
    pools = tuple(
        replace(pool, devices=tuple(device for device in pool.devices if device.id in held))
        if pool.node == begun.node
        else pool
        for pool in question.fleet.pools
    )
    fleet = replace(question.fleet, pools=pools)
    without = replace(question, fleet=fleet, needs=raised(question, begun))
    before = {one.workload: one.short for one in additions(question)}
    after = {one.workload: one.short for one in additions(without)}
    leaving = _leaving(question, begun)
    short = sorted(
        str(key) for key, work in after.items() if work > (0.0 if key in leaving else before.get(key, 0.0))
    )
    return f"{', '.join(short)} could not be carried elsewhere meanwhile" if short else ""
