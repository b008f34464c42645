"""How good forecasts of one series and window were, beside those of rules that do without learning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mean_pinball_loss

from predictor.backtest import LAST, LAST_WEEK, OURS, Told
from predictor.ports import Bools, Floats

RISE = 1.5
"""A window that goes above this many times the newest demand is a rise."""

RISE_LEAST = 0.1
"""And above this share of the mean demand before the test."""

COVERED = 0.95
"""Share of windows that capacity is compared at."""

_Z = 1.96
"""Of a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Score:
    """Of one method at one quantile.

    Attributes:
        pinball: Mean pinball loss.
        scaled_pinball: The same over the mean of what came.
        coverage: Share of windows at or below the forecast.
        coverage_on_rises: The same among rises, `None` without any.
    """

    pinball: float
    scaled_pinball: float
    coverage: float
    coverage_on_rises: float | None


@dataclass(frozen=True, slots=True)
class Idle:
    """Capacity that stood idle, over mean demand, if capacity had been what was said at .95.

    Attributes:
        coverage: Share of windows that ours covered as it is.
        ours: Idle capacity of ours as it is.
        ours_at_95: Of ours times the factor that covers 95 %, known only with hindsight.
        last_at_95: Of k x newest demand, k likewise.
        hour_at_95: Of k x highest step of the last hour, k likewise.
        last_at_same: Of k x newest demand where k covers what ours did.
        hour_at_same: Likewise.
    """

    coverage: float
    ours: float
    ours_at_95: float
    last_at_95: float
    hour_at_95: float
    last_at_same: float
    hour_at_same: float


@dataclass(frozen=True, slots=True)
class Card:
    """All figures of one series and window.

    Attributes:
        windows: Number of windows scored.
        rises: Number of rises among them.
        cut: Share of forecasts cut as beyond all history.
        band: By quantile, where the coverage of a calibrated forecast lies nineteen times in twenty.
        scores: By quantile and method; a method that said nothing is missing.
        ratio: By quantile, ours over the bar: the better of last + residual and max(last, last week).
        bar: By quantile, which of them that is.
        idle: `None` where .95 was not asked for or nothing came at all.
        usual: Mean demand before the test.
    """

    windows: int
    rises: int
    cut: float
    band: Mapping[float, tuple[float, float]]
    scores: Mapping[float, Mapping[str, Score]]
    ratio: Mapping[float, float]
    bar: Mapping[float, str]
    idle: Idle | None
    usual: float

    def skill(self, quantile: float, method: str) -> float | None:
        """Return one minus the loss of ours over that of a method; `None` where that said nothing."""
        by = self.scores[quantile]
        return 1 - ratio(by[OURS].pinball, by[method].pinball, self.usual) if method in by else None


def card(told: Told, quantiles: tuple[float, ...], width: int) -> Card | None:
    """Return the figures of one series and window, `None` where not one window can be scored.

    Args:
        told: Forecasts and outcomes.
        quantiles: By which forecasts are ordered.
        width: Steps of the window.
    """
    is_scored = told.is_scored
    if not is_scored.any():
        return None
    came = told.came[is_scored]
    newest = told.newest[is_scored]
    is_rise = (came > RISE * newest) & (came > RISE_LEAST * told.usual)
    scores = {
        quantile: {
            name: _score(came, said[is_scored, place], quantile, is_rise)
            for name, said in told.said.items()
            if np.isfinite(said[is_scored, place]).all()
        }
        for place, quantile in enumerate(quantiles)
    }
    bars = {q: min((LAST, LAST_WEEK), key=lambda name: by[name].pinball) for q, by in scores.items()}
    ratios = {q: ratio(by[OURS].pinball, by[bars[q]].pinball, told.usual) for q, by in scores.items()}
    return Card(
        windows=len(came),
        rises=int(is_rise.sum()),
        cut=float(told.is_cut[is_scored].mean()),
        band={quantile: band(quantile, len(came), width) for quantile in quantiles},
        scores=scores,
        ratio=ratios,
        bar=bars,
        idle=_idle(told, quantiles),
        usual=told.usual,
    )


def ratio(ours: float, other: float, usual: float) -> float:
    """Return a loss of ours over that of another; losses that rounding makes of usual demand are none."""
    least = _ROUND_OFF * usual or 1.0
    return (ours + least) / (other + least)


def band(quantile: float, windows: int, width: int) -> tuple[float, float]:
    """Return where the coverage of a calibrated forecast lies with probability .95.

    Wilson's interval for as many independent windows as do not overlap; real ones hang together for longer,
    so it is rather too narrow.
    """
    n = max(1.0, windows / width)
    centre = (quantile + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(quantile * (1 - quantile) / n + _Z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values; `ValueError` for none."""
    if not values:
        raise ValueError("the mean of nothing")
    return float(np.exp(np.mean(np.log(values))))


def _score(came: Floats, said: Floats, quantile: float, is_rise: Bools) -> Score:
    loss = float(mean_pinball_loss(came, said, alpha=quantile))
    is_covered = came <= said * (1 + _ROUND_OFF)
    mean = float(came.mean())
    return Score(
        pinball=loss,
        scaled_pinball=loss / mean if mean > 0 else 0.0,
        coverage=float(is_covered.mean()),
        coverage_on_rises=float(is_covered[is_rise].mean()) if is_rise.any() else None,
    )


_ROUND_OFF = 1e-9


def _idle(told: Told, quantiles: tuple[float, ...]) -> Idle | None:
    came = told.came[told.is_scored]
    if COVERED not in quantiles or not came.mean() > 0:
        return None
    ours = told.said[OURS][told.is_scored, quantiles.index(COVERED)]
    newest, hour = told.newest[told.is_scored], told.last_hour[told.is_scored]
    coverage = float((came <= ours * (1 + _ROUND_OFF)).mean())
    return Idle(
        coverage=coverage,
        ours=_over(ours, came),
        ours_at_95=_at(ours, came, COVERED),
        last_at_95=_at(newest, came, COVERED),
        hour_at_95=_at(hour, came, COVERED),
        last_at_same=_at(newest, came, coverage),
        hour_at_same=_at(hour, came, coverage),
    )


def _over(capacity: Floats, came: Floats) -> float:
    return float(np.maximum(capacity - came, 0.0).mean() / came.mean())


def _at(rule: Floats, came: Floats, covered: float) -> float:
    """Return the idle capacity of a rule times the least factor that covers this share of windows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(came > 0, came / rule, 0.0)
    factor = np.sort(factors)[max(0, math.ceil(covered * len(factors) - _ROUND_OFF) - 1)]
    return _over(factor * rule, came) if math.isfinite(factor) else math.inf
