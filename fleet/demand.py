"""Demand as it was measured, and as it is expected to peak.

Demand is *offered* requests, never completed ones. Work is offered requests/s divided by the
requests/s that one replica of the workload's reference shape sustains inside the SLO at the
same token mix: 1.0 = one full reference replica.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from fleet.sample import Sample
from fleet.workload import WorkloadKey

WINDOWS_S = (120, 300, 900, 1800, 3600, 21600)
"""Windows for which peaks are forecast, seconds."""

QUANTILES = (0.90, 0.925, 0.95, 0.97, 0.99)
"""Quantile notches; end-to-end calibration moves a workload along them."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Mean tokens of one request; what a request costs depends on it."""

    prompt_tokens: float
    output_tokens: float


class DemandOrigin(StrEnum):
    """Where offered requests were counted, most upstream first: the further up, the less is lost."""

    ROUTER = "requests that came to the router"
    ENGINES = "requests that came to the engines"
    FIRST_TOKENS = "first tokens of the engines"
    ENDINGS = "requests that ended in the engines"
    NOWHERE = "nothing that counts requests"


@dataclass(frozen=True, slots=True)
class NowReading:
    """What one instant query in the tick says about a workload.

    Attributes:
        at_s: Time of the reading, seconds since the epoch.
        arrivals_per_s: Offered requests/s over the last minute.
        waiting: Requests queued in front of the engines.
        running: Requests being served.
        mix: Tokens per request over the last minutes, the last known one where nothing finished.
        distrust: Why this reading must not support a removal; empty = trusted.
        origin: What was counted for the arrivals.
        answered: Pods that gave first tokens, or ended requests, in the last minute.
        inside: Pods that served in the last minute and whose means are inside the objectives.
        outside: Pods of which a mean is beyond its objective, or in front of which requests wait.
        drain_s: How long requests may last that pods serve now, in seconds; `None` where that is not known.
        unseen_per_s: Requests/s beside the arrivals that may have come to pods too new to be read.
    """

    workload: WorkloadKey
    at_s: float
    arrivals_per_s: Sample
    waiting: Sample
    running: Sample
    mix: Mix | None
    distrust: tuple[str, ...] = ()
    origin: DemandOrigin = DemandOrigin.NOWHERE
    answered: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    drain_s: float | None = None
    unseen_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Unserved:
    """What forecasts at each notch would have left unserved over the last days, at the lead time.

    Attributes:
        lacked: Work x time that found no ready capacity, by notch of `QUANTILES`.
        asked: Work x time that came.
        days: Days that it rests on.
    """

    lacked: tuple[float, ...]
    asked: float
    days: int


@dataclass(frozen=True, slots=True)
class Worth:
    """What forecasts of a workload were worth of late, beside the best rule that does without one.

    Attributes:
        is_used: Whether the forecast decides; else the rule does.
        because: Why, in words.
        value: (rule - forecast) / (rule - oracle) in capacity x time at equal unserved work; `None` = that
            cannot be told.
        low: Lower end of its interval of 95 %, likewise.
        high: Upper end.
        unserved: What forecasts left unserved, `None` = not known yet.
    """

    is_used: bool
    because: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unserved: Unserved | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """How far demand of the last hours is from that of all days before.

    Attributes:
        times_limit: Distance to the day that is most like it, over the one at which it is like none: above 1
            demand drifts.
        because: What is different, in words, "" = nothing.
        since_s: When that was first seen, seconds since the epoch, `None` = nothing is.
    """

    times_limit: float
    because: str = ""
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class PeakForecast:
    """Calibrated quantiles of the maximum work of a workload in the windows ahead.

    Attributes:
        made_at_s: End of the last bucket that it has seen, seconds since the epoch.
        rung: Name of the forecaster that made it.
        peaks: Work by (window in s, quantile).
        worth: What such forecasts were worth, `None` where nobody judges.
        highest: The highest work that was seen; above it there is nothing to learn from. Infinite where that
            is not known.
        drift: Whether demand is still like what forecasts learnt from, `None` = that is not known.
    """

    workload: WorkloadKey
    made_at_s: float
    rung: str
    peaks: Mapping[tuple[int, float], float] = field(hash=False)
    worth: Worth | None = None
    highest: float = inf
    drift: Drift | None = None

    def is_extrapolated(self, window_s: int, quantile: float) -> bool:
        """Return whether a peak of the grid is above anything seen."""
        return self.peaks[window_s, quantile] > self.highest

    def peak(self, window_s: float, quantile: float) -> float:
        """Return the peak of the next `window_s` seconds at `quantile`; the next larger of each grid is used.

        Beyond the largest window the largest is used: the grid ends where nothing is decided any more.
        """
        window = WINDOWS_S[min(bisect_left(WINDOWS_S, window_s), len(WINDOWS_S) - 1)]
        notch = QUANTILES[min(bisect_left(QUANTILES, quantile), len(QUANTILES) - 1)]
        return self.peaks[window, notch]
