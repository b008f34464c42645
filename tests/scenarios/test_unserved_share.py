"""The quantile of a tier is moved until what goes unserved on shipped demand is what may, week after week."""

from functools import cache
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.workload import Tier, WorkloadKey
from foreslice.notches import Notches
from predictor.ports import BUCKET_S
from predictor.value.gate import DAY_MIN, Gate, Terms

WEEK_MIN = 7 * DAY_MIN
WEEKS = 8
PEAK = 8.0
"""Work at the 99.9 % quantile, in full replicas of which a seventh can be had."""


@cache
def work_of(name, step_min):
    path = resources.files("simulator").joinpath("data", f"nab_{name}.csv.gz")
    with path.open("rb") as packed:
        rates = pd.read_csv(packed, compression="gzip").rate.to_numpy(float)
    return np.repeat(rates * PEAK / np.nanquantile(rates, 0.999), step_min)[: WEEKS * WEEK_MIN]


@cache
def errors_of(name, step_min, width):
    """By quantile and five minutes, how far peaks of the window rose above what stood, over five days."""
    root = np.sqrt(work_of(name, step_min))
    ahead = pd.Series(root[::-1]).rolling(width, min_periods=1).max().to_numpy()[::-1]
    errors = pd.Series((np.append(ahead[1:], root[-1]) - root)[4::5]).shift(width // 5 + 1)
    return np.vstack([errors.rolling(1440, min_periods=100).quantile(q).to_numpy() for q in QUANTILES])


def weeks_of(name, step_min, tier, lead_s, share):
    """What the tier's quantile of the moment left unserved in each week, as a share of what came."""
    notches, shares = Notches(), []
    terms = Terms(lambda: lead_s, 600.0, lambda: notches.of(tier), tier.unserved_share, 1 / 7)
    gate = Gate(terms)
    notches.turn(0.0, {})
    work = work_of(name, step_min)
    errors = share * errors_of(name, step_min, WINDOWS_S[gate.window] // BUCKET_S)
    for minute, value in enumerate(work.tolist(), start=1):
        gate.append(value, is_censored=False)
        if gate.is_due:
            said = np.maximum(np.sqrt(value) + errors[:, minute // 5 - 1], 0.0) ** 2
            row = said.tolist() if np.isfinite(said).all() else None
            gate.note(row, row)
        if minute % WEEK_MIN == 0:
            gate.judge()
            nothing = PeakForecast(WorkloadKey("serving", name), 0.0, "residual", {})
            unserved = gate.passed(nothing, lambda said=nothing: said).worth.unserved
            shares.append(unserved.lacked[QUANTILES.index(notches.of(tier))] / unserved.asked)
            notches.turn(minute * 60.0, {tier: [unserved]})
    return shares


@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize(
    ("name", "step_min", "lead_s", "share"),
    [("taxi", 30, 240.0, 0.6), ("taxi", 30, 900.0, 0.6), ("taxi", 30, 900.0, 1.0), ("jobs", 5, 900.0, 1.0)],
)
def test_no_more_goes_unserved_than_half_as_much_again_as_may(tier, name, step_min, lead_s, share):
    """Also where forecasts are too sure of themselves: errors taken for six tenths of what they are."""
    weeks = weeks_of(name, step_min, tier, lead_s, share)
    assert len(weeks) >= WEEKS - 1
    assert np.mean(weeks[2:]) <= 1.5 * tier.unserved_share


def test_a_quantile_that_was_too_low_is_raised_within_weeks():
    first, *_, last = weeks_of("jobs", 5, Tier.ECONOMY, 240.0, 1.0)
    assert last < first / 2


def test_a_quantile_that_was_too_high_is_lowered_until_about_as_much_goes_unserved_as_may():
    first, *later = weeks_of("taxi", 30, Tier.STRICT, 900.0, 1.0)
    assert first < 0.1 * Tier.STRICT.unserved_share
    assert np.mean(later) == pytest.approx(Tier.STRICT.unserved_share, rel=0.3)
