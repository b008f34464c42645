"""The figures of a pool, for scripts and for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foreslice.proof.beside import Found
from foreslice.proof.fleet import ReplayFleet
from foreslice.proof.placed import Placing
from foreslice.proof.scene import Scene

HEAD = ("baseline", "unserved", "/ oracle", "/ best rule", "pool", "short", "wakes a day")

NOTE = (
    "Simulated: no queue; slices are shared by any sleeper of their group, the fullest are served "
    "first. Oracle and best rule have no pool, and their knobs are swept on the scored days, in their "
    "favour; baselines and pool are chosen each midnight on the days before."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about a pool.

    Attributes:
        sleepers: Engines that may sleep on a slice, `None` = any.
        wake_s: Until a woken engine serves.
        has_forecast: Whether a forecast is tried as a baseline, too; it takes minutes.
        workloads: How many workloads are drawn, `None` = all that the trace has, once.
    """

    sleepers: int | None
    wake_s: float
    has_forecast: bool
    workloads: int | None = None

    def said(self, unserved: float) -> str:
        """Return it in one line, with the share of the work that may go unserved."""
        sleepers = "any engine" if self.sleepers is None else f"{self.sleepers} engines"
        return f"{unserved:.2%} may go unserved; {sleepers} on a slice; a wake takes {self.wake_s:g} s."


def row(found: Found) -> tuple[str, ...]:
    """Return a policy in words, under `HEAD`."""
    return (
        f"{found.baseline}: {found.pooled.baselines[-1]}",
        f"{found.pooled.unserved:.2%}",
        _ratio(found.over_oracle),
        _ratio(found.over_rule),
        f"{found.pooled.cards:.2f} cards, {found.of_mean:.0%} of mean use",
        f"{found.pooled.short:.0%} of the time",
        f"{found.pooled.wakes_per_day.mean():.0f} a workload",
    )


def _ratio(ratio: float | None) -> str:
    return "never so little" if ratio is None else f"{ratio:.2f}"


def _placing(placing: Placing | None) -> dict[str, Any] | None:
    if placing is None:
        return None
    low, high = placing.interval
    return {"slices": placing.slices, "left_over_by_past": placing.ratio, "low": low, "high": high}


def as_json(
    scene: Scene, settings: ReplayFleet, asked: Asked, told: Sequence[tuple[float, Sequence[Found]]]
) -> dict[str, Any]:
    """Return all figures of a pool by lag, `null` = out of reach."""
    return {
        "is_simulated": True,
        "scored_days": scene.days,
        "reading": scene.reading,
        "unserved_asked_for": settings.unserved,
        "workloads": len(scene.parts),
        "sleepers_on_a_slice": asked.sleepers,
        "wake_s": asked.wake_s,
        "lags": [
            {
                "lag_s": lag_s,
                "policies": [
                    {
                        "baseline": each.baseline,
                        "settings": [str(setting) for setting in each.pooled.baselines],
                        "unserved": each.pooled.unserved,
                        "over_oracle": each.over_oracle,
                        "over_best_rule": each.over_rule,
                        "pool_cards": each.pooled.cards,
                        "pool_of_mean_use": each.of_mean,
                        "short_of_the_time": each.pooled.short,
                        "wakes_per_workload_day": float(each.pooled.wakes_per_day.mean()),
                        "placing_by_forecast": _placing(each.placing),
                    }
                    for each in found
                ],
            }
            for lag_s, found in told
        ],
    }
