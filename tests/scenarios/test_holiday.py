"""A day that is unlike the same day of any week: New York's taxis at Christmas 2014."""

import numpy as np
import pandas as pd
import pytest

from allocator.need import Evidence, Timing, need_of
from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.workload import Tier
from predictor.backtest import OURS, YESTERDAY, backtest
from predictor.calendar import Calendar
from predictor.forecasters.residual import Residual
from predictor.recipe import Question
from predictor.steps import StepSeries
from predictor.value.gate import HOUR_MIN, Gate, Terms
from tests.builders.demand import DAY as DAY_STEPS
from tests.builders.demand import HALF_HOUR_S, taxi
from tests.builders.recipes import RECIPES
from tests.builders.work import DAY, KEY, series

CHRISTMAS = pd.Timestamp("2014-12-25")
HISTORY_DAYS = 35


@pytest.mark.timeout(60)
@pytest.mark.parametrize("country", ["US", ""], ids=["flagged", "not flagged"])
def test_at_christmas_the_median_is_near_and_the_quantile_holds(country):
    """grafana/mimir#7775, gocrane/crane#787: 379,302 trips, 600,096 the day before.

    Within the hour forecasts go by what stands, so that they hold without the flag, too; what goes by the day
    before is far off.
    """
    first = CHRISTMAS - pd.Timedelta(days=HISTORY_DAYS)
    rates = taxi(first, HISTORY_DAYS + 26 / 24)
    test_from = HISTORY_DAYS * DAY_STEPS - 2
    past = StepSeries(int(first.timestamp()), HALF_HOUR_S, rates, rates, np.zeros(len(rates), np.bool_))
    question = Question((3600,), (0.5, 0.95), calendar=Calendar("UTC", country))
    ((told,),) = [list(one.values()) for one in backtest([past], [test_from], question, RECIPES, _quiet)[0]]
    day = slice(test_from, test_from + DAY_STEPS)
    came, said = told.came[day], told.said[OURS][day]
    off, off_by_pattern = (np.abs(one - came).sum() for one in (said[:, 0], told.said[YESTERDAY][day, 0]))
    assert off < 0.25 * came.sum() < off_by_pattern
    assert (came <= said[:, 1]).mean() >= 0.95


def test_a_forecast_by_the_pattern_is_out_at_christmas_and_capacity_follows_what_is_asked():
    """A22: who says what came a week ago pays until the morning before, and is held back by 6:00 that day."""
    week, christmas = 7 * DAY, 14 * DAY
    work = np.repeat(taxi(CHRISTMAS - pd.Timedelta(days=14), 14.75), HALF_HOUR_S // 60) / 30_000
    gate = Gate(Terms(lead_s=lambda: 3500.0, quiet_s=600.0, quantile=lambda: 0.95, unserved=0.005))
    residual = Residual(KEY).fit(series(work[:week]))
    ahead, is_used = WINDOWS_S[gate.window] // 60, {}
    for minute in range(week, len(work)):
        now = float(work[minute])
        gate.append(now, is_censored=False)
        residual.update(now)
        peak = 1.1 * float(work[minute + 1 - week :][:ahead].max())
        if gate.is_due:
            gate.note([peak] * len(QUANTILES), residual.row(gate.window).work)
        hours = (minute + 1 - christmas) / HOUR_MIN
        if hours in {-20, 3, 6, 9, 12, 15}:
            gate.judge()
            said = gate.passed(
                PeakForecast(KEY, 0.0, "weekly", {(w, q): peak for w in WINDOWS_S for q in QUANTILES}),
                residual.peaks,
            )
            is_used[hours] = said.worth.is_used
            need = need_of(KEY, "any", Tier.BALANCED, Evidence(now, now, (), said), Timing())
            assert need.up >= now
    assert is_used.pop(-20)
    assert not any(is_used[hours] for hours in (6, 9, 12, 15))


def _quiet(what, done):
    """Say nothing of how far it is."""
