"""The recent past of one workload, against plain numpy over the whole past."""

import math

import numpy as np
import pytest

from fleet.demand import WINDOWS_S
from predictor.track import DAY, LEVEL, WIDTHS, Track

RNG = np.random.default_rng(11)
WORK = np.where(RNG.random(1000) < 0.02, math.nan, RNG.random(1000).round(2))
IS_CENSORED = RNG.random(1000) < 0.01


@pytest.fixture(scope="module")
def track():
    track = Track(600)
    for work, is_censored in zip(WORK.tolist(), IS_CENSORED.tolist(), strict=True):
        track.append(work, is_censored=is_censored)
    return track


def test_widths_are_the_windows_in_buckets():
    assert [window_s / 60 for window_s in WINDOWS_S] == list(WIDTHS)


def test_time_goes_on_with_the_buckets(track):
    assert (1000, 600 + 60_000) == (track.n, track.end_s)


@pytest.mark.parametrize("window", range(len(WIDTHS)))
def test_highest_is_the_known_maximum_of_the_window_behind(track, window):
    for at in range(1, 1001, 7):
        behind = WORK[max(at - WIDTHS[window], 0) : at]
        expected = np.nanmax(behind) if np.isfinite(behind).any() else math.nan
        np.testing.assert_equal(track.highest(window, at), expected)


def test_known_is_where_nothing_is_missing(track):
    for since in range(0, 990, 13):
        for at in range(since, 1001, 29):
            assert np.isfinite(WORK[since:at]).all() == track.is_known(since, at)


def test_before_the_beginning_nothing_is_known(track):
    assert not track.is_known(-1, 3)
    assert math.isnan(track.highest(0, 0))


def test_censored_is_where_one_bucket_is(track):
    for since in range(0, 990, 13):
        for at in range(since, 1001, 29):
            assert IS_CENSORED[since:at].any() == track.is_censored(since, at)


def test_level_is_the_mean_of_the_last_known_buckets(track):
    known = WORK[np.isfinite(WORK)]
    assert (pytest.approx(known[-LEVEL:].mean()), known[-1]) == (track.level, track.last)


def test_nothing_has_no_level():
    assert math.isnan(Track(0).level)
    assert math.isnan(Track(0).last)


def test_old_days_are_forgotten_and_three_of_them_stay():
    track = Track(0)
    for bucket in range(20 * DAY):
        track.append(float(bucket), is_censored=bucket % DAY == 0)
    assert 17 * DAY - 1 == track.highest(0, 17 * DAY)
    assert track.is_known(17 * DAY - 360, 17 * DAY)
    assert track.is_censored(17 * DAY, 17 * DAY + 1)
    assert not track.is_censored(17 * DAY + 1, 17 * DAY + 2)
    assert math.isnan(track.highest(0, DAY)), "forgotten"
    assert not track.is_known(DAY - 5, DAY), "forgotten"
    assert not track.is_censored(0, 1), "forgotten"
