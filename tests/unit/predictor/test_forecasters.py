"""What each rung makes of the past, against figures worked out by hand or by plain numpy."""

import math

import numpy as np
import pytest

from fleet.demand import QUANTILES, WINDOWS_S
from predictor.conformal import ENOUGH, ranks
from predictor.forecasters.base import MEMORY, STRIDE, pinball
from predictor.forecasters.daily import Daily
from predictor.forecasters.hold import Hold
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.residual import Residual
from predictor.scores import forward_peaks
from tests.builders.work import DAY, KEY, daily_work, series


def conformal(scores):
    """Quantiles of scores by rank, worked out from scratch."""
    ordered = np.sort(scores)
    return [ordered[rank] for rank in ranks(len(ordered))]


def origins(n, window_s):
    """Times (in buckets) from which a window has closed by bucket n."""
    return np.arange(STRIDE, n - window_s // 60 + 1, STRIDE)


def test_last_value_holds_the_newest_known_work():
    forecast = LastValue(KEY).fit(series([5.0, 0.7, math.nan])).peaks()
    assert ({0.7}, "last value") == (set(forecast.peaks.values()), forecast.rung)


@pytest.mark.parametrize("window_s", WINDOWS_S[:4])
def test_residual_adds_the_quantiles_of_past_rises_on_the_square_root_scale(window_s):
    """Before any offset is learnt: fewer than 50 forecasts have come true."""
    width = window_s // 60
    n = (ENOUGH + 20) * STRIDE + width
    work = daily_work(n / DAY, seed=2)
    level = np.array([math.nan, *(work[max(i - 5, 0) : i].mean() for i in range(1, n + 1))])
    at = origins(n, window_s)
    rises = np.sqrt(forward_peaks(work, window_s)[at]) - np.sqrt(level[at])
    expected = [max(math.sqrt(level[n]) + rise, 0) ** 2 for rise in conformal(rises)]
    row = Residual(KEY).fit(series(work)).row(WINDOWS_S.index(window_s))
    assert [pytest.approx(value) for value in expected] == row.work


def test_residual_waits_for_enough_errors():
    window_s, width = 300, 5
    enough = ENOUGH * STRIDE + width
    work = daily_work(1)
    assert Residual(KEY).fit(series(work[: enough - 1])).row(WINDOWS_S.index(window_s)) is None
    assert Residual(KEY).fit(series(work[:enough])).row(WINDOWS_S.index(window_s)) is not None


def test_too_little_is_known_of_a_window_sooner_the_longer_it_is():
    rows = [Residual(KEY).fit(series(daily_work(0.25))).row(window) for window in range(len(WINDOWS_S))]
    assert [False, False, False, False, False, True] == [row is None for row in rows]


@pytest.mark.parametrize("offset", range(STRIDE))
def test_origins_are_whole_five_minutes_of_the_clock(offset):
    """So that a restart, which begins its history elsewhere, learns from the same windows."""
    work = daily_work(0.4, seed=7)
    whole = Residual(KEY).fit(series(work)).row(WINDOWS_S.index(300))
    later = Residual(KEY).fit(series(work[offset:], start_s=60 * offset)).row(WINDOWS_S.index(300))
    assert abs(np.subtract(whole.uncalibrated, later.uncalibrated)).max() < 0.02


def test_errors_older_than_five_days_are_forgotten():
    """A wild half day counts while it is within memory and leaves no trace afterwards."""
    wild = np.random.default_rng(3).exponential(5.0, DAY // 2)
    remembered, forgotten = (
        Residual(KEY).fit(series([*wild, *np.ones(calm)])).peaks() for calm in (MEMORY - DAY, MEMORY + 120)
    )
    assert remembered.peak(300, 0.99) > 1.5
    assert pytest.approx(1.0) == forgotten.peak(300, 0.99)


def test_daily_goes_by_the_same_window_on_the_days_before():
    work = np.zeros(4 * DAY)
    for day, height in enumerate((4.0, 9.0, 16.0)):
        work[day * DAY + 600 : day * DAY + 610] = height
    before, far = (Daily(KEY).fit(series(work[: 3 * DAY + at])) for at in (599, 300))
    window = WINDOWS_S.index(300)
    assert ((2 + 3 + 4) / 3, 0.0) == (before._centre(window), far._centre(window))  # noqa: SLF001


def test_daily_leaves_out_days_that_are_unknown_or_cut_off():
    work, is_censored = np.ones(4 * DAY), np.zeros(4 * DAY, bool)
    work[:DAY] = 4.0
    work[DAY + 100] = math.nan
    is_censored[2 * DAY + 100] = True
    seen = 3 * DAY + 98
    forecaster = Daily(KEY).fit(series(work[:seen], is_censored[:seen]))
    assert 2.0 == forecaster._centre(WINDOWS_S.index(300))  # noqa: SLF001


def test_daily_without_a_day_before_leaves_it_to_the_last_value():
    forecaster = Daily(KEY).fit(series(daily_work(0.9)))
    assert [None] * len(WINDOWS_S) == [forecaster.row(window) for window in range(len(WINDOWS_S))]
    assert {forecaster.track.last} == set(forecaster.peaks().peaks.values())


def test_daily_sees_a_rise_coming_that_residual_does_not():
    work = np.tile(np.repeat([1.0, 5.0], DAY // 2), 4)[: 4 * DAY - DAY // 2 - 10]
    daily, residual = (maker(KEY).fit(series(work)).peaks() for maker in (Daily, Residual))
    assert pytest.approx(5.0, abs=0.1) == daily.peak(1800, 0.95)
    assert residual.peak(1800, 0.95) < 2.0


@pytest.mark.parametrize("window_s", WINDOWS_S[:5])
def test_hold_takes_the_smallest_factor_that_covered_the_past(window_s):
    work = daily_work(1, seed=6)
    n = len(work)
    held = np.array([math.nan, *(work[max(i - 60, 0) : i].max() for i in range(1, n + 1))])
    at = origins(n, window_s)
    factors = conformal(forward_peaks(work, window_s)[at] / held[at])
    row = Hold(KEY).fit(series(work)).row(WINDOWS_S.index(window_s))
    assert [pytest.approx(held[n] * factor) for factor in factors] == row.work


def test_hold_begins_with_the_maximum_of_the_last_hour():
    assert {3.0} == set(Hold(KEY).fit(series([1.0, 3.0, 2.0])).peaks().peaks.values())


@pytest.mark.parametrize("nothing", [0.0, 5e-324])
def test_hold_learns_no_factor_from_an_hour_of_nothing(nothing):
    work = np.concatenate((np.full(300, nothing), np.full(200, 2.0)))
    peaks = Hold(KEY).fit(series(work)).peaks().peaks
    assert [2.0] * 30 == list(peaks.values())


def test_hold_after_an_hour_of_unknown_stands_on_the_last_value():
    work = np.concatenate((np.full(100, 2.0), [0.5], np.full(90, math.nan)))
    assert {0.5} == set(Hold(KEY).fit(series(work)).peaks().peaks.values())


@pytest.mark.parametrize("maker", [Residual, Hold])
def test_windows_with_a_hole_teach_nothing(maker):
    """The same past with and without an outage that hides a surge: the surge must not be half seen."""
    work = np.ones(DAY)
    work[700:760] = 50.0
    work[690:770] = math.nan
    assert [pytest.approx(1.0)] * 30 == list(maker(KEY).fit(series(work)).peaks().peaks.values())


def test_a_rise_from_an_unknown_minute_teaches_nothing():
    """Two minutes after each origin are known; only the minute that the rise would start from is not."""
    work = daily_work(1)
    work[STRIDE - 1 :: STRIDE] = math.nan
    assert Residual(KEY).fit(series(work)).row(WINDOWS_S.index(120)) is None


def test_a_rise_from_a_cut_off_minute_is_no_exact_error():
    is_censored = np.zeros(DAY, bool)
    is_censored[STRIDE - 1 :: STRIDE] = True
    assert Residual(KEY).fit(series(daily_work(1), is_censored)).row(WINDOWS_S.index(120)) is None


@pytest.mark.parametrize("maker", [Residual, Hold])
def test_cut_off_demand_does_not_calm_a_forecast(maker):
    """An hours-long queue makes measured demand flat; forecasts must stay as wide as before it."""
    work, is_censored = daily_work(1, seed=8), np.zeros(2 * DAY, bool)
    flat = np.concatenate((work, np.full(DAY - 70, work[-5:].mean()), work[-70:]))
    is_censored[DAY : 2 * DAY - 70] = True
    marked = maker(KEY).fit(series(flat, is_censored)).peaks()
    believed = maker(KEY).fit(series(flat)).peaks()
    assert marked.peak(300, 0.9) > believed.peak(300, 0.9)


def test_cut_off_demand_teaches_no_less_than_unknown_demand_would():
    work, is_censored = daily_work(2, seed=8), np.zeros(2 * DAY, bool)
    is_censored[600:1500] = True
    marked = Residual(KEY).fit(series(work, is_censored))
    hidden = Residual(KEY).fit(series(np.where(is_censored, math.nan, work)))
    for window in range(len(WINDOWS_S)):
        assert np.all(np.subtract(marked.row(window).uncalibrated, hidden.row(window).uncalibrated) >= 0)


@pytest.mark.parametrize("maker", [Residual, Hold])
def test_cut_off_demand_that_rose_still_warns(maker):
    work, is_censored = np.ones(2 * DAY), np.zeros(2 * DAY, bool)
    for start in range(DAY, 2 * DAY - 100, 30):
        work[start : start + 10] = 9.0
        is_censored[start : start + 10] = True
    marked = maker(KEY).fit(series(work, is_censored)).peaks()
    assert marked.peak(1800, 0.99) > 5.0


def test_offsets_correct_what_the_errors_alone_get_wrong():
    """Noise that grows day by day: errors of the past are too small, rolling offsets make up for part."""
    rng = np.random.default_rng(9)
    work = 10 + np.repeat([0.1, 0.2, 0.5, 1.0, 2.0], DAY) * np.abs(rng.normal(size=5 * DAY))
    forecaster = Residual(KEY).fit(series(work))
    row = forecaster.row(WINDOWS_S.index(300))
    assert all(work > uncalibrated**2 for work, uncalibrated in zip(row.work, row.uncalibrated, strict=True))


@pytest.mark.parametrize(
    ("actual", "work", "expected"),
    [
        (2.0, (2.0,) * 5, 0.0),
        (3.0, (2.0,) * 5, sum(QUANTILES)),
        (1.0, (2.0,) * 5, 5 - sum(QUANTILES)),
    ],
)
def test_pinball_loss_of_a_row(actual, work, expected):
    assert pytest.approx(expected) == pinball(actual, work)


@pytest.mark.parametrize(("maker", "rung"), [(Residual, "residual"), (Daily, "daily"), (Hold, "hold")])
def test_rungs_are_named(maker, rung):
    assert rung == maker(KEY).fit(series([1.0])).peaks().rung
