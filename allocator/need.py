"""How much work must be carried now, and how much may not be given up.

Below *need-up* capacity is added at once. Only what exceeds *need-keep* may be removed, and only
on trusted evidence: the two never meet, because the way down must leave room for the way back up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from fleet.demand import NowReading, PeakForecast
from fleet.sample import known
from fleet.workload import Tier, WorkloadKey


@dataclass(frozen=True, slots=True)
class Timing:
    """The times that a decision must look across, in seconds.

    Attributes:
        tick_s: Between two looks at the need.
        lead_s: From deciding an addition to its replica being ready, at the tier's quantile.
        regrow_s: From noticing that a removal was wrong to having it back.
        dwell_s: A workload keeps its replicas at least this long after a change.
        shape_dwell_s: A workload keeps its shapes at least this long after a change of shape.
        quiet_s: How long the evidence for a removal must have held.
        trial_s: A new shape serves one replica so long inside the objectives before more is built on it.
        drain_target_s: A backlog is to be gone after this.
    """

    tick_s: float = 10.0
    lead_s: float = 90.0
    regrow_s: float = 90.0
    dwell_s: float = 600.0
    shape_dwell_s: float = 3600.0
    quiet_s: float = 600.0
    trial_s: float = 600.0
    drain_target_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Need:
    """Work that a workload needs in one time step, in full reference replicas.

    Attributes:
        workload: Whose need.
        step: Time step, 0 = now; the table has one step so far.
        scheduler: Scheduler that places the workload's pods.
        up: Below this capacity is added.
        keep: Only what exceeds this may be removed.
        reactive: What the present alone asks for, `None` where it is unknown.
        quiet_peak: The largest that it asked for over the quiet time, `None` where not all of it is known.
        forecast_up: What the forecast asks for within the lead time, 0 without a forecast.
        forecast_keep: What it asks for within the time it takes to grow back, 0 without a forecast.
        distrust: Why nothing may be removed on this evidence; empty = it may.
        announced: What somebody has announced for within the lead time, 0 = nothing.
        announced_keep: The same within the time it takes to grow back.
        quiet_up: The highest need-up over the quiet time, as far as it was looked at.
    """

    workload: WorkloadKey
    scheduler: str
    up: float
    keep: float
    reactive: float | None
    quiet_peak: float | None
    forecast_up: float
    forecast_keep: float
    distrust: tuple[str, ...]
    step: int = 0
    announced: float = 0.0
    announced_keep: float = 0.0
    quiet_up: float = 0.0

    def kept(self, quiet_up: float) -> Need:
        """Return the need of a workload that needed so much over the quiet time: none of that may go."""
        return replace(self, keep=max(self.keep, quiet_up), quiet_up=quiet_up)

    def without_forecast(self) -> Need:
        """Return the need of the same evidence had there been no forecast."""
        up = max(self.reactive or 0.0, self.announced)
        keep = max(up, self.quiet_peak or 0.0, self.announced_keep)
        return replace(self, up=up, keep=keep, forecast_up=0.0, forecast_keep=0.0, quiet_up=0.0)

    @property
    def because(self) -> str:
        """What the need rests on, one clause."""
        if self.announced and self.announced >= self.up:
            return f"{self.announced:.2f} is announced"
        if self.reactive is None:
            return f"demand now is unknown, forecast peak {self.forecast_up:.2f}"
        if self.forecast_up > self.reactive:
            return f"forecast peak {self.forecast_up:.2f} above what is asked now ({self.reactive:.2f})"
        return f"{self.reactive:.2f} is asked now, forecast peak {self.forecast_up:.2f}"


NeedTable = Mapping[tuple[WorkloadKey, int], Need]


def reactive_rate_per_s(reading: NowReading, timing: Timing) -> float | None:
    """Return the requests/s that the present asks for: arrivals, and the backlog over the drain target.

    `None` where arrivals are unknown. An unknown queue length is left out: it must not hide arrivals.
    """
    arrivals = known(reading.arrivals_per_s)
    if arrivals is None:
        return None
    return arrivals + (known(reading.waiting) or 0.0) / timing.drain_target_s


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one workload when its need is computed, all work in full reference replicas.

    Attributes:
        reactive: Work asked for now; `None` = unknown.
        quiet_peak: Largest reactive work over the quiet time; `None` = not known for all of it.
        distrust: Why the readings must not support a removal.
        forecast: Newest forecast; `None` = there is none, or it is too old to use.
        forecast_age_s: Seconds since the last bucket that it has seen.
        announced: Work that somebody has announced for within the lead time, 0 = nothing was.
        announced_keep: The same within the time it takes to grow back.
        quantile: Of demand that capacity must meet; `None` = the tier's own.
    """

    reactive: float | None
    quiet_peak: float | None
    distrust: tuple[str, ...]
    forecast: PeakForecast | None
    forecast_age_s: float = 0.0
    announced: float = 0.0
    announced_keep: float = 0.0
    quantile: float | None = None


Work = TypeVar("Work")


def levels(
    reactive: Work, quiet_peak: Work, ahead_up: Work, ahead_keep: Work, larger: Callable[[Work, Work], Work]
) -> tuple[Work, Work]:
    """Return need-up and need-keep: the rule itself, of numbers (`max`) or of whole series (`np.maximum`).

    Args:
        reactive: Work asked for now.
        quiet_peak: The largest that it was over the quiet time.
        ahead_up: Forecast peak within the lead time.
        ahead_keep: Forecast peak within the time it takes to grow back.
        larger: Returns the larger of two.
    """
    up = larger(reactive, ahead_up)
    return up, larger(larger(up, quiet_peak), ahead_keep)


def need_of(workload: WorkloadKey, scheduler: str, tier: Tier, evidence: Evidence, timing: Timing) -> Need:
    """Return the need of one workload.

    need-up = max(reactive, peak(lead + age + tick), announced), need-keep = max(reactive over the quiet time,
    peak(lead + regrow + dwell + age + tick), announced), both at the quantile that the tier pays for.
    Missing data only ever raises `distrust`; it lowers nothing.
    """
    forecast_up = forecast_keep = 0.0
    if evidence.forecast is not None:
        horizon_s = timing.lead_s + evidence.forecast_age_s + timing.tick_s
        quantile = evidence.quantile or tier.demand_quantile
        forecast_up = evidence.forecast.peak(horizon_s, quantile)
        forecast_keep = evidence.forecast.peak(horizon_s + timing.regrow_s + timing.dwell_s, quantile)
    distrust = evidence.distrust
    if evidence.reactive is None:
        distrust = (*distrust, "demand now is unknown")
    if evidence.quiet_peak is None:
        distrust = (*distrust, "demand over the quiet time is not known throughout")
    up, keep = levels(
        max(evidence.reactive or 0.0, evidence.announced),
        max(evidence.quiet_peak or 0.0, evidence.announced_keep),
        forecast_up,
        forecast_keep,
        max,
    )
    return Need(
        workload=workload,
        scheduler=scheduler,
        up=up,
        keep=keep,
        reactive=evidence.reactive,
        quiet_peak=evidence.quiet_peak,
        forecast_up=forecast_up,
        forecast_keep=forecast_keep,
        distrust=distrust,
        announced=evidence.announced,
        announced_keep=evidence.announced_keep,
    )
