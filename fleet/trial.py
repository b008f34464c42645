"""How far a shape that is new to a workload has come in proving itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

ATTEMPTS = 3
"""Attempts that a shape has: one may meet a cold cache or a bad minute, the third does not."""

PAUSE_S = 300.0
"""Before the second attempt; each pause is twice the one before."""

ABANDONED = ATTEMPTS + 1
"""What a failure counts that leaves no attempt: with all replicas of a workload none is made lightly."""

GIVEN_UP_S = 86400.0
"""What failed is tried again on the next day: by then somebody may have put flags, driver or card right."""

ROOMLESS_S = 900.0
"""Before the second attempt where the first one found no device; each rest is twice the one before.

As long as a plan and the cluster's own view of what is free take to come together, thrice over.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the replicas of one shape have shown, kept with the plan that added them.

    Attributes:
        served_s: How long they have served inside the objectives since they last did not, in seconds.
        failures: Attempts that failed.
        because: What the last of them failed of, empty = none did.
        until_s: No attempt begins before, seconds since the epoch; 0 = it may at once.
        proven_at_s: When they had served for long enough, `None` while they have not.
        roomless: Attempts that found no device for any replica, each within a day of the last one's rest;
            they say nothing of the shape.
    """

    served_s: float = 0.0
    failures: int = 0
    because: str = ""
    until_s: float = 0.0
    proven_at_s: float | None = None
    roomless: int = 0

    def as_of(self, at_s: float) -> Trial:
        """Return it as it counts at a time: once the shape may be tried again, all begins anew."""
        return Trial(roomless=self.roomless) if self._rests and at_s >= self.until_s else self

    def is_given_up(self, at_s: float) -> bool:
        """Return whether the shape is not to be used at a time."""
        return self._rests and at_s < self.until_s

    @property
    def _rests(self) -> bool:
        return self.failures >= ATTEMPTS or self.roomless > 0

    @property
    def is_over(self) -> bool:
        """Whether what was tried is to be taken back, whatever its replicas do by now."""
        return self.is_abandoned or (self.roomless > 0 and self.until_s > 0.0)

    @property
    def is_abandoned(self) -> bool:
        """Whether it ended before its attempts were over."""
        return self.failures >= ABANDONED

    def abandoned(self, because: str, at_s: float) -> Trial:
        """Return it after a failure at a time that is not to be met again before the next day."""
        return Trial(failures=ABANDONED, because=because, until_s=at_s + GIVEN_UP_S)

    def without_room(self, because: str, at_s: float) -> Trial:
        """Return it after an attempt at a time that found no device: it rests twice as long as before.

        One that comes a day after the last one's rest is the first again.
        """
        before = self.roomless if at_s < self.until_s + GIVEN_UP_S else 0
        rest_s = min(ROOMLESS_S * 2.0**before, GIVEN_UP_S)
        return Trial(because=because, until_s=at_s + rest_s, roomless=before + 1)

    def served(self, more_s: float) -> Trial:
        """Return it after that much longer inside the objectives."""
        return replace(self, served_s=self.served_s + more_s, roomless=0 if more_s else self.roomless)

    def failed(self, because: str, at_s: float) -> Trial:
        """Return it after an attempt that failed at a time."""
        failures = self.failures + 1
        rest_s = GIVEN_UP_S if failures >= ATTEMPTS else PAUSE_S * 2 ** (failures - 1)
        return Trial(failures=failures, because=because, until_s=at_s + rest_s)
