"""One setting of a policy that does not look at what it holds: which rule, on what, times how much."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from allocator.need import levels
from foreslice.proof.course import QUANTILES, Course, Grid
from predictor.highest import trailing_highest
from predictor.ports import Floats
from predictor.steps import DAY_S
from predictor.value.ledger import Limits, foreknown
from simulator.rivals import rules


class Rule(StrEnum):
    """What a target of capacity is made from."""

    FORECAST = "forecast"
    HOLD = "max of"
    RESIDUAL = "last + residual"
    DAILY = "calendar"
    STATIC = "static"
    FORESIGHT = "what comes"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a target is made from.

    Attributes:
        rule: How.
        on: Quantile, or minutes that are looked back on.
        factor: What it is multiplied by.
        stands_min: Minutes for which a forecast is held though a newer one is lower.
    """

    rule: Rule
    on: float
    factor: float = 1.0
    stands_min: int = 1

    def __str__(self) -> str:
        match self.rule:
            case Rule.FORECAST:
                stands = f" held for {self.stands_min} min" if self.stands_min > 1 else ""
                said = f"forecast q{self.on:g}{stands}"
            case Rule.HOLD:
                said = "last" if self.on == 1 else f"max of {self.on:g} min"
            case Rule.RESIDUAL:
                said = f"last + residual q{self.on:.4g}"
                return said if self.factor == 1 else f"{self.factor:.3g} x ({said})"
            case Rule.STATIC:
                return f"static q{self.on:.4g}"
            case _:
                said = self.rule.value
        return f"{self.factor:.3g} x {said}"

    def target(self, course: Course, grid: Grid, limits: Limits) -> Floats:
        """Return the capacity that it wants at the end of each step."""
        return self.factor * self._unscaled(course, grid, limits)

    def _unscaled(self, course: Course, grid: Grid, limits: Limits) -> Floats:
        demand = course.demand
        match self.rule:
            case Rule.FORECAST:
                width = max(1, self.stands_min * 60 // grid.step_s)
                peak = trailing_highest(course.ahead[QUANTILES.index(self.on)], width)
                # What is asked for now is not scaled: a margin below one speaks of the forecast alone.
                now = demand / self.factor
                return levels(now, now, peak, peak, np.maximum)[0]
            case Rule.HOLD:
                wanted = rules.hold(demand, [max(1, round(self.on * 60 / grid.step_s))])
            case Rule.RESIDUAL:
                wanted = rules.residual(demand, limits.lag, grid.step_s, np.array([self.on]))
            case Rule.DAILY:
                wanted = rules.daily(demand, grid.test, DAY_S // grid.step_s, limits.lag + 1)
            case Rule.STATIC:
                return np.full_like(demand, np.quantile(demand[: grid.test], self.on))
            case Rule.FORESIGHT:
                wanted = foreknown(demand, limits)
        first: Floats = wanted[0]
        return first


FORECASTS = tuple(
    Setting(Rule.FORECAST, quantile, margin, stands_min)
    for quantile in QUANTILES
    for stands_min in (1, 20)
    for margin in np.geomspace(0.6, 2.5, 48).tolist()
)
"""Ours: forecast quantiles with a margin, held for a while."""

_FACTORS = np.concatenate([np.arange(0.5, 2.0, 0.03), np.arange(2.0, 8.1, 0.25)]).tolist()

HOLDS = tuple(
    Setting(Rule.HOLD, minutes, factor)
    for minutes in (1, 10, 20, 30, 60, 120, 180, 360)
    for factor in _FACTORS
)
"""k x the maximum of the last h; 1 minute = the newest work."""

RESIDUALS = tuple(
    Setting(Rule.RESIDUAL, quantile)
    for quantile in (
        *np.linspace(0.5, 0.95, 16).tolist(),
        0.96,
        0.97,
        0.98,
        0.985,
        0.99,
        0.993,
        0.996,
        0.998,
        0.999,
        0.9995,
    )
)
"""The newest work plus what the peak lately rose above it."""

DAILY = tuple(Setting(Rule.DAILY, 0, factor) for factor in _FACTORS)
"""Factors of a calendar of the training days."""

FORESIGHT = tuple(Setting(Rule.FORESIGHT, 0, factor) for factor in np.linspace(0.4, 1.0, 61).tolist())
"""Of the peak that comes: an oracle may spend what may go unserved, too."""
