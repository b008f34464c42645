import numpy as np
import pytest

from predictor.value.ledger import Ledger, Limits, foreknown, ledger


def _unit_by_unit(target, factor, demand, counts, limits):
    """Capacity as orders: each piece is ordered, warms up for the lag, and goes once nobody wanted it."""
    steps, held, lacked, ordered = len(demand), 0.0, 0.0, []
    for step in range(steps):
        seen = [target[max(0, past)] for past in range(step - limits.quiet, step)]
        wanted = factor * max(seen)
        pieces = wanted if not limits.grain else max(np.ceil(wanted / limits.grain - 1e-9), 1) * limits.grain
        ordered.append(pieces)
        ready = min(ordered[max(0, step - limits.lag) : step + 1])
        if counts[step]:
            held += pieces
            lacked += max(0.0, demand[step] - ready)
    return held, lacked


@pytest.mark.parametrize("grain", [0.0, 0.25])
@pytest.mark.parametrize("lag", [0, 1, 4])
@pytest.mark.parametrize("quiet", [1, 3, 6])
def test_what_targets_come_to_is_what_ordering_unit_by_unit_gives(grain, lag, quiet):
    random = np.random.default_rng(3)
    demand, targets = random.gamma(2.0, 1.0, 60), random.gamma(2.0, 1.0, (2, 60))
    counts, limits = random.random(60) > 0.1, Limits(lag, quiet, grain)
    factors = np.array([0.7, 1.9])
    got = ledger(targets, factors, demand, counts, limits, block=60)
    want = [_unit_by_unit(t, f, demand, counts, limits) for t in targets for f in factors]
    assert np.array(want)[:, 0] == pytest.approx(got.held[:, 0])
    assert np.array(want)[:, 1] == pytest.approx(got.lacked[:, 0])
    assert got.asked[0] == pytest.approx(demand[counts].sum())


def test_blocks_add_up_to_the_whole():
    random = np.random.default_rng(4)
    demand, targets = random.gamma(2.0, 1.0, 50), random.gamma(2.0, 1.0, (1, 50))
    whole, parts = (
        ledger(targets, np.ones(1), demand, np.ones(50, bool), Limits(2, 3), block) for block in (50, 8)
    )
    assert parts.held.shape == (1, 7)
    assert whole.held.sum() == pytest.approx(parts.held.sum())
    assert whole.lacked.sum() == pytest.approx(parts.lacked.sum())


@pytest.mark.parametrize("lag", [0, 3])
def test_who_knows_what_comes_lacks_nothing_and_less_is_too_little(lag):
    demand, limits = np.random.default_rng(5).gamma(2.0, 1.0, 200), Limits(lag, 2)
    counts = np.arange(200) > lag
    got = ledger(foreknown(demand, limits), np.array([0.99, 1.0]), demand, counts, limits, block=200)
    assert got.lacked[1, 0] == 0
    assert got.lacked[0, 0] > 0


def test_settings_of_several_policies_stand_in_one_ledger():
    one = Ledger(np.ones((2, 3)), np.zeros((2, 3)), np.ones(3))
    assert Ledger.joined([one, one]).held.shape == (4, 3)
