"""The figures of a backtest, for scripts and for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foreslice.settings.durations import written
from predictor.backtest import OURS, Cost, Told
from predictor.scorecard import Card, Idle, geometric_mean, ratio
from predictor.sources.demand_table import TidySeries

AIMED, AIM = 0.95, (0.91, 0.98)
"""A quantile, and the coverage of it that is held to be right."""

HEAD = ("window", "quantile", "series", "ours / bar", "worst", "loss / mean", "covers", "lowest", "on rises")


@dataclass(frozen=True, slots=True)
class Backtested:
    """One series and what came of it.

    Attributes:
        tidy: The series.
        test_from: First step that is scored.
        told: Forecasts by window in s.
        cards: Figures by window in s, `None` where no window could be scored.
        season: Strength of the daily and the weekly season before the test, `None` where that is too short.
    """

    tidy: TidySeries
    test_from: int
    told: dict[int, Told]
    cards: dict[int, Card | None]
    season: tuple[float | None, float | None]


def report(
    runs: Sequence[Backtested], cost: Cost, quantiles: tuple[float, ...], skipped: dict[str, str]
) -> dict[str, Any]:
    """Return all figures; losses are in the unit of demand, `null` is unknown or without meaning."""
    return {
        "quantiles": list(quantiles),
        "series": [_series(run) for run in runs],
        "skipped": [{"series": name, "because": because} for name, because in skipped.items()],
        "overall": _overall(runs, quantiles),
        "cost": {"fit_cpu_s": round(cost.fit_s, 3), "predict_cpu_s": round(cost.predict_s, 3)},
    }


def rows(figures: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for people for each window and quantile over all series, under `HEAD`."""
    return [
        (
            written(window["window_s"]),
            f"{one['quantile']:g}",
            str(window["series"]),
            f"{one['ratio_to_bar']:.2f}",
            f"{one['worst_ratio_to_bar']:.2f}",
            f"{one['scaled_pinball']:.4f}",
            f"{one['coverage']:.1%}",
            f"{one['lowest_coverage']:.1%}",
            "-" if one["coverage_on_rises"] is None else f"{one['coverage_on_rises']:.0%}",
        )
        for window in figures["overall"]
        for one in window["quantiles"]
    ]


def _series(run: Backtested) -> dict[str, Any]:
    series = run.tidy.series
    return {
        "series": run.tidy.name,
        "step_s": series.step_s,
        "steps": len(series),
        "unknown_steps": int(np.isnan(series.values).sum()),
        "of_them_masked_as_partial": int(run.tidy.is_masked.sum()),
        "test_from_s": series.start_s + run.test_from * series.step_s,
        "season_strength": {"day": run.season[0], "week": run.season[1]},
        "windows": [_window(window_s, card) for window_s, card in run.cards.items() if card is not None],
    }


def _window(window_s: int, card: Card) -> dict[str, Any]:
    return {
        "window_s": window_s,
        "windows_scored": card.windows,
        "rises": card.rises,
        "share_cut": card.cut,
        "quantiles": [
            {
                "quantile": quantile,
                "coverage_band": list(card.band[quantile]),
                "bar": card.bar[quantile],
                "ratio_to_bar": card.ratio[quantile],
                "methods": {
                    name: {
                        **asdict(score),
                        "skill_of_ours": None if name == OURS else card.skill(quantile, name),
                    }
                    for name, score in by.items()
                },
            }
            for quantile, by in card.scores.items()
        ],
        "idle_capacity": _finite(asdict(card.idle)) if card.idle is not None else None,
    }


def _overall(runs: Sequence[Backtested], quantiles: tuple[float, ...]) -> list[dict[str, Any]]:
    by_window: dict[int, list[Card]] = {}
    for run in runs:
        for window_s, card in run.cards.items():
            if card is not None:
                by_window.setdefault(window_s, []).append(card)
    return [
        {
            "window_s": window_s,
            "series": len(cards),
            "quantiles": [_quantile(cards, quantile) for quantile in quantiles],
            "idle_capacity": _idle([card.idle for card in cards if card.idle is not None]),
        }
        for window_s, cards in by_window.items()
    ]


def _quantile(cards: Sequence[Card], quantile: float) -> dict[str, Any]:
    ours = [card.scores[quantile][OURS] for card in cards]
    on_rises = [score.coverage_on_rises for score in ours if score.coverage_on_rises is not None]
    ratios = [card.ratio[quantile] for card in cards]
    coverages = [score.coverage for score in ours]
    rivals = dict.fromkeys(name for card in cards for name in card.scores[quantile] if name != OURS)
    return {
        "quantile": quantile,
        "ratio_to_bar": geometric_mean(ratios),
        "worst_ratio_to_bar": max(ratios),
        "scaled_pinball": float(np.mean([score.scaled_pinball for score in ours])),
        "coverage": float(np.mean(coverages)),
        "lowest_coverage": min(coverages),
        "share_of_series_covered_91_to_98": float(np.mean([AIM[0] <= one <= AIM[1] for one in coverages]))
        if quantile == AIMED
        else None,
        "coverage_on_rises": float(np.mean(on_rises)) if on_rises else None,
        "skill": {
            name: 1
            - geometric_mean(
                [1 - skill for card in cards if (skill := card.skill(quantile, name)) is not None]
            )
            for name in rivals
        },
    }


_IDLE_RATIOS: dict[str, Callable[[Idle], tuple[float, float]]] = {
    "over_last_at_95": lambda idle: (idle.ours, idle.last_at_95),
    "over_hour_at_95": lambda idle: (idle.ours, idle.hour_at_95),
    "over_last_at_same_coverage": lambda idle: (idle.ours, idle.last_at_same),
    "over_hour_at_same_coverage": lambda idle: (idle.ours, idle.hour_at_same),
    "at_95_over_last_at_95": lambda idle: (idle.ours_at_95, idle.last_at_95),
    "at_95_over_hour_at_95": lambda idle: (idle.ours_at_95, idle.hour_at_95),
}


def _idle(idles: Sequence[Idle]) -> dict[str, float | None]:
    """Return geometric means of ours over the rules', of series in which a factor reaches the coverage."""
    means: dict[str, float | None] = {}
    for name, pair in _IDLE_RATIOS.items():
        ratios = [ratio(*pair(idle), 1.0) for idle in idles if math.isfinite(pair(idle)[1])]
        means[name] = geometric_mean(ratios) if ratios else None
    return means


def _finite(figures: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}
