from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.workload import WorkloadKey
from predictor.ladder import Ladder
from predictor.ports import WorkSeries
from predictor.value.gate import DAY_MIN, HOUR_MIN, Gate, Terms

TERMS = Terms(lead_s=lambda: 900.0, quiet_s=600.0, quantile=lambda: 0.95, unserved=0.005)
KEY = WorkloadKey("serving", "chat")


def _jobs(days):
    """Quiet but for a job of twenty minutes every two hours: the highest of two hours is a dear rule."""
    minute = np.arange(days * DAY_MIN) % 120
    noise = np.random.default_rng(1).uniform(0.95, 1.05, days * DAY_MIN)
    return np.where(minute >= 100, 5.0, 1.0) * noise


def _said(work, end, factor=1.0):
    """Who knows the next half hour, times a factor."""
    return [factor * float(work[end : end + 30].max(initial=0.0))] * len(QUANTILES)


def _fed(work, factors, judged_at=()):
    """A gate that was told `factors` times the truth, and what it said when it was asked, in the end too."""
    gate, worths = Gate(TERMS), []
    for minute, value in enumerate(work.tolist(), start=1):
        gate.append(value, is_censored=False)
        if gate.is_due:
            gate.note(_said(work, minute, factors[minute - 1]), [5.3] * len(QUANTILES))
        if minute in judged_at or minute == len(work):
            gate.judge()
            worths.append(_passed(gate).worth)
    return gate, worths


def _passed(gate, work=9.0):
    peaks = {(window_s, quantile): work for window_s in WINDOWS_S for quantile in QUANTILES}
    said = PeakForecast(KEY, 0.0, "learned", peaks)
    return gate.passed(said, lambda: replace(said, rung="residual", peaks=dict.fromkeys(peaks, 2.0)))


@pytest.mark.parametrize("unknown", [0, 4], ids=["from the first", "after days of which nothing is known"])
def test_before_three_days_nothing_is_judged_and_forecasts_pass(unknown):
    work = np.concatenate([np.full(unknown * DAY_MIN, np.nan), _jobs(2)])
    gate, worths = _fed(work, np.full(len(work), 9.0))
    assert all(worth.is_used for worth in worths)
    assert (
        "too early to judge forecasts: 2 of 3 days since a daily pattern or the lead time may be known"
        == worths[-1].because
    )
    assert "learned" == _passed(gate).rung


@pytest.mark.parametrize("begins_h", [0, 8])
@pytest.mark.parametrize("days", [4, 5, 6])
def test_a_daily_rise_is_never_turned_down_for_the_days_on_which_nobody_could_know_it(days, begins_h):
    """One hour a day: half of the half days have none, and the first two days it comes as a surprise."""
    hour = np.arange(begins_h * HOUR_MIN, round((begins_h / 24 + days) * DAY_MIN)) // HOUR_MIN % 24
    work = np.where(hour == 9, 1.3, 0.3)
    gate = Gate(Terms(lead_s=lambda: 100.0, quiet_s=600.0, quantile=lambda: 0.95, unserved=0.005, grain=0.1))
    history = WorkSeries(KEY, begins_h * 3600, work, np.zeros(len(work), np.bool_))
    worth = Ladder(KEY, gate=gate).fit(history).peaks().worth
    assert worth.is_used
    assert days < 6 or worth.low > 0.7


def test_a_forecast_that_knows_what_no_rule_does_is_used():
    work = _jobs(5)
    worth = _fed(work, np.ones(len(work)))[1][-1]
    assert worth.is_used
    assert 0.8 < worth.low <= worth.value <= worth.high <= 1.01
    assert worth.because.startswith("the forecast held ")


def test_who_is_seen_to_be_quick_has_less_of_a_forecast():
    """The window stays, the lead time that was learnt falls: rules that answer within a minute waste less."""
    work = np.where(np.arange(6 * DAY_MIN) % 360 < 180, 5.0, 1.0)
    lead_s = [900.0]
    gate = Gate(replace(TERMS, lead_s=lambda: lead_s[0]))
    for minute, value in enumerate(work.tolist(), start=1):
        gate.append(value, is_censored=False)
        if gate.is_due:
            gate.note(_said(work, minute), [5.3] * len(QUANTILES))
    worths = []
    for lead_s[0] in (900.0, 0.0):
        gate.judge()
        worths.append(_passed(gate).worth.value or 0.0)
    assert worths[0] - 0.05 > worths[1]


def test_what_was_said_of_another_window_is_not_held_against_forecasts():
    """Half an hour ahead was looked across, then an hour: what was said of half of it misses its peaks."""
    work, lead_s = _jobs(5), [900.0]
    gate = Gate(replace(TERMS, lead_s=lambda: lead_s[0]))
    for minute, value in enumerate(work.tolist(), start=1):
        lead_s[0] = 900.0 if minute < 1.5 * DAY_MIN else 2700.0
        gate.append(value, is_censored=False)
        if gate.is_due:
            ahead = WINDOWS_S[gate.window] // 60
            said = float(work[minute : minute + ahead].max(initial=0.0))
            gate.note([said] * len(QUANTILES), [5.3] * len(QUANTILES))
    gate.judge()
    assert 3600 == WINDOWS_S[gate.window]
    assert "over the last 3.5 days (value" in _passed(gate).worth.because


@pytest.mark.parametrize("period", [HOUR_MIN, DAY_MIN])
def test_a_lead_time_that_wavers_between_two_windows_is_taken_for_the_longer_until_it_stays_short(period):
    work, lead_s, windows = _jobs(10), [900.0], []
    gate = Gate(replace(TERMS, lead_s=lambda: lead_s[0]))
    for minute, value in enumerate(work[: 5 * DAY_MIN].tolist(), start=1):
        lead_s[0] = 900.0 if minute % period < period // 2 else 2700.0
        gate.append(value, is_censored=False)
        if gate.is_due:
            gate.note([float(work[minute : minute + 60].max())] * len(QUANTILES), [5.3] * len(QUANTILES))
    gate.judge()
    assert "days (value" in _passed(gate).worth.because
    lead_s[0] = 900.0
    for value in work[5 * DAY_MIN :].tolist():
        gate.append(value, is_censored=False)
        windows.append(WINDOWS_S[gate.window])
    assert pytest.approx(3 * DAY_MIN, abs=2) == windows.count(3600)
    assert 1800 == windows[-1]


def test_a_forecast_that_wastes_is_replaced_by_the_best_rule_and_why_is_said():
    work = _jobs(5)
    gate, worths = _fed(work, np.full(len(work), 4.0))
    passed = _passed(gate)
    assert not worths[-1].is_used
    assert worths[-1].because.startswith("no forecast: over the last 5 days forecasts saved nothing for sure")
    assert worths[-1].because.endswith("decides")
    assert "rule" == passed.rung
    assert set(passed.peaks) == {(window_s, quantile) for window_s in WINDOWS_S for quantile in QUANTILES}
    assert 5.0 == pytest.approx(passed.peaks[1800, 0.95], rel=0.2)


def test_which_of_nearly_equal_rules_decides_does_not_change_by_the_hour():
    """Chosen anew each hour it would change six times in this day."""
    chance, days = np.random.default_rng(1), 5
    noise = np.exp(0.25 * chance.standard_normal(days * DAY_MIN))
    work = noise * (1.0 + 2.0 * (chance.random(days * DAY_MIN // 30) < 0.08).repeat(30))
    hours = range((days - 1) * DAY_MIN, days * DAY_MIN, HOUR_MIN)
    rules = [worth.because.split("; ")[-1] for worth in _fed(work, np.full(len(work), 4.0), hours)[1]]
    assert 3 > sum(now != before for before, now in pairwise(rules))


def test_where_nothing_is_to_be_won_a_rule_decides():
    work = np.ones(4 * DAY_MIN)
    worth = _fed(work, np.ones(len(work)))[1][-1]
    assert (False, None) == (worth.is_used, worth.value)
    assert "there is nothing to win" in worth.because


def test_a_forecast_that_goes_wrong_is_out_within_hours_and_comes_back_by_itself():
    work, factors = _jobs(11), np.ones(11 * DAY_MIN)
    begins, ends = 5 * DAY_MIN, 5 * DAY_MIN + DAY_MIN // 2
    factors[begins:ends] = 4.0
    judged_at = [begins, begins + 6 * HOUR_MIN, ends]
    used = [worth.is_used for worth in _fed(work, factors, judged_at)[1]]
    assert [True, False, False, True] == used


def test_minutes_that_are_unknown_are_not_scored():
    work, factors = _jobs(5), np.ones(5 * DAY_MIN)
    whole = _fed(work, factors)[1][-1]
    missing = slice(3 * DAY_MIN, 3 * DAY_MIN + 300)
    factors[missing] = 40.0
    worth = _fed(
        np.where(np.isin(np.arange(len(work)), np.arange(len(work))[missing]), np.nan, work), factors
    )
    assert whole.value == pytest.approx(worth[1][-1].value, abs=0.05)


def test_a_gate_takes_its_turn_once_an_hour():
    gate = Gate(TERMS, minute=7)
    gate.begin(60 * 3)
    turns = []
    for minute in range(4, 200):
        gate.append(1.0, is_censored=False)
        turns += [minute] * gate.is_to_judge
    assert [7, 67, 127, 187] == turns


def test_what_a_rung_would_have_said_counts_as_said():
    """After a restart a rung is made first, and was silent before: what it says of unseen days counts."""
    work = _jobs(5)
    gate = _fed(work, np.full(len(work), 4.0))[0]
    assert not _passed(gate).worth.is_used
    gate.remember([(minute * 60, _said(work, minute)) for minute in range(5, len(work) + 1, 5)])
    gate.judge()
    assert _passed(gate).worth.value > 0.8
