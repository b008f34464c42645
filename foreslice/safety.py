"""What is done for workloads once foreslice is gone, or is told to go: back to what stood before it came.

Nothing here decides anything: the safe configuration is what the first plan of a workload started from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.outcome import Outcome, StepResult
from actuator.ports import Cluster
from actuator.ways import with_ways
from fleet.cards import CardShares
from fleet.change import Step, Verb
from fleet.cluster import Fleet, Standing
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Router, Way, Workload, WorkloadKey

TRIES = 3

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Return:
    """Where a workload goes when foreslice leaves it.

    Attributes:
        workload: Which.
        goal: What is asked for then.
        because: Why, one line each.
    """

    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...]


def raise_below(
    cluster: Cluster, workloads: Sequence[Workload], at_s: float, because: str
) -> tuple[StepResult, ...]:
    """Raise workloads that stand below their safe configuration to it, and take nothing away.

    Args:
        cluster: What is written to; its adapter decides whether this process may.
        workloads: Those that settings let be added to are raised, others are left alone.
        at_s: Time, seconds since the epoch.
        because: Why it is done, one clause, kept with the plan.
    """
    acting = {workload.key: _adding(workload.mode) for workload in workloads if workload.mode.may_add}
    cluster = with_ways(cluster, {workload.key: workload.way for workload in workloads})
    results = _raised(cluster, acting, at_s, because)
    for _ in range(TRIES - 1):
        went = tuple(result for result in results if result.outcome is not Outcome.FAILED)
        if len(went) == len(results):
            break
        # Controllers write a Deployment's status all the time; whoever runs once must look again.
        results = (*went, *_raised(cluster, acting, at_s, because))
    return results


def _raised(
    cluster: Cluster, acting: Mapping[WorkloadKey, Terms], at_s: float, because: str
) -> tuple[StepResult, ...]:
    fleet = cluster.view(tuple(acting))
    cards = CardShares(fleet.boards())
    returns = [
        Return(
            standing.key,
            cards.raised(standing.wanted, safe),
            (f"{because}: {safe} is safe",),
        )
        for standing in fleet.standings
        if (safe := cards.safe(standing)) is not None
    ]
    # Those that need nothing too: what a run that broke off has left open is ended.
    return Executor(cluster).run(diff(fleet, returns, at_s), acting, at_s)


class Restoration:
    """Takes workloads back to their owners' own Deployments, and ends the copies that foreslice made.

    Call `turn` until nothing is left to be done. Each holds as many cards in the end as it does now, and no
    fewer than before foreslice came; a copy goes as what takes its place becomes ready.

    A floor goes back to what its owner had it at. A Deployment that was switched to another shape goes back
    to the claim template that its owner named.

    Args:
        cluster: What is written to.
        ways: Workloads to take back, with how they are acted on.
    """

    def __init__(self, cluster: Cluster, ways: Mapping[WorkloadKey, Way]) -> None:
        cluster = with_ways(cluster, ways, switching=ways)
        self._cluster = cluster
        self._ways = ways
        self._keys = tuple(ways)
        # What an owner asks of us while we look after a workload does not keep us from leaving it.
        self._executor = Executor(_Unrestricted(cluster), moves_in_flight=len(ways))
        self._goals = dict(self._returns(cluster.view(self._keys)))

    def turn(self, at_s: float) -> tuple[StepResult, ...]:
        """Do what can be done now; return what became of every step, none once all is its owner's."""
        fleet = self._cluster.view(self._keys)
        # Where an owner takes a Deployment of his away meanwhile, nothing is to be made in its place.
        lost = {s.key for s in fleet.standings if not set(self._goals.get(s.key, ())) <= _shapes_of_owner(s)}
        self._goals |= {key: goal for key, goal in self._returns(fleet) if key in lost}
        returns = [Return(key, goal, ("restored to its owner",)) for key, goal in self._goals.items()]
        changes = diff(fleet, returns, at_s)
        terms = {
            standing.key: _keeping(standing, goal, fleet)
            for standing in fleet.standings
            if (goal := self._goals.get(standing.key)) is not None
        }
        results = self._executor.run(changes, terms, at_s)
        following = tuple(_following(fleet))
        return (*results, *following) if following or any(change.steps for change in changes) else ()

    def _returns(self, fleet: Fleet) -> Iterator[tuple[WorkloadKey, Configuration]]:
        cards = CardShares(fleet.boards())
        for standing in fleet.standings:
            safe, own = cards.safe(standing), _owners(standing)
            if safe is not None and standing.before is not None:
                if standing.own.rollout.is_switched:
                    safe = Configuration({own: standing.before.replicas})
                beside, to = _without(safe, own), standing.moving_to
                if to is not None and to.replicas and _without(to, own) == beside:
                    # A restoration that broke off goes on to its goal: on the way there, more is held.
                    held = to.counts.get(own, 0)
                elif self._ways[standing.key] is Way.FLOOR:
                    held = 0
                else:
                    others = cards.total([standing.wanted]) - cards.total([beside])
                    held = ceil(others / cards.of(own) - _ROUNDING)
                yield standing.key, beside.plus(own, max(held, safe.counts.get(own, 0)))


def _without(configuration: Configuration, shape: Shape) -> Configuration:
    return configuration.plus(shape, -configuration.counts.get(shape, 0))


def _owners(standing: Standing) -> Shape:
    """Return the shape that the owner's own Deployment asked for before foreslice came to switch it."""
    if standing.own.rollout.is_switched and standing.before is not None:
        return next(iter(standing.before), standing.own.shape)
    return standing.own.shape


def _shapes_of_owner(standing: Standing) -> set[Shape]:
    return {_owners(standing), *(v.shape for v in standing.variants if not v.is_copy)}


def _following(fleet: Fleet) -> Iterator[StepResult]:
    """Yield the Deployments whose pods have yet to follow to the template that they name."""
    for standing in fleet.standings:
        own = standing.own
        if own.is_rolling:
            step = Step(Verb.SWITCH, own.name, own.shape, own.wanted, None, "restored to its owner")
            yield StepResult(standing.key, step, Outcome.HELD, f"pods of {own.name} to follow")


class _Unrestricted:
    """A cluster whose owners let everything be done."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 -- every other verb of the port, as it is
        return getattr(self._cluster, verb)

    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        fleet = self._cluster.view(workloads)
        return replace(fleet, standings=tuple(replace(s, permits=Mode.FULL) for s in fleet.standings))


def _adding(mode: Mode) -> Terms:
    return Terms(mode, Router.LEAST_LOADED, 0, {}, 0.0)


def _keeping(standing: Standing, goal: Configuration, fleet: Fleet) -> Terms:
    """Return terms under which ready replicas, weighed by their cards, are no fewer than they will be."""
    cards = CardShares(fleet.boards())
    shapes = {*goal, *(variant.shape for variant in standing.variants)}
    shares = {shape: cards.of(shape) for shape in shapes}
    return Terms(Mode.FULL, Router.LEAST_LOADED, 0, shares, cards.total([goal]))
