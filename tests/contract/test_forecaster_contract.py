"""What every forecaster promises the service, whatever it is made of (`predictor.ports.Forecaster`)."""

import math

import numpy as np
import pytest

from fleet.demand import QUANTILES, WINDOWS_S
from fleet.errors import RefusedError
from predictor.forecasters.daily import Daily
from predictor.forecasters.hold import Hold
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.residual import Residual
from predictor.ladder import Ladder
from tests.builders.examples import acme
from tests.builders.work import DAY, KEY, daily_work, series

GRID = {(window_s, quantile) for window_s in WINDOWS_S for quantile in QUANTILES}
FORECASTERS = [LastValue, Residual, Daily, Hold, Ladder, acme().DampedTrend]


@pytest.fixture(params=FORECASTERS, ids=lambda maker: maker.__name__)
def make(request):
    """A forecaster under the contract: called with a workload, it makes one that has seen nothing."""
    return lambda: request.param(KEY)


HISTORIES = {
    "one bucket": [0.7],
    "an hour": daily_work(1 / 24),
    "a day and a half": daily_work(1.5),
    "three days": daily_work(3),
    "idle for ever": np.zeros(DAY),
    "constant": np.full(DAY, 2.0),
    "switched off": np.concatenate((daily_work(1), np.zeros(400))),
    "switched on": np.concatenate((np.zeros(DAY), daily_work(0.3) * 1000)),
    "with holes": np.where(np.arange(2 * DAY) % 97 < 5, math.nan, daily_work(2)),
    "mostly unknown": np.where(np.arange(DAY) % 10, math.nan, 1.0),
    "ends unknown": np.concatenate((daily_work(1), np.full(30, math.nan))),
}


@pytest.mark.parametrize("work", HISTORIES.values(), ids=HISTORIES)
def test_peaks_cover_the_grid_in_order_finite_and_not_negative(make, work):
    peaks = make().fit(series(work)).peaks().peaks
    assert GRID == peaks.keys()
    table = np.array([[peaks[w, q] for q in QUANTILES] for w in WINDOWS_S])
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all(), "a higher quantile is no lower"
    assert (np.diff(table, axis=0) >= 0).all(), "a longer window peaks no lower"


def test_a_forecast_says_whose_it_is_when_it_was_made_and_by_what(make):
    forecast = make().fit(series(daily_work(0.5), start_s=7 * 86400)).peaks()
    assert (KEY, 7 * 86400 + 43200) == (forecast.workload, forecast.made_at_s)
    assert forecast.rung


def test_nothing_is_forecast_from_nothing(make):
    forecaster = make()
    for history in (None, series([]), series([math.nan, math.nan])):
        if history is not None:
            forecaster.fit(history)
        with pytest.raises(RefusedError, match="no history"):
            forecaster.peaks()


def test_time_starts_with_a_history(make):
    with pytest.raises(RefusedError, match="no history"):
        make().update(1.0)


def test_an_empty_history_can_be_continued(make):
    forecaster = make().fit(series([]))
    forecaster.update(0.5)
    assert 0.5 == forecaster.peaks().peak(120, 0.9)


@pytest.mark.parametrize("seen", [0, 1, 333, DAY, round(2.4 * DAY)])
def test_updates_lead_where_a_fit_on_the_longer_history_does(make, seen):
    work = daily_work(2.5, seed=5)
    work[700:720] = math.nan
    is_censored = np.zeros(len(work), bool)
    is_censored[1500:1540] = True
    fitted = make().fit(series(work, is_censored))
    updated = make().fit(series(work[:seen], is_censored[:seen]))
    for value, censored in zip(work[seen:], is_censored[seen:], strict=True):
        updated.update(float(value), is_censored=bool(censored))
    assert fitted.peaks() == updated.peaks()


def test_peaks_do_not_change_what_is_forecast_next(make):
    work = daily_work(1.2)
    asked, silent = make().fit(series(work[:DAY])), make().fit(series(work[:DAY]))
    for value in work[DAY:]:
        assert asked.peaks() == asked.peaks()
        asked.update(float(value))
        silent.update(float(value))
    assert silent.peaks() == asked.peaks()


def test_a_new_fit_forgets_the_old_one(make):
    once, twice = make(), make().fit(series(daily_work(1) * 50))
    assert once.fit(series(daily_work(1))).peaks() == twice.fit(series(daily_work(1))).peaks()


def test_what_is_learnt_scales_with_the_work(make):
    """Work is in replicas, demand in requests: the unit must not matter."""
    work = daily_work(2)
    small, large = make().fit(series(work)).peaks(), make().fit(series(4 * work)).peaks()
    assert {key: pytest.approx(4 * peak) for key, peak in small.peaks.items()} == dict(large.peaks)


def test_an_idle_workload_is_expected_to_stay_idle(make):
    assert {0.0} == set(make().fit(series(np.zeros(2 * DAY))).peaks().peaks.values())


def test_a_constant_workload_is_expected_to_stay_so(make):
    peaks = make().fit(series(np.full(2 * DAY, 3.0))).peaks().peaks
    assert {key: pytest.approx(3.0) for key in GRID} == dict(peaks)
