"""A regular series, one value a step: what features are made of and models are fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.ports import BUCKET_S, Bools, Floats

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class StepSeries:
    """Values of consecutive steps, of any length and unit.

    Attributes:
        start_s: Start of the first step, seconds since the epoch.
        step_s: Length of a step.
        values: Mean or count over each step; NaN where unknown.
        highest: The highest moment of each step, `values` where only those are known; NaN unless known whole.
        is_censored: Steps in which the true value was at least this.
    """

    start_s: int
    step_s: int
    values: Floats
    highest: Floats
    is_censored: Bools

    @staticmethod
    def of_minutes(start_s: int, minutes: Floats, is_censored: Bools, step_s: int) -> StepSeries:
        """Return what minutes hold in the whole steps of a grid that begins with the epoch."""
        width = step_s // BUCKET_S
        first = -start_s // BUCKET_S % width
        steps = max(0, len(minutes) - first) // width
        whole = slice(first, first + steps * width)
        by_step = minutes[whole].reshape(steps, width)
        is_known = np.isfinite(by_step)
        censored: Bools = is_censored[whole].reshape(steps, width)
        known, total = is_known.sum(axis=1), np.where(is_known, by_step, 0.0).sum(axis=1)
        return StepSeries(
            start_s=start_s + first * BUCKET_S,
            step_s=step_s,
            values=np.where(known > 0, total / np.maximum(known, 1), np.nan),
            highest=by_step.max(axis=1),
            is_censored=censored.max(axis=1, initial=False),
        )

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.values)

    @property
    def end_s(self) -> int:
        """End of the last step, seconds since the epoch."""
        return self.start_s + self.step_s * len(self)

    @property
    def ends_s(self) -> Floats:
        """End of each step, when its value is known, seconds since the epoch."""
        return self.start_s + self.step_s * np.arange(1, len(self) + 1, dtype=np.float64)

    def steps_in(self, length_s: float) -> int:
        """Return how many steps a length of time has, at least one."""
        return max(1, round(length_s / self.step_s))

    def part(self, first: int, end: int) -> StepSeries:
        """Return the steps in [first, end) alone."""
        return StepSeries(
            start_s=self.start_s + first * self.step_s,
            step_s=self.step_s,
            values=self.values[first:end],
            highest=self.highest[first:end],
            is_censored=self.is_censored[first:end],
        )

    def followed_by(self, then: StepSeries) -> StepSeries:
        """Return this series with the steps that come right after it."""
        return StepSeries(
            start_s=self.start_s,
            step_s=self.step_s,
            values=np.append(self.values, then.values),
            highest=np.append(self.highest, then.highest),
            is_censored=np.append(self.is_censored, then.is_censored),
        )
