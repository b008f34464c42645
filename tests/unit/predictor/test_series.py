"""One raw series: resets, NaN, gaps, ages; nothing lost, nothing counted twice, nothing invented."""

import math

import numpy as np
import pytest

from fleet.sample import Reason, Unknown, Value
from predictor.series import STALE_S, Series

NAN = math.nan


def counter(*readings):
    series = Series(is_counter=True)
    for t_s, value in readings:
        series.append(t_s, value)
    return series


def gauge(*readings):
    series = Series(is_counter=False)
    for t_s, value in readings:
        series.append(t_s, value)
    return series


COUNTERS = {
    "a reading at the end of a bucket closes it": (
        [(0, 100), (60, 160), (120, 200)],
        [60, 40],
    ),
    "readings inside are spread over the buckets that they end in": (
        [(0, 0), (15, 5), (30, 10), (45, 15), (60, 20), (75, 30), (90, 40), (105, 50), (120, 60)],
        [20, 40],
    ),
    "scrapes that do not meet the edges lose nothing": (
        [(-10, 0), (50, 60), (110, 100)],
        [60, 40],
    ),
    "a counter that falls was born again: what it shows has happened": (
        [(0, 100), (60, 7), (120, 10)],
        [7, 3],
    ),
    "a fall inside a bucket keeps what was before it": (
        [(0, 100), (30, 130), (60, 5)],
        [35, NAN],
    ),
    "NaN is no reading of a counter": (
        [(0, 100), (30, NAN), (60, 150), (120, NAN)],
        [50, NAN],
    ),
    "nor is what no engine can count": (
        [(0, 100), (20, math.inf), (30, -math.inf), (40, -5), (60, 150), (120, math.inf)],
        [50, NAN],
    ),
    "a missed scrape leaves its bucket unknown and is not counted as a burst in the next": (
        [(0, 0), (120, 500)],
        [NAN, NAN],
    ),
    "a scrape that comes late, inside its bucket, brings what happened till then": (
        [(-20, 0), (55, 75), (110, 120)],
        [75, 45],
    ),
    "a series that begins inside a bucket counts from its first reading": (
        [(20, 40), (40, 50), (60, 60)],
        [20, NAN],
    ),
    "one reading alone says nothing": (
        [(30, 40)],
        [NAN, NAN],
    ),
    "no change between two readings is a measured zero": (
        [(0, 9), (60, 9), (120, 9)],
        [0, 0],
    ),
    "nothing read, nothing known": (
        [],
        [NAN, NAN],
    ),
}


@pytest.mark.parametrize(("readings", "expected"), COUNTERS.values(), ids=COUNTERS)
def test_increase_of_a_counter_by_bucket(readings, expected):
    np.testing.assert_array_equal(expected, counter(*readings).buckets(0, 120))


@pytest.mark.parametrize(("readings", "expected"), COUNTERS.values(), ids=COUNTERS)
def test_readings_added_at_once_are_those_added_one_by_one(readings, expected):
    series = Series(is_counter=True)
    times, values = [t for t, _ in readings], [v for _, v in readings]
    series.extend(times[:1], values[:1])
    series.extend(times[1:], values[1:])
    np.testing.assert_array_equal(expected, series.buckets(0, 120))


GAUGES = {
    "the last reading inside a bucket stands for it": ([(30, 3), (60, 4), (61, 9), (100, 5)], [4, 5]),
    "nothing is carried into a bucket without a reading": ([(10, 3)], [3, NAN]),
    "a last reading of NaN is unknown": ([(10, 3), (50, NAN), (90, 1)], [NAN, 1]),
    "what no engine can mean is unknown": ([(10, 3), (60, math.inf), (90, 3), (120, -1)], [NAN, NAN]),
    "zero is a value": ([(60, 0), (120, 0)], [0, 0]),
    "nothing read, nothing known": ([], [NAN, NAN]),
}


@pytest.mark.parametrize(("readings", "expected"), GAUGES.values(), ids=GAUGES)
def test_last_reading_of_a_gauge_by_bucket(readings, expected):
    at_once = Series(is_counter=False)
    at_once.extend([t for t, _ in readings], [v for _, v in readings])
    np.testing.assert_array_equal(expected, gauge(*readings).buckets(0, 120))
    np.testing.assert_array_equal(expected, at_once.buckets(0, 120))


LAST = {
    "the newest reading": ([(0, 1), (50, 2)], 60, Value(2)),
    "a reading in the future is not read": ([(0, 1), (70, 2)], 60, Value(1)),
    "an old one until it is stale": ([(0, 1)], STALE_S, Value(1)),
    "a stale one is unknown": ([(0, 1)], STALE_S + 1, Unknown(Reason.STALE)),
    "NaN is unknown": ([(0, 1), (50, NAN)], 60, Unknown(Reason.NOT_A_NUMBER)),
    "infinity is unknown": ([(0, 1), (50, math.inf)], 60, Unknown(Reason.NOT_A_NUMBER)),
    "before the first there is none": ([(70, 2)], 60, Unknown(Reason.ABSENT)),
}


@pytest.mark.parametrize(("readings", "at_s", "expected"), LAST.values(), ids=LAST)
def test_newest_reading_of_a_gauge(readings, at_s, expected):
    assert expected == gauge(*readings).last(at_s)


INCREASES = {
    "the last minute": ([(0, 1), (60, 5), (120, 11)], 120, Value(6)),
    "scrapes off the edges": ([(10, 0), (25, 2), (40, 4), (55, 6), (70, 8), (85, 10)], 90, Value(8)),
    "a restart": ([(0, 100), (30, 3), (60, 5)], 60, Value(5)),
    "a newborn counts from its first reading": ([(30, 7), (45, 9), (60, 12)], 60, Value(5)),
    "idle is a measured zero": ([(0, 7), (60, 7)], 60, Value(0)),
    "the future is not read": ([(0, 1), (60, 5), (61, 500)], 60, Value(4)),
    "one reading says nothing": ([(50, 7)], 60, Unknown(Reason.TOO_FEW)),
    "no reading in the window": ([(0, 1), (30, 2)], 100, Unknown(Reason.TOO_FEW)),
    "too long a step": ([(0, 1), (100, 2)], 120, Unknown(Reason.TOO_FEW)),
    "stale": ([(0, 1), (30, 2)], 31 + STALE_S, Unknown(Reason.STALE)),
    "nothing yet": ([(70, 1)], 60, Unknown(Reason.ABSENT)),
}


@pytest.mark.parametrize(("readings", "at_s", "expected"), INCREASES.values(), ids=INCREASES)
def test_increase_of_a_counter_up_to_now(readings, at_s, expected):
    assert expected == counter(*readings).increase(at_s)


def test_buckets_add_up_to_what_the_counter_grew():
    rng = np.random.default_rng(7)
    times = np.arange(0, 3601, 15)
    values = rng.poisson(20, len(times)).cumsum()
    series = Series(is_counter=True)
    series.extend(times, values)
    assert values[-1] - values[0] == series.buckets(0, 3600).sum()


def test_readings_after_the_end_change_no_bucket():
    readings = [(t, 3.0 * t) for t in range(0, 240, 20)]
    expected = counter(*(r for r in readings if r[0] <= 120)).buckets(0, 120)
    np.testing.assert_array_equal(expected, counter(*readings).buckets(0, 120))


@pytest.mark.parametrize("again_s", [10, 9.5])
def test_a_reading_that_is_not_newer_is_refused(again_s):
    with pytest.raises(ValueError, match="after one at 10"):
        counter((10, 1), (again_s, 2))


def test_many_readings_out_of_order_are_refused():
    series = counter((10, 1))
    for times in ([20, 15], [20, 20], [10, 20]):
        with pytest.raises(ValueError, match="do not rise"):
            series.extend(times, [1.0, 2.0])


def test_ages_of_a_series():
    series = counter((10, 1), (20, 2))
    assert (10, 20, 10, -math.inf) == (
        series.first_s,
        series.newest_s(99),
        series.newest_s(19),
        series.newest_s(5),
    )
    assert math.inf == counter().first_s


@pytest.mark.parametrize("is_counter", [True, False])
def test_a_part_of_the_buckets_is_read_as_the_whole_is(is_counter):
    rng = np.random.default_rng(3)
    times = np.flatnonzero(rng.random(3600) < 0.02).astype(float)
    series = Series(is_counter=is_counter)
    series.extend(times, rng.integers(0, 50, len(times)))
    whole = series.buckets(0, 3600)
    for first in range(60):
        np.testing.assert_array_equal(
            whole[first : first + 2],
            series.buckets(60 * first, 60 * first + 120)[: len(whole[first : first + 2])],
        )
