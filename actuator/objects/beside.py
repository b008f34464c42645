"""Deployments that owners have made beside a workload's own, for other shapes: the user's own variants.

Settings name them. They are their owner's in all: `spec.replicas` is written of them as of the workload's
own, and nothing of them is created, edited or deleted. One that cannot be used is left out and named, and
the workload goes on with the rest; where it cannot be told whose pods are whose, it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from actuator.manifest import Json, key_of, labels_of, selects
from actuator.objects.variants import is_variant_of
from actuator.objects.writers import Scalings, writers_of, written_by_hand_at_s
from fleet.cluster import Variant
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey
from fleet.writers import Writer

KIND = "Deployment"


@dataclass(frozen=True, slots=True)
class Beside:
    """Which Deployments stand beside the workloads' own.

    Attributes:
        names: Their names by workload, in its namespace.
    """

    names: Mapping[WorkloadKey, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def of(self, workload: WorkloadKey) -> tuple[str, ...]:
        """Return the names of those beside a workload's own, none where settings name none."""
        return self.names.get(workload, ())


ALONE = Beside()
"""Every workload has its own Deployment and no other."""


def chosen(
    names: Iterable[str], deployments: Mapping[WorkloadKey, Json], base: Json
) -> tuple[list[Json], list[str]]:
    """Return the Deployments of these names beside a workload's own, and why others are left out.

    `RefusedError` where the selector of one of them all picks pods of another, too.

    Args:
        names: What settings name.
        deployments: What makes pods, of whatever kind.
        base: The workload's own object.
    """
    found, left_out = [], []
    for name in names:
        body = deployments.get(WorkloadKey(key_of(base).namespace, name))
        problem = _why_not(name, body, base)
        if body is not None and not problem:
            found.append(body)
        else:
            left_out.append(f"variants: {problem}")
    _refuse_shared_pods([base, *found])
    return found, left_out


def _why_not(name: str, body: Json | None, base: Json) -> str:
    """Return why something cannot stand beside a workload's own object, empty = it can."""
    if base["kind"] != KIND:
        return f"{name} is left out: only a {KIND} has others beside it, and {_called(base)} is none"
    if body is None:
        return f"{KIND} {name} does not exist: create it, or take it out"
    if body["kind"] != KIND:
        return f"{_called(body)} is no {KIND}: take it out"
    if is_variant_of(body, base):
        return f"{_called(body)} is a copy that foreslice keeps: take it out"
    return ""


def _refuse_shared_pods(bodies: Sequence[Json]) -> None:
    for one, other in permutations(bodies, 2):
        if selects(one["spec"]["selector"], labels_of(other["spec"]["template"])):
            fix = "give the pods of each a label of its own, and name it in its selector"
            raise RefusedError(
                f"variants: the selector of {_called(one)} picks pods of {_called(other)}: {fix}"
            )


def is_of(body: Json, base: Json, beside: Beside) -> bool:
    """Return whether an object's replicas are a workload's: its own, one beside it, or a copy of ours."""
    own, name = key_of(base), key_of(body).name
    is_beside = body["kind"] == base["kind"] == KIND and name in beside.of(own)
    return name == own.name or is_beside or is_variant_of(body, base)


def writers_beside(bodies: Iterable[Json], scalings: Scalings) -> Iterator[Writer]:
    """Yield who else writes the replicas of Deployments beside a workload's own, or applies them."""
    for body in bodies:
        for scaler in scalings.of(body):
            fix = f"delete the {scaler.kind}, or take {key_of(body).name} out of variants"
            yield _of(replace(scaler.writer, fix=fix), body)
        yield from (_of(writer, body) for writer in writers_of(body))


def last_by_hand_s(owners: Iterable[tuple[Json, Variant]]) -> float | None:
    """Return when a person last wrote the replicas of any of a workload's Deployments, `None` if never.

    Args:
        owners: The Deployments that its owner made, with how each stands.
    """
    times = (
        written_by_hand_at_s(body, max((r.created_at_s for r in variant.replicas), default=0.0))
        for body, variant in owners
    )
    return max((at_s for at_s in times if at_s is not None), default=None)


def _of(writer: Writer, body: Json) -> Writer:
    return replace(writer, does=f"{writer.does}, of {_called(body)}")


def _called(body: Json) -> str:
    return f"{body['kind']} {key_of(body).name}"
