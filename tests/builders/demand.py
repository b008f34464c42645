"""Made-up demand in regular steps, for whatever learns from it."""

import numpy as np

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
