"""Which rung is used, and when: nothing is climbed that has not been earned on an earlier day."""

import math
from concurrent.futures import Future

import numpy as np
import pytest

from fleet.demand import Drift
from predictor.drift import DriftWatch
from predictor.forecasters.residual import Residual
from predictor.ladder import Ladder
from tests.builders.work import DAY, KEY, daily_work, series

STEPS = np.repeat([1.0, 5.0], DAY // 2)
"""A day that jumps at noon and at midnight: known to the day before, a surprise to the last value."""


def stepping(days, seed=0):
    noise = np.random.default_rng(seed).uniform(0.95, 1.05, round(days * DAY))
    return np.tile(STEPS, math.ceil(days))[: len(noise)] * noise


def test_days_are_those_of_the_clock_in_utc():
    """A history that begins at noon is judged at midnight all the same."""
    ladder = Ladder(KEY).fit(series(stepping(3)[DAY // 2 : -1], start_s=43200))
    assert "daily" not in ladder.rungs.values()
    ladder.update(1.0)
    assert "daily" in ladder.rungs.values()


def drifting(days):
    """A daily sine whose height changes by a fifth from day to day, and noise."""
    minutes = np.arange(round(days * DAY))
    height = np.where(minutes // DAY % 2, 0.8, 1.0)
    noise = np.random.default_rng(0).uniform(0.9, 1.1, len(minutes))
    return height * noise * (1 + 0.9 * np.sin(2 * np.pi * minutes / DAY))


def rungs(work):
    return list(Ladder(KEY).fit(series(work)).rungs.values())


def test_it_starts_with_the_last_value():
    ladder = Ladder(KEY).fit(series([0.5, 0.7]))
    assert {"last value"} == set(ladder.rungs.values())
    assert ({0.7}, "last value") == (set(ladder.peaks().peaks.values()), ladder.peaks().rung)


def test_peaks_above_anything_seen_say_so():
    rising = Ladder(KEY).fit(series(np.linspace(1.0, 5.0, DAY)))
    rising.update(math.nan)
    said, level = rising.peaks(), Ladder(KEY).fit(series(np.ones(DAY))).peaks()
    assert (5.0, 1.0) == (said.highest, level.highest)
    assert [True, False] == [one.is_extrapolated(3600, 0.99) for one in (said, level)]


def test_residual_takes_over_window_by_window_as_windows_close():
    ladder = Ladder(KEY).fit(series(daily_work(0.25)))
    assert ["residual"] * 5 + ["last value"] == list(ladder.rungs.values())
    assert "last value + residual" == ladder.peaks().rung


def test_without_a_pattern_it_is_residual_to_the_number():
    work = daily_work(1.5)
    ladder, residual = (maker(KEY).fit(series(work)).peaks() for maker in (Ladder, Residual))
    assert (residual.peaks, "residual") == (ladder.peaks, ladder.rung)


@pytest.mark.parametrize(("days", "is_used"), [(1.5, False), (1.99, False), (2.01, True), (3.0, True)])
def test_daily_is_used_from_the_day_after_it_won(days, is_used):
    """Its first forecasts need a day before and some hours of errors, which leaves most of the second day."""
    assert is_used == ("daily" in rungs(stepping(days)))


def test_daily_is_used_only_for_the_windows_in_which_it_won():
    ladder = Ladder(KEY).fit(series(drifting(3)))
    assert ["residual"] * 4 + ["daily"] * 2 == list(ladder.rungs.values())
    assert "residual + daily" == ladder.peaks().rung


def test_daily_loses_a_window_when_the_pattern_ends():
    rng = np.random.default_rng(1)
    restless = np.exp(rng.normal(0, 0.02, DAY).cumsum())
    assert "daily" == rungs(stepping(2))[0]
    assert "residual" == rungs(np.concatenate((stepping(2), restless)))[0]


def test_where_yesterday_is_unknown_the_residuals_stand_in():
    """One unknown minute of the last three days hides the six hours around it, not the ones after."""
    work = stepping(5)
    work[[2 * DAY + 200, 3 * DAY + 200, 4 * DAY + 200]] = math.nan
    ladder = Ladder(KEY).fit(series(work))
    assert ("daily", "residual") == (ladder.rungs[3600], ladder.rungs[21600])
    for _ in range(201):
        ladder.update(1.0)
    assert "daily" == ladder.rungs[21600]


def test_a_verdict_stands_until_the_day_is_over():
    ladder = Ladder(KEY).fit(series(drifting(3)))
    before = ladder.rungs
    for value in drifting(1)[1:]:
        ladder.update(9.0 * value)
    assert before == ladder.rungs, "the verdict stands until the day is over"


class DriftsAt(DriftWatch):
    """A watch to whom demand begins to drift at one judgement, counted from the first."""

    def __init__(self, turn):
        super().__init__()
        self._turns, self.heard = turn, []

    def append(self, work, *, is_censored):
        self.heard.append((work, is_censored))
        super().append(work, is_censored=is_censored)

    def judge(self):
        self._turns -= 1
        self.drift = Drift(2.0, "other hours") if self._turns <= 0 else Drift(0.5)
        return self._turns == 0


def test_once_demand_drifts_a_rung_is_made_at_once_and_not_at_midnight():
    asked_min = []

    def train(history, below):
        asked_min.append(len(history.work))
        made = Future()
        made.set_result(None)
        return made

    watch = DriftsAt(turn=3)
    ladder = Ladder(KEY, train, drift=watch).fit(series(np.ones(15 * 60)))
    told = []
    for _ in range(4 * 60):
        ladder.update(1.0)
        told.append(ladder.peaks().drift.because)
    ladder.update(2.0, is_censored=True)
    # The first with the bucket after the history, the other with the one after the third judgement.
    assert [15 * 60 + 1, 17 * 60 + 1] == asked_min
    assert (["", "other hours"], 2 * 60 - 1) == (sorted(set(told)), told.index("other hours"))
    assert [(1.0, False)] * (19 * 60) + [(2.0, True)] == watch.heard
    ladder.fit(series([1.0]))
    assert (1.0, False) == watch.heard[-1]
