"""Who else writes how many replicas a workload has: what two of them write in turn is never at rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Writer:
    """One who writes replicas, or applies the object.

    Attributes:
        name: What a person would look for, such as `HorizontalPodAutoscaler chat`.
        does: What it does to replicas.
        is_of_replicas: Whether it writes replicas; else it applies the object without them.
        bounds: Fewest and most replicas that it sets, where it says so.
        is_lasting: Whether it writes again by itself.
        fix: What its owner changes so that two do not write the same, one clause.
    """

    name: str
    does: str
    is_of_replicas: bool
    bounds: tuple[int, int] | None = None
    is_lasting: bool = True
    fix: str = ""

    @property
    def is_rival(self) -> bool:
        """Whether what we write to replicas would be overwritten by it, again and again."""
        return self.is_of_replicas and self.is_lasting


_KINDS = {
    "HorizontalPodAutoscaler": ("autoscaling/v2", "minReplicas"),
    "ScaledObject": ("keda.sh/v1alpha1", "minReplicaCount"),
}


@dataclass(frozen=True, slots=True)
class Scaler:
    """What sets the replicas of a workload between bounds, by load.

    Attributes:
        kind: HorizontalPodAutoscaler or ScaledObject.
        name: Its name, in the workload's namespace.
        floor: Fewest replicas that it sets.
        most: Most replicas that it sets.
        version: Version that a write must still find.
    """

    kind: str
    name: str
    floor: int
    most: int
    version: str

    @property
    def api_version(self) -> str:
        """Group and version of its kind."""
        return _KINDS[self.kind][0]

    @property
    def floor_field(self) -> str:
        """Field of its spec that says the fewest replicas."""
        return _KINDS[self.kind][1]

    @property
    def writer(self) -> Writer:
        """It as one who writes replicas."""
        return Writer(
            f"{self.kind} {self.name}",
            f"sets {self.floor} to {self.most} replicas",
            is_of_replicas=True,
            bounds=(self.floor, self.most),
            fix=f"set `way: floor` for the workload, or delete the {self.kind}",
        )
