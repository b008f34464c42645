from dataclasses import replace

import numpy as np
import pytest

from predictor.value.ledger import Ledger
from predictor.value.worth import cheapest, value_of

ASKED = np.full(6, 10.0)


def _policy(*settings):
    """Settings (held, lacked) that are the same in each block."""
    held, lacked = np.array(settings, float).T
    return Ledger(np.outer(held, np.ones(6)), np.outer(lacked, np.ones(6)), ASKED)


OFF = _policy((30, 0.0), (20, 0.1), (14, 0.4))
ORACLE = _policy((12, 0.0), (10, 0.1), (9, 0.4))


@pytest.mark.parametrize(
    ("ours", "expected"),
    [((20, 0.1), 0.0), ((10, 0.1), 1.0), ((15, 0.1), 0.5), ((25, 0.1), -0.5), ((14, 0.4), 0.0)],
)
def test_value_is_the_part_of_what_could_be_saved_at_equal_unserved_work(ours, expected):
    got = value_of(OFF, _policy(ours), ORACLE)
    assert expected == pytest.approx(got.value)
    assert expected == pytest.approx(got.low)
    assert expected == pytest.approx(got.high)
    assert ours[1] / 10 == pytest.approx(got.unserved)


def test_between_two_settings_both_serve_for_a_part_of_the_time():
    assert [17.0, 14.0] == pytest.approx(list(cheapest(OFF, np.array([0.025, 0.9]), np.ones((6, 2)) / 6)))


@pytest.mark.parametrize("off", [_policy((30, 0.2)), _policy((10.2, 0.1))], ids=["out of reach", "no prize"])
def test_without_a_rule_to_compare_with_or_a_prize_there_is_no_value(off):
    got = value_of(off, _policy((10, 0.1)), ORACLE)
    assert (None, None, None) == (got.value, got.low, got.high)


def test_the_interval_holds_what_single_blocks_say():
    ours = replace(_policy((15, 0.1)), held=np.array([[10.0, 20.0, 10.0, 20.0, 10.0, 20.0]]))
    got = value_of(OFF, ours, ORACLE)
    assert 0.5 == pytest.approx(got.value)
    assert 0.0 <= got.low < 0.3
    assert 0.7 < got.high <= 1.0
    assert got == value_of(OFF, ours, ORACLE)


def test_blocks_weigh_what_they_are_given():
    ours = replace(_policy((15, 0.1)), held=np.array([[10.0] * 3 + [20.0] * 3]))
    assert 0.1 > value_of(OFF, ours, ORACLE, weights=np.array([0.01] * 3 + [1.0] * 3)).value


def test_work_that_was_never_asked_has_no_value():
    nothing = replace(OFF, asked=np.zeros(6))
    with pytest.raises(ValueError, match="no work"):
        value_of(nothing, replace(_policy((15, 0.1)), asked=np.zeros(6)), ORACLE)
