"""Ways to act: which object is written for a workload, and who would write against it.

`own` writes the replicas of its Deployments. `floor` writes the fewest replicas of the
HorizontalPodAutoscaler or ScaledObject that scales it, which stays the reactive guard and works when we are
gone. `publish` writes nothing that serves. What another one keeps writing is never fought: nothing is written
then, and the reason names the writer, the field and what its owner changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from actuator.objects.rehearsal import floor_rewrite, with_replicas_of
from actuator.ports import Cluster, Rewrite
from fleet.change import ChangeSet, Step, Verb
from fleet.cluster import Fleet, Standing
from fleet.errors import RefusedError
from fleet.shape import SHARE_SIZES, Shape
from fleet.workload import Reshaping, Way, Workload, WorkloadKey
from fleet.writers import Writer

NO_MECHANISMS: Mapping[WorkloadKey, str] = MappingProxyType({})


def with_ways(
    cluster: Cluster,
    ways: Mapping[WorkloadKey, Way],
    mechanisms: Mapping[WorkloadKey, str] = NO_MECHANISMS,
    switching: Collection[WorkloadKey] = (),
) -> Cluster:
    """Return the cluster as it is acted on in these ways; a workload without one is our own.

    Nothing is written for one whose own pods have shares while `mechanisms` names one that makes none. Those
    in `switching` come to other shapes by a switch of their Deployment, the others by copies of it.
    """
    return cast("Cluster", _Ways(cluster, ways, mechanisms, frozenset(switching)))


def as_described(cluster: Cluster, workloads: Iterable[Workload]) -> Cluster:
    """Return the cluster as it is acted on for workloads, each in its way and by its mechanism."""
    described = tuple(workloads)
    switching = [w.key for w in described if w.reshape is Reshaping.SWITCH]
    ways, mechanisms = {w.key: w.way for w in described}, {w.key: w.mechanism for w in described}
    return with_ways(cluster, ways, mechanisms, switching)


class _Ways:
    """A cluster in which asking for replicas means what the workload's way to act makes of it."""

    def __init__(
        self,
        cluster: Cluster,
        ways: Mapping[WorkloadKey, Way],
        mechanisms: Mapping[WorkloadKey, str],
        switching: frozenset[WorkloadKey],
    ) -> None:
        self._cluster = cluster
        self._ways = ways
        self._mechanisms = mechanisms
        self._switching = switching
        self._seen: tuple[Fleet, Fleet] | None = None

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 -- every other verb of the port, as it is
        return getattr(self._cluster, verb)

    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        fleet = self._cluster.view(workloads)
        if self._seen is None or self._seen[0] is not fleet:
            acted_on = (as_acted_on(standing, self._way(standing.key)) for standing in fleet.standings)
            made = (as_made(standing, self._mechanisms.get(standing.key)) for standing in acted_on)
            standings = tuple(as_reshaped(one) if one.key in self._switching else one for one in made)
            self._seen = fleet, replace(fleet, standings=standings)
        return self._seen[1]

    def rehearse(self, change: ChangeSet, steps: Sequence[Step]) -> tuple[Rewrite, ...]:
        found = self._cluster.rehearse(change, steps)
        standing = self.view([change.target]).standing(change.target)
        if self._way(change.target) is not Way.FLOOR or standing is None or len(standing.scalers) != 1:
            return found
        own = [step for step in steps if step.variant == change.target.name]
        floors = [step.replicas for step in own if step.verb is not Verb.SWITCH]
        others = [each for each in found if each.after["metadata"]["name"] != change.target.name]
        switched = [with_replicas_of(each) for each in found if each not in others]
        return (
            *others,
            *(floor_rewrite(change.target, standing.scalers[0], floor) for floor in floors),
            *(switched if len(own) > len(floors) else ()),
        )

    def create_variant(self, workload: WorkloadKey, name: str, shape: Shape) -> None:
        if workload in self._switching:
            raise RefusedError(f"Deployment {workload} gets no copies: `reshape: switch` changes itself")
        if self._way(workload) is not Way.OWN:
            raise RefusedError(
                f"Deployment {workload} gets no copies: what scales it counts their pods as its own"
            )
        self._cluster.create_variant(workload, name, shape)

    def scale(self, workload: WorkloadKey, variant: str, replicas: int, *, expects: str | None) -> None:
        if self._way(workload) is Way.FLOOR and variant == workload.name:
            self._cluster.set_floor(workload, replicas, expects=expects)
        else:
            self._cluster.scale(workload, variant, replicas, expects=expects)

    def _way(self, workload: WorkloadKey) -> Way:
        return self._ways.get(workload, Way.OWN)


def as_acted_on(standing: Standing, way: Way) -> Standing:
    """Return a standing in which what is wanted is what we write, and forbidden what must not be written."""
    rivals = [writer for writer in standing.writers if writer.is_rival]
    match way:
        case Way.OWN:
            rivals = [*(scaler.writer for scaler in standing.scalers), *rivals]
            return replace(standing, forbidden=_kept_by(rivals)) if rivals else standing
        case Way.FLOOR:
            return _floored(standing, rivals)
        case Way.PUBLISH:
            return replace(standing, forbidden="`way: publish` changes nothing, it says where it should be")


def as_made(standing: Standing, mechanism: str | None) -> Standing:
    """Return a standing for which nothing is written if its shares are none that the mechanism makes.

    They would carry nothing by our reckoning. `None` = any mechanism.
    """
    has_shares = any(v.shape.hundredths for v in standing.variants if not v.is_copy)
    if mechanism is None or mechanism in SHARE_SIZES or not has_shares:
        return standing
    fix = f"set `mechanism` to {' or '.join(sorted(SHARE_SIZES))}, and `isolation: none`"
    return replace(standing, forbidden=f"its pods have shares of cards, and {mechanism} makes none: {fix}")


def as_reshaped(standing: Standing) -> Standing:
    """Return the standing of a workload of which no copies are made, and whose Deployment is switched.

    Not while copies that were made before still stand: they are folded back first, as any other removal.
    """
    is_one = not any(v.is_beside or v.wanted or v.replicas for v in standing.variants[1:])
    # What was planned and is not written yet is decided on anew.
    is_begun = standing.moving_to is None or standing.own.shape in standing.moving_to
    moving_to = standing.moving_to if is_begun or not is_one else None
    return replace(standing, may_have_variants=False, switches=is_one, moving_to=moving_to)


def _floored(standing: Standing, rivals: Sequence[Writer]) -> Standing:
    if not standing.scalers:
        fix = "create a HorizontalPodAutoscaler or ScaledObject, or set `way: own`"
        return replace(standing, forbidden=f"`way: floor`, and nothing scales it: {fix}")
    if len(standing.scalers) > 1:
        names = " and ".join(scaler.writer.name for scaler in standing.scalers)
        return replace(standing, forbidden=f"spec.replicas is kept by {names}: delete one of them")
    [scaler] = standing.scalers
    own = replace(standing.own, wanted=scaler.floor, version=scaler.version, autoscaled=standing.own.wanted)
    return replace(standing, variants=(own, *standing.variants[1:]), forbidden=_kept_by(rivals))


def _kept_by(rivals: Sequence[Writer]) -> str:
    """Return who would write against us, with the first one's remedy; empty = nobody."""
    if not rivals:
        return ""
    who = " and ".join(f"{writer.name} ({writer.does})" for writer in rivals)
    return f"spec.replicas is kept by {who}: {rivals[0].fix}"
