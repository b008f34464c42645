"""The margin that unserved work asks for."""

import numpy as np
import pytest

from foreslice.proof.margin import GAIN, HALF_LIFE_S, MOST, WithMargin, margin_of
from simulator.coarse import Stage, drive

STEP_S = 600
DAY = 86_400 // STEP_S
ALLOWED = 0.01


@pytest.mark.parametrize(
    ("expected", "unserved"), [(1.0, 0.0), (1.0, 0.01), (np.exp(GAIN), 0.02), (MOST, 0.5)]
)
def test_only_what_exceeds_the_allowed_asks_for_more_and_never_without_end(expected, unserved):
    assert pytest.approx(expected) == margin_of(np.array([unserved]), ALLOWED)[0]


def followed(work, target=1.0):
    """Return what is held for a target that never changes, by step and workload, pieces of a hundredth."""
    pieces = np.full(work.shape[1], 0.01)
    stage = Stage(work, np.ones(work.shape, np.bool_), STEP_S, 1, pieces, pieces, DAY)
    held = []
    account = drive(
        WithMargin(np.full(work.shape, target), ALLOWED, 1), stage, lambda now: held.append(now[0] * pieces)
    )
    return account, np.array(held)


def test_demand_that_outgrew_its_setting_is_met_within_hours_and_only_where_it_did():
    work = np.tile([1.2, 0.9], (3 * DAY, 1))
    account, held = followed(work)
    left = account.lacked[0, 0] / account.asked[0]
    assert held[DAY // 4, 0] == pytest.approx(1.2, abs=0.05)
    assert (left < 2 * ALLOWED).all(), "without a margin a sixth is left"
    assert (held[:, 1] == 1.0).all()


def test_a_burst_is_forgotten_in_days():
    work = np.full((6 * DAY, 1), 0.9)
    work[DAY : DAY + 6] = 2.0
    held = followed(work)[1][:, 0]
    assert held[DAY - 1] == 1.0
    assert held[DAY + 12] > 1.4
    assert 1.0 < held[DAY + 6 + HALF_LIFE_S // STEP_S] < 0.9 * held[DAY + 12]
    assert held[-1] == 1.0
