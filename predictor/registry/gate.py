"""Whether a challenger may serve: it won on windows that neither had seen, and its quantiles hold."""

from __future__ import annotations

import math

from predictor.registry.manifest import Manifest, Score

RULES = ("last + residual", "max(last, last week)")
"""What every model has to beat, champion or not: the rules without learning of `predictor.backtest`."""

WORST = 1.05
"""No window and quantile may cost this many times what it cost a rival."""

LEAST_WINDOWS = 100
"""Windows that a score is taken of at least."""

UNDER, OVER = 0.18, 0.14
"""How far coverage may be below and above a quantile q, in units of sqrt(q (1 - q)): at .95 it is 91 to 98 %.

Those 91 to 98 % are what nine series in ten are held to."""


def objections(challenger: Manifest, champion: str | None) -> list[str]:
    """Return why a model may not serve, in words for the user; empty = it may.

    It must cost less than each rival, as the geometric mean over windows and quantiles of its loss over
    theirs, all on the same windows; cost nowhere more than `WORST` times theirs; and cover what it says,
    within the band.

    Args:
        challenger: What is said of it; its scores hold the losses of its rivals.
        champion: Version that serves now, `None` = none.
    """
    if not challenger.scores:
        return ["it was never scored"]
    few = min(score.windows for score in challenger.scores)
    if few < LEAST_WINDOWS:
        return [f"it was scored on {few} windows, {LEAST_WINDOWS} are the least"]
    rivals = (*RULES, *([champion] if champion is not None else []))
    uncalibrated = [said for score in challenger.scores if (said := _miscovers(score))]
    return uncalibrated + [said for rival in rivals if (said := _loses(challenger.scores, rival))]


def band(quantile: float) -> tuple[float, float]:
    """Return the lowest and highest coverage that passes for a quantile."""
    spread = math.sqrt(quantile * (1 - quantile))
    return max(0.0, quantile - UNDER * spread), min(1.0, quantile + OVER * spread)


def ratio_to(scores: tuple[Score, ...], rival: str) -> float | None:
    """Return the geometric mean of losses over a rival's; `None` where that was not measured everywhere."""
    ratios = [_ratio(score, rival) for score in scores]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios):
        return None
    return math.prod(known) ** (1 / len(known))


def _ratio(score: Score, rival: str) -> float | None:
    theirs = score.loss_of(rival)
    if theirs is None:
        return None
    if theirs > 0:
        return score.pinball / theirs
    return 1.0 if score.pinball <= 0 else math.inf


def _loses(scores: tuple[Score, ...], rival: str) -> str:
    mean = ratio_to(scores, rival)
    if mean is None:
        return f"it was not scored beside {rival} on the same windows"
    if not mean < 1:
        return f"it costs {mean:.3f} of what {rival} does"
    worst = max(scores, key=lambda score: _ratio(score, rival) or 0.0)
    at = _ratio(worst, rival) or 0.0
    if at > WORST:
        return f"at q {worst.quantile:g} of {worst.window_s} s it costs {at:.3f} of what {rival} does"
    return ""


def _miscovers(score: Score) -> str:
    low, high = band(score.quantile)
    if low <= score.coverage <= high:
        return ""
    return (
        f"its q {score.quantile:g} of {score.window_s} s covers {score.coverage:.1%}, "
        f"allowed are {low:.1%} to {high:.1%}"
    )
