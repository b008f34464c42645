"""Which rule decides where no forecast does."""

import numpy as np
import pytest

from predictor.value.ledger import Ledger
from predictor.value.rules import FACTORS, HELD_MIN, Rule, cheapest_rule

SETTINGS = [Rule(held, factor) for held in (*HELD_MIN, None) for factor in FACTORS.tolist()]
USED, OTHER = (SETTINGS.index(Rule(held, 1.0)) for held in (30, 60))


def chosen(used_holds, used_lacks, before):
    """Return the choice between one rule and another that holds 100 and lacks 1 of 1000; no other will do."""
    held, lacked = np.full((2, len(SETTINGS), 1), 500.0)
    held[OTHER], lacked[OTHER] = 100.0, 1.0
    held[USED], lacked[USED] = used_holds, used_lacks
    return cheapest_rule(Ledger(held, lacked, np.array([1000.0])), np.ones(1), 0.005, before)


@pytest.mark.parametrize(
    ("stays", "holds", "lacks"),
    [(True, 104.0, 1.0), (False, 110.0, 1.0), (False, 90.0, 9.0)],
    ids=["a little more", "far more", "leaves too much"],
)
def test_the_rule_in_use_goes_on_unless_it_falls_short_or_another_holds_clearly_less(stays, holds, lacks):
    assert SETTINGS[USED if stays else OTHER] == chosen(holds, lacks, SETTINGS[USED])
    assert SETTINGS[OTHER] == chosen(holds, lacks, None)


def test_no_factor_under_one_is_taken_though_it_would_have_been_enough():
    held, lacked = np.full((2, len(SETTINGS), 1), 500.0)
    held[0], lacked[0] = 1.0, 0.0
    ledger = Ledger(held, lacked, np.array([1000.0]))
    assert cheapest_rule(ledger, np.ones(1), 0.005).factor >= 1.0
