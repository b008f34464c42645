"""Made-up demand in regular steps, for whatever learns from it."""

from importlib import resources

import numpy as np
import pandas as pd

from predictor.steps import StepSeries

HALF_HOUR_S = 1800
DAY = 48
"""Half hours in a day."""


def steps(values, step_s=HALF_HOUR_S, start_s=0, is_censored=None):
    """A series of these values, nothing censored unless said."""
    values = np.asarray(values, dtype=float)
    censored = np.zeros(len(values), bool) if is_censored is None else np.asarray(is_censored)
    return StepSeries(start_s, step_s, values, values, censored)


def office(days, seed=0, per_day=DAY, height=100.0):
    """Office hours with noise of a tenth: high from nine to five, low at night."""
    step = np.arange(round(days * per_day))
    hour = step % per_day / per_day * 24
    level = np.where((hour >= 9) & (hour < 17), height, height / 5)
    return level * np.random.default_rng(seed).uniform(0.9, 1.1, len(step))


def taxi(first, days):
    """Trips of New York's taxis by half hours of the clock on the wall, from a day of 2014 on."""
    with resources.files("simulator").joinpath("data", "nab_taxi.csv.gz").open("rb") as packed:
        table = pd.read_csv(packed, compression="gzip", index_col="timestamp", parse_dates=True)
    start = pd.Timestamp(first)
    rates = table.rate[start : start + pd.Timedelta(days=days, seconds=-1)]
    return rates.to_numpy(np.float64)
