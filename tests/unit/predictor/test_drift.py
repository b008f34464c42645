"""When demand is like that of no day before, and in which words that is told."""

import math

import numpy as np
import pytest

from predictor.drift import DAY, KEPT_DAYS, LEAST_DAYS, LOOK, STEP, DriftWatch, drift
from tests.builders.demand import office

HOURS = 2
"""Half hours in one."""

DAYS = 10
"""Whole days before demand changes its nature."""


def judged(work, is_bound=None):
    return drift(work, np.zeros(len(work), bool) if is_bound is None else is_bound)


def changed(kind, begins_h=0, hours=24):
    """Office hours of ten days and some hours, and what they turn into for some hours more."""
    at = DAYS * DAY + begins_h * HOURS
    demand = office(DAYS + 3)
    then = {
        "nothing": lambda: np.zeros(len(demand)),
        "as before": lambda: demand,
        "twice": lambda: 2 * demand,
        "a third": lambda: demand / 3,
        "six hours later": lambda: np.roll(demand, 6 * HOURS),
        "no season": lambda: np.random.default_rng(1).uniform(0.9, 1.1, len(demand)) * demand.mean(),
    }[kind]()
    return np.append(demand[:at], then[at : at + hours * HOURS]), at


@pytest.mark.parametrize("begins_h", [0, 6, 12, 18])
@pytest.mark.parametrize(
    ("kind", "most_h"),
    [("nothing", 12), ("twice", 12), ("a third", 12), ("six hours later", 24), ("no season", 24)],
)
def test_demand_that_changes_its_nature_is_named_within_a_day(kind, most_h, begins_h):
    work, at = changed(kind, begins_h)
    named = [end for end in range(at, len(work) + 1) if judged(work[:end]).because]
    assert at < named[0] <= at + most_h * HOURS


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nothing", "nothing came in the last 12 h"),
        ("twice", "the last 12 h came to 2.0 times the same hours "),
        ("a third", "the last 12 h came to 0.3 times the same hours "),
        ("six hours later", "other hours are busy in the last 12 h than were in the same hours "),
    ],
)
def test_what_is_different_is_told(kind, words):
    work, _ = changed(kind, begins_h=8, hours=12)
    assert judged(work).because.startswith(words)


def test_days_like_each_other_do_not_drift_and_neither_do_weekends():
    week = np.repeat([1.0] * 5 + [0.3] * 2, DAY)
    calm = office(21) * np.tile(week, 3)
    ends = range(LEAST_DAYS * DAY, len(calm) + 1, HOURS)
    assert not [end for end in ends if judged(calm[max(0, end - KEPT_DAYS * DAY) : end]).because]


def test_once_a_day_like_it_is_past_it_is_no_longer_like_none():
    work, _ = changed("twice", hours=36)
    assert (True, "") == (judged(work[: -24 * HOURS]).times_limit > 1, judged(work).because)


def test_what_is_never_like_itself_does_not_drift_by_being_twice_as_high():
    heights = np.exp(np.random.default_rng(2).normal(0, 0.7, DAYS + 1))
    wild = office(DAYS + 1) * np.repeat(heights, DAY)
    usual = np.median(heights[:-1]) / heights[-1]
    wild[-DAY:] *= 2 * usual
    assert judged(wild).times_limit < 1


def test_one_hour_alone_tells_nothing():
    """Half an hour of a million times the demand is over the limit at once, and named an hour later."""
    work, at = changed("as before", begins_h=8)
    work[at] *= 1e6
    told = [bool(judged(work[: at + more]).because) for more in (1, 2, 3)]
    assert [False, False, True] == told


def test_a_week_and_a_day_have_to_be_known():
    assert 7 * DAY < LEAST_DAYS * DAY <= len(office(8))
    work = office(LEAST_DAYS)
    assert (None, True) == (judged(work[:-1]), judged(work) is not None)
    work[5] = math.nan
    assert judged(work) is None


def test_hours_that_are_mostly_unknown_say_nothing():
    work, _ = changed("twice", hours=12)
    work[-LOOK // 2 - 1 :] = math.nan
    assert judged(work) is None
    work, _ = changed("twice", hours=12)
    work[-LOOK // 2 + 3 :] = math.nan
    assert judged(work).because


def test_nothing_ever_asked_does_not_drift():
    assert judged(np.zeros(DAYS * DAY)) is None


def test_who_sheds_may_be_seen_to_rise_and_never_to_fall():
    work, at = changed("a third", begins_h=8, hours=12)
    is_bound = np.arange(len(work)) >= at
    assert (True, False) == (judged(work).times_limit > 1, judged(work, is_bound).times_limit > 1)
    work, at = changed("twice", begins_h=8, hours=12)
    assert judged(work, np.arange(len(work)) >= at).times_limit > 1
    shed_before = np.arange(len(work)) < at
    assert judged(work, shed_before).times_limit < 1


def fed(watch, work, is_censored=False):
    """How often a watch saw demand begin to drift, judged whenever it is time to."""
    began = 0
    for half_hour in work:
        for _ in range(STEP):
            watch.append(float(half_hour), is_censored=is_censored)
            began += watch.is_to_judge and watch.judge()
    return began


def test_a_watch_tells_once_that_it_begins_and_since_when():
    watch = DriftWatch(minute=30)
    work, at = changed("twice", begins_h=8, hours=12)
    assert 0 == fed(watch, work[:at])
    assert (True, None) == (watch.drift.times_limit < 1, watch.drift.since_s)
    assert 1 == fed(watch, work[at:])
    since_s = watch.drift.since_s
    assert 0 < since_s - at * 1800 <= 6 * 3600
    assert since_s % 3600 == 1800
    assert 0 == fed(watch, work[at:][:HOURS])
    assert since_s == watch.drift.since_s


def test_a_watch_remembers_fifteen_days_and_what_was_censored():
    watch = DriftWatch()
    fed(watch, office(2 * KEPT_DAYS) * 100)
    fed(watch, office(KEPT_DAYS))
    watch.judge()
    assert watch.drift.times_limit < 1
    fed(watch, office(1)[:LOOK] / 3, is_censored=True)
    watch.judge()
    assert watch.drift.times_limit < 1


def test_half_hours_of_which_most_is_unknown_are_unknown():
    watch = DriftWatch()
    for minute in range(LEAST_DAYS * DAY * STEP):
        watch.append(math.nan if minute % STEP < STEP // 2 + 1 else 1.0, is_censored=False)
    watch.judge()
    assert watch.drift is None


def test_a_night_of_next_to_nothing_that_is_three_times_as_much_is_nothing():
    demand = office(DAYS + 1)
    work = np.where(demand < 30, demand * 1e-4, demand)[: DAYS * DAY + 5 * HOURS]
    work[-LOOK:] *= 3
    assert judged(work).times_limit < 1
