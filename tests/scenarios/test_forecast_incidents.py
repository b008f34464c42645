"""Incidents of autoscalers that began with a forecast, replayed through the ladder, with the right answer.

Each names the public report; the numbers are the report's, or made in its proportions.
"""

import math
from concurrent.futures import Future

import numpy as np
import pytest
from apscheduler.triggers.cron import CronTrigger
from sklearn.metrics import mean_pinball_loss

from allocator.need import Evidence, Timing, need_of
from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.errors import RefusedError
from fleet.workload import Tier
from foreslice.rules import Freeze, Times
from predictor.calendar import WEEKDAY, Calendar
from predictor.features import features
from predictor.forecasters.hold import Hold
from predictor.ladder import Ladder
from predictor.learned import Lesson, learn
from predictor.steps import StepSeries
from tests.builders.demand import steps, taxi
from tests.builders.recipes import recipe
from tests.builders.work import DAY, KEY, daily_work, series

HOUR = 60


def ladder(work, start_s=0, train=None):
    return Ladder(KEY, train).fit(series(work, start_s=start_s))


@pytest.mark.parametrize("make", [Ladder, Hold])
def test_demand_that_falls_to_nothing_has_no_negative_and_no_crossing_quantiles(make):
    """ai-dynamo/dynamo#14493, #14497: a Kalman filter said -23.8."""
    work = np.repeat([100.0, 80, 60, 40, 20, 10, 0, 0], 3 * HOUR)
    peaks = make(KEY).fit(series(work)).peaks().peaks
    for window_s in WINDOWS_S:
        row = [peaks[window_s, quantile] for quantile in QUANTILES]
        assert row == sorted(row)
        assert row[0] >= 0


def test_the_next_moment_follows_the_last_observation():
    """ai-dynamo/dynamo#7211: six points, three minutes apart, were continued six seconds after the first."""
    start_s = 1_790_000_040
    assert start_s + 1080 == ladder(np.repeat([1.0, 2, 3, 2, 1, 2], 3), start_s).peaks().made_at_s


def test_the_same_values_three_days_later_are_seen_on_another_day_of_the_week():
    """ai-dynamo/dynamo#7211, the other half: features must know where in time they are."""
    step, values = 300, np.ones(600)
    days = []
    for shift_s in (0, 3 * 86_400):
        one = StepSeries(shift_s, step, values, values, np.zeros(600, np.bool_))
        table = features(one, [1800], Calendar())[1800]
        days.append(table.rows[-1, table.names.index(WEEKDAY)])
    assert days[0] != days[1]


def failed(history, below):
    made = Future()
    made.set_exception(ValueError("two negative factors"))
    return made


@pytest.mark.parametrize("days", [0.01, 1.0], ids=["every other one is without history", "others are there"])
def test_a_candidate_that_fails_each_time_is_not_chosen_and_hinders_nobody(days):
    """ai-dynamo/dynamo#14513, #14515: an estimator that raised won the selection with loss 0."""
    work = daily_work(days)
    one = ladder(work, train=failed)
    for value in work[:HOUR]:
        one.update(float(value))
    said = one.peaks()
    assert said.peaks == Ladder(KEY).fit(series(np.append(work, work[:HOUR]))).peaks().peaks
    assert said.rung in {"last value", "residual"}


def need(reactive, level, tier=Tier.BALANCED):
    """What is needed where the forecast says a level at the lowest notch, and a tenth more at each."""
    grid = {(w, q): level * (1 + n / 10) for w in WINDOWS_S for n, q in enumerate(QUANTILES)}
    evidence = Evidence(reactive, reactive, (), PeakForecast(KEY, 0.0, "residual", grid))
    return need_of(KEY, "default-scheduler", tier, evidence, Timing())


def test_a_forecast_of_twice_the_load_asks_for_twice_the_replicas():
    """volcano-sh/kthena#1364: the prediction was put in place of the target, and halved them."""
    assert 8 == math.ceil(need(40.0, 80.0, Tier.ECONOMY).up / 10)


def test_need_rises_with_demand_forecast_and_quantile():
    tiers = [need(1.0, 2.0, tier).up for tier in (Tier.ECONOMY, Tier.BALANCED, Tier.STRICT)]
    assert tiers == sorted(tiers)
    assert need(1.0, 2.0).up <= need(1.0, 3.0).up <= need(9.0, 3.0).up


@pytest.mark.parametrize(
    ("crontab", "hours", "at", "holds"),
    [
        ("30 6 * * mon-fri", 15.67, "2026-11-27T21:00", True),
        ("30 6 * * mon-fri", 15.67, "2026-11-27T23:00", False),
        ("30 6 * * mon-fri", 15.67, "2026-11-28T12:00", False),
        ("0 22 * * *", 8, "2026-11-28T03:00", True),
        ("0 22 * * *", 8, "2026-11-28T07:00", False),
    ],
)
def test_a_window_of_the_week_ends_on_its_day_and_may_cross_midnight(crontab, hours, at, holds):
    """kedacore/keda#4677, #5263: a window that ended on Friday was open until Sunday."""
    freeze = Freeze("a window", Times(CronTrigger.from_crontab(crontab, "UTC"), hours * 3600))
    at_s = float(np.datetime64(at, "s").astype(np.int64))
    assert holds == (freeze.times.ends_s(at_s) is not None)


STEP_S, DAYS_LEARNT, DAYS_SCORED = 1800, 21, 14


def loss(recorded, came):
    """Loss at .95, over a fortnight of hours ahead, of a model that learnt from the records before it."""
    table = features(steps(recorded), [3600], Calendar())[3600]
    first = DAYS_LEARNT * 48
    model = learn([Lesson({3600: table}, first, STEP_S)], (0.95,), recipe(trees=60, learning_rate=0.1))
    said = (
        np.exp(model.predict(table.rows[first:], 3600)[0][:, 0]) * table.level[first:] - table.floor[first:]
    )
    target = features(steps(came), [3600], Calendar())[3600].target[first:]
    is_known = np.isfinite(target)
    return mean_pinball_loss(target[is_known], said[is_known], alpha=0.95)


def test_outages_that_are_unknown_cost_a_model_next_to_nothing():
    """A21, gocrane/crane fills gaps: three blocks of 12 h in nine days cost more where they are zeros.

    The mean of blocks by night, by day and in the evening: where they lie moves the loss by up to 6 %.
    """
    work = taxi("2014-10-01", days=DAYS_LEARNT + DAYS_SCORED)
    masked, filled = [], []
    for hour in (-6, 6, 12):
        unknown, zero = work.copy(), work.copy()
        for day in (2, 5, 8):
            first = 48 * (DAYS_LEARNT - day) + 2 * hour
            unknown[first : first + 24], zero[first : first + 24] = np.nan, 0.0
        masked.append(loss(unknown, work))
        filled.append(loss(zero, work))
    assert np.mean(masked) <= 1.05 * loss(work, work)
    assert np.mean(filled) > 1.04 * np.mean(masked)


def test_a_gap_of_an_hour_does_not_throw_away_the_days_before_it():
    """gocrane/crane: a gap of more than an hour discarded all history before it."""
    work = daily_work(5)
    work[-200:-139] = np.nan
    one = ladder(work)
    assert one.rungs[1800] != "last value"
    assert one.peaks().peaks[1800, 0.95] == pytest.approx(
        ladder(daily_work(5)).peaks().peaks[1800, 0.95], rel=0.1
    )


def test_a_spike_that_came_once_is_not_expected_again():
    """grafana/mimir#7775, gocrane/crane#787: one wild evening was provided for, week after week."""
    random = np.random.default_rng(1)
    work = 100 * random.uniform(0.97, 1.03, 31 * DAY)
    spike = 16 * DAY + 20 * HOUR
    work[spike : spike + 30] = 1000.0
    peaks = ladder(work[: 30 * DAY + 20 * HOUR]).peaks().peaks
    assert max(peaks[window_s, 0.95] for window_s in WINDOWS_S) < 200


@pytest.mark.parametrize(
    ("hours", "rung"),
    [(0, None), (1, "last value"), (25, "residual"), (72, "residual + daily"), (9 * 24, "daily")],
)
def test_any_length_of_history_has_an_answer(hours, rung):
    """jthomperoo/predictive-horizontal-pod-autoscaler#74, gocrane/crane#534: too little of it was a crash."""
    one = ladder(daily_work(hours / 24))
    if rung is None:
        with pytest.raises(RefusedError):
            one.peaks()
        return
    assert rung == one.peaks().rung
