"""How a Deployment takes its pods to a changed template, and how far it is with that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rollout:
    """What is known of the rollouts of one Deployment.

    Attributes:
        template: Claim template that its new pods' claims are made from, empty = it has none.
        owners: The one that its owner named; another than `template` where that is of our making.
        obstacle: Why its template must not be changed, one clause with what to do, empty = it may be.
        is_running: Pods of an earlier template stand, or some of the newest do not serve yet.
        stuck: Why its controller has given up on getting further, empty = it has not.
        version: Version of the Deployment that a change of its template must still find.
        min_ready_s: How long a new pod has to be ready before the next one is made, in seconds.
    """

    template: str = ""
    owners: str = ""
    obstacle: str = ""
    is_running: bool = False
    stuck: str = ""
    version: str = ""
    min_ready_s: float = 0.0

    @property
    def is_switched(self) -> bool:
        """Whether its pods ask by a template of our making."""
        return self.template != self.owners


NONE = Rollout()
