"""What has to be written so that a workload is asked for as its target says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from actuator.manifest import digest_of, dns_label
from actuator.objects.variants import variant_name
from fleet.change import ChangeSet, Step, Verb
from fleet.cluster import Fleet, Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey


class Target(Protocol):
    """Where a workload should go, and why; the allocator's decisions are such."""

    @property
    def workload(self) -> WorkloadKey:
        """Which workload."""
        ...

    @property
    def goal(self) -> Configuration:
        """What should be asked for."""
        ...

    @property
    def because(self) -> tuple[str, ...]:
        """Reasons, most important first."""
        ...


def diff(fleet: Fleet, targets: Iterable[Target], at_s: float) -> tuple[ChangeSet, ...]:
    """Return a change set for every target that the fleet has, without steps where nothing is to be done.

    What is compared is what was asked for (`spec.replicas`), ready or not: an order is given once.
    Additions come first, in order of shape, a missing variant before its first replica. A removal takes no
    more at once than PodDisruptionBudgets let go now, and one where they let none go, so that it is refused
    with the reason.
    """
    changes = []
    for target in targets:
        standing = fleet.standing(target.workload)
        if standing is not None:
            steps = tuple(_steps(standing, target.goal, "; ".join(target.because)))
            changes.append(ChangeSet(target.workload, standing.wanted, target.goal, steps, at_s))
    return tuple(changes)


def _steps(standing: Standing, goal: Configuration, reason: str) -> Iterator[Step]:
    if standing.switches and (shape := _switched_to(standing, goal)) is not None:
        yield from _switch(standing, shape, goal.replicas, reason)
        return
    excess = {shape: count - goal.counts.get(shape, 0) for shape, count in standing.wanted.counts.items()}
    for shape, count in goal.counts.items():
        missing = count - standing.wanted.counts.get(shape, 0)
        if missing > 0:
            yield from _up(standing, shape, missing, reason)
    for shape, surplus in excess.items():
        if surplus > 0:
            yield from _down(standing, shape, surplus, reason)


def _switched_to(standing: Standing, goal: Configuration) -> Shape | None:
    """Return the shape that a workload's own Deployment is to be switched to, `None` = it stays."""
    shapes = set(goal)
    return shapes.pop() if len(shapes) == 1 and standing.own.shape not in shapes else None


def _switch(standing: Standing, shape: Shape, replicas: int, reason: str) -> Iterator[Step]:
    """Yield what takes all replicas to another shape: more of the old one first, where more are needed.

    Fewer are asked for once the new ones serve.
    """
    own = standing.own
    if replicas > own.wanted:
        yield _scale(Verb.SCALE_UP, own, replicas, reason)
    most, rollout = max(replicas, own.wanted), own.rollout
    yield Step(Verb.SWITCH, own.name, shape, most, rollout.version, reason, rollout.template)


def _up(standing: Standing, shape: Shape, missing: int, reason: str) -> Iterator[Step]:
    variant = standing.variant(shape)
    if variant is None:
        name = _new_name(standing, shape)
        yield Step(Verb.CREATE_VARIANT, name, shape, 0, None, reason)
        yield Step(Verb.SCALE_UP, name, shape, missing, None, reason)
    else:
        yield _scale(Verb.SCALE_UP, variant, variant.wanted + missing, reason)


def _down(standing: Standing, shape: Shape, surplus: int, reason: str) -> Iterator[Step]:
    spare = min((budget.allowed for budget in standing.budgets), default=surplus)
    # Where several have come to one shape copies go first, and the workload's own Deployment last.
    for variant in reversed([v for v in standing.variants if v.shape == shape and v.wanted]):
        idle = variant.wanted - variant.ready
        fewer = min(surplus, variant.wanted, max(idle, 0) + max(spare, 1))
        if fewer:
            yield _scale(Verb.SCALE_DOWN, variant, variant.wanted - fewer, reason)
            surplus -= fewer


def _scale(verb: Verb, variant: Variant, replicas: int, reason: str) -> Step:
    return Step(verb, variant.name, variant.shape, replicas, variant.version, reason)


def _new_name(standing: Standing, shape: Shape) -> str:
    """Return a name for the copy of this shape; the short one may be taken if the base changed its board."""
    name = variant_name(standing.key.name, standing.variants[0].shape, shape)
    if standing.named(name) is not None:
        return dns_label(f"{name}-{digest_of(str(shape))}")
    return name
