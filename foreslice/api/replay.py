"""One recorded day through the service's own loop, on a simulated fleet."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fleet.errors import InputError
from foreslice.replay import replay, shipped_day
from foreslice.replayed import Policy, Replayed


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of a replay. Cards, cluster and engines are simulated: nothing here was measured on hardware.

    Attributes:
        gpu_hours: Hours of cards of which at least one device was allocated.
        attainment: Share of requests inside their SLO.
        unserved_share: Share of work that was never served.
        changes: Steps that were written.
        minutes: A row a minute and workload: `time`, `workload`, `work` offered and `capacity` ready, both in
            full reference replicas.
        steps: A row a step: `time`, `workload`, `verb`, `variant`, `replicas`, `because`.
    """

    gpu_hours: float
    attainment: float
    unserved_share: float
    changes: int
    minutes: pd.DataFrame
    steps: pd.DataFrame


def run_replay(policy: str = "foreslice", *, seed: int = 1, hours: float = 24.0) -> ReplayResult:
    """Return what comes of the last day of the shipped traffic under a policy; the same seed gives the same.

    Args:
        policy: "foreslice", "forecast off", "static whole GPU" or "oracle": see the README.
        seed: Draws sizes, arrivals, delays and the engines' hidden truth.
        hours: How much of the day.

    Raises:
        InputError: There is no such policy.
    """
    shipped = shipped_day(seed, round(hours * 3600))
    if policy not in set(shipped.policies):
        fix = f"choose {', '.join(shipped.policies)}"
        raise InputError(f"{policy!r} is no policy", where="policy", fix=fix)
    day = replay(Policy(policy), shipped)
    figures = day.summary
    return ReplayResult(
        figures.gpu_hours,
        figures.attainment,
        figures.unserved_share,
        figures.changes,
        _minutes(day),
        _steps(day),
    )


def _minutes(day: Replayed) -> pd.DataFrame:
    times = pd.to_datetime(day.minutes_s, unit="s", utc=True).as_unit("s")
    parts = [
        pd.DataFrame({"time": times, "workload": key.name, "work": work, "capacity": day.capacity.get(key)})
        for key, work in day.work.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _steps(day: Replayed) -> pd.DataFrame:
    rows = [
        (
            pd.Timestamp(step.at_s, unit="s", tz="UTC"),
            step.workload.name,
            str(step.verb),
            step.variant,
            step.replicas,
            step.because,
        )
        for step in day.steps
    ]
    return pd.DataFrame(rows, columns=["time", "workload", "verb", "variant", "replicas", "because"])
