"""Which nodes may be changed now: what the operator lets be done to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from actuator.layouts.rollout import BROKEN_FOR_S, Progress
from actuator.manifest import Json, labels_of

DAY_S = 86_400.0

Ended = Sequence[tuple[float, float]]
"""When the last changes of a node ended and how long they took, seconds, newest first."""


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """What the operator lets be done to nodes.

    Attributes:
        acting: Whether layouts are changed; else it is only said which would be.
        nodes: Labels of the nodes that may be.
        dwell_s: A node keeps a layout at least so long.
        per_day: Changes of one node in a day.
        lead_s: How long a change is reckoned to take until a first one was made: no figure is published.
    """

    acting: bool = False
    nodes: Mapping[str, str] = field(default_factory=dict)
    dwell_s: float = 3600.0
    per_day: int = 4
    lead_s: float = 600.0

    def of(self, bodies: Iterable[Json]) -> list[Json]:
        """Return the Nodes that may be changed at all."""
        return [body for body in bodies if self.nodes.items() <= labels_of(body).items()]

    def took_s(self, ended: Iterable[Ended]) -> float:
        """Return how long a change is reckoned to take, from those of each node that ended."""
        return max((took_s for each in ended for _, took_s in each), default=self.lead_s)

    def rests(self, progress: Progress | None, ended: Ended, now_s: float) -> bool:
        """Return whether a node keeps what it has: one failed or was lately, or the day has no more."""
        broken_at_s = progress.broken_at_s if progress is not None else None
        is_broken = broken_at_s is not None and now_s - broken_at_s < BROKEN_FOR_S
        is_new = bool(ended) and now_s - ended[0][0] < self.dwell_s
        is_spent = sum(now_s - at_s < DAY_S for at_s, _ in ended) >= self.per_day
        return is_broken or is_new or is_spent


def is_under_way(progress: Progress | None) -> TypeGuard[Progress]:
    """Return whether a node has been begun with and is not over, by what it keeps itself."""
    return progress is not None and progress.broken_at_s is None
