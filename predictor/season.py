"""How far demand repeats itself."""

from __future__ import annotations

import numpy as np
import pandas as pd

from predictor.steps import StepSeries

_HOUR_S = 3600


def season_strength(series: StepSeries, period_s: int) -> float | None:
    """Return the correlation of hourly means with those a period before: 1 = it repeats, 0 = it does not.

    Measured, not assumed: a service as a whole can have a day correlation of 0.08 while its clients keep
    office hours. `None` where the history is shorter than two periods, or constant.
    """
    back = series.steps_in(period_s)
    if len(series) < 2 * back:
        return None
    hourly = pd.Series(series.values).rolling(series.steps_in(_HOUR_S), min_periods=1).mean()
    now, before = hourly[back:].to_numpy(), hourly[: len(hourly) - back].to_numpy()
    is_known = np.isfinite(now) & np.isfinite(before)
    if not is_known.any():
        return None
    now, before = now[is_known], before[is_known]
    if np.ptp(now) == 0 or np.ptp(before) == 0:
        return None
    return float(np.corrcoef(now, before)[0, 1])
