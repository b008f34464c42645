"""Who sleep together by day: nothing that is judged has a say in it."""

import numpy as np
import pytest

from foreslice.proof.groups import groups_by_day

DAY, DAYS, TRAINING = 4, 6, 4
APART, MET = ((0, 1), (2, 3)), ((0, 2), (1, 3))


def needs(*met_on):
    """Four workloads: 0 and 2 burst early, 1 and 3 late; on other days 0 and 1 early, 2 and 3 late."""
    early, late = np.repeat([[1, 0]], DAY // 2, axis=1), np.repeat([[0, 1]], DAY // 2, axis=1)
    days = [
        np.concatenate((early, late, early, late) if day in met_on else (early, early, late, late)).T
        for day in range(DAYS)
    ]
    return np.concatenate(days)


def of(needed):
    return groups_by_day(needed, DAY, TRAINING * DAY, 2)


@pytest.mark.parametrize("day", range(DAYS))
def test_a_day_has_no_say_in_who_sleep_together_on_it(day):
    assert of(needs())[day] == of(needs(day))[day]


def test_days_of_training_have_a_say_in_all_others_and_scored_ones_in_none():
    assert of(needs()) == of(needs(4, 5))
    assert len({of(needs(*range(TRAINING)))[day] for day in range(DAYS)}) == 1
    assert of(needs(*range(TRAINING)))[-1] != of(needs())[-1]
