"""A fall is foreseen when the workload has fallen like this before, or did at this time yesterday."""

import numpy as np
import pytest

from predictor.foreseen import HOUR, PEAK, is_fall_foreseen
from predictor.track import DAY

STEADY = 10.0 + np.random.default_rng(1).normal(0.0, 0.3, 2 * DAY)


def then(*work):
    """Two steady days, and what came after."""
    return np.concatenate([STEADY, *(np.full(minutes, level) for level, minutes in work)])


EVENINGS = np.where(np.arange(3 * DAY) // HOUR % 24 >= 18, 1.0, 10.0)
"""Work of 10 that falls to 1 at 18 h of every day, for six hours."""


@pytest.mark.parametrize(
    ("work", "foreseen"),
    [
        (then((10.0, 30)), True),
        (then((12.0, 30)), True),
        (then((3.0, PEAK)), False),
        (then((3.0, PEAK - 1)), True),
        (then((0.0, PEAK)), False),
        (then((9.9, PEAK)), True),
        (then((3.0, HOUR + PEAK)), True),
    ],
    ids=[
        "steady",
        "a rise",
        "a fall that never was",
        "a lull",
        "to nothing",
        "within the noise",
        "it has been so low for an hour",
    ],
)
def test_a_steady_workload(work, foreseen):
    assert foreseen is is_fall_foreseen(work)


def test_what_falls_often_may_fall():
    rng = np.random.default_rng(2)
    work = np.repeat(rng.choice([2.0, 10.0], 2 * DAY // 30), 30)
    fallen = np.concatenate([work, np.full(2 * HOUR, 10.0), np.full(PEAK, 2.0)])
    assert is_fall_foreseen(fallen)
    assert not is_fall_foreseen(np.where(np.arange(len(fallen)) >= len(fallen) - PEAK, 0.2, fallen))


def test_a_fall_at_the_time_of_yesterdays_is_foreseen():
    evening = np.concatenate([EVENINGS[: 2 * DAY + 18 * HOUR], np.full(PEAK, 1.0)])
    assert is_fall_foreseen(evening)


def test_the_same_fall_at_noon_is_not():
    noon = np.concatenate([EVENINGS[: 2 * DAY + 12 * HOUR], np.full(PEAK, 0.9)])
    assert not is_fall_foreseen(noon)


@pytest.mark.parametrize("length", [0, PEAK, HOUR, PEAK + HOUR, 4 * HOUR])
def test_without_a_history_no_fall_is_foreseen(length):
    assert not is_fall_foreseen(np.concatenate([STEADY[:length], np.full(PEAK, 1.0)]))


@pytest.mark.parametrize("gap", [slice(-3, -2), slice(-HOUR - 5, -HOUR - 4)], ids=["now", "an hour ago"])
def test_what_is_unknown_is_not_foreseen(gap):
    work = then((9.9, PEAK))
    work[gap] = np.nan
    assert not is_fall_foreseen(work)


def test_gaps_in_the_past_are_passed_over():
    work = then((9.9, PEAK))
    work[100:900] = np.nan
    assert is_fall_foreseen(work)


def test_a_workload_that_sleeps_has_not_fallen():
    assert is_fall_foreseen(np.zeros(2 * DAY))


def test_is_the_rule_read_out_on_work_of_all_kinds():
    """Each peak by itself, both bounds always: short cuts and gaps change no answer."""
    chance, answers = np.random.default_rng(5), []
    for _ in range(60):
        work = np.exp(chance.normal(0.0, 0.02, 2 * DAY + 2 * HOUR).cumsum() % 3.0)
        work[-PEAK:] *= chance.uniform(0.2, 1.0)
        work[chance.integers(0, len(work) - 2 * HOUR, 5)] = np.nan
        peaks = np.array([work[at : at + PEAK].max() for at in range(len(work) - PEAK + 1)])
        kept = peaks[HOUR:] / peaks[:-HOUR]
        known, yesterday = kept[:-HOUR], kept[-1 - DAY - HOUR // 2 : -DAY + HOUR // 2]
        lowest = min(np.nanquantile(known, 0.05), np.nanmin(yesterday))
        answers.append(bool(kept[-1] >= min(lowest, 1.0)))
        assert answers[-1] == is_fall_foreseen(work)
    assert {True, False} == set(answers)
