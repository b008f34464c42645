"""Work of a made-up workload, for whatever learns from it."""

import numpy as np

from fleet.workload import WorkloadKey
from predictor.ports import WorkSeries

KEY = WorkloadKey("prod", "llama")
DAY = 1440


def series(work, is_censored=None, start_s=0):
    """Work by minute as a forecaster sees it, nothing censored unless said."""
    work = np.asarray(work, dtype=float)
    return WorkSeries(KEY, start_s, work, np.zeros(len(work), bool) if is_censored is None else is_censored)


def daily_work(days, seed=0, per_minute=60):
    """A sine by day (two thirds up and down) with the noise of counts, in requests per second."""
    minutes = np.arange(round(days * DAY))
    rate = per_minute * (1 + 2 / 3 * np.sin(2 * np.pi * minutes / DAY))
    return np.random.default_rng(seed).poisson(rate) / 60
