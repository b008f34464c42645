"""Models and rules on the same windows: what is scored, on what, and after which shift."""

import numpy as np
import pytest

from fleet.errors import InputError
from predictor.blend import FAMILIAR
from predictor.features import Features
from predictor.registry.gate import RULES
from predictor.registry.trial import Folds, scores_of

STEP_S, WINDOW_S = 1800, 3600
QUANTILES = (0.5, 0.9)
N = 2000


class Says:
    """A model that says one log of demand over level of each row."""

    def __init__(self, *logs):
        self.logs = logs

    def predict(self, rows, window_s):
        return np.tile(self.logs, (len(rows), 1)), np.full(len(rows), np.nan)


def table(target, last=100.0, seasonal=100.0, is_bound=None):
    """Demand that is relative to a level of 100."""
    n = len(target)
    return Features(
        names=("nothing",),
        rows=np.zeros((n, 1), np.float32),
        level=np.full(n, 100.0),
        last=np.full(n, last),
        floor=np.full(n, 1e-9),
        hour=np.full(n, last),
        seasonal=np.full(n, seasonal),
        rise=np.full(n, np.nan),
        target=np.asarray(target, float),
        is_bound=np.zeros(n, bool) if is_bound is None else is_bound,
    )


def folds(*tables, first=0):
    return Folds([{WINDOW_S: one} for one in tables], [first] * len(tables), STEP_S, QUANTILES)


def noise(seed=0, n=N):
    return 100.0 * np.exp(np.random.default_rng(seed).normal(0, 0.3, n))


def test_a_shift_learnt_on_the_first_half_makes_any_constant_cover_what_it_says():
    for wrong in (Says(0.0, 0.0), Says(0.4, 0.4), Says(-3.0, -3.0)):
        median, high = scores_of(folds(table(noise(n=N + 100)), first=100), wrong, {})
        assert 0.5 == pytest.approx(median.coverage, abs=0.04)
        assert 0.9 == pytest.approx(high.coverage, abs=0.03)
        assert (N // 2, N // 2) == (median.windows, high.windows)


def test_all_that_say_a_constant_cost_the_same():
    (score, _) = scores_of(
        folds(table(noise(n=N + 100)), first=100), Says(0.3, 0.4), {"other": Says(0.0, 0.0)}
    )
    for rival in (*RULES, "other"):
        assert score.pinball == pytest.approx(score.loss_of(rival))


def test_who_knows_more_costs_less():
    target = np.where(np.arange(N) % 2, 50.0, 200.0) * noise() / 100

    class Knows(Says):
        def predict(self, rows, window_s):
            return np.tile(np.log(np.where(np.arange(N) % 2, 0.5, 2.0))[:, None], (1, 2)), np.zeros(N)

    for score in scores_of(folds(table(target)), Knows(), {"other": Says(0.0, 0.0)}):
        assert score.pinball < 0.75 * score.loss_of("other")


def test_a_series_weighs_alike_whatever_its_level():
    small, large = table(noise(1)), table(noise(2))
    both = scores_of(folds(small, large), Says(0.0, 0.0), {})
    alone = [scores_of(folds(one), Says(0.0, 0.0), {}) for one in (small, large)]
    assert both[0].pinball == pytest.approx(np.mean([one[0].pinball for one in alone]))
    assert both[0].windows == sum(one[0].windows for one in alone)


def test_censored_and_unknown_windows_are_left_out():
    target, is_bound = noise(), np.zeros(N, bool)
    target[-100:] = np.nan
    is_bound[-300:-100] = True
    target[is_bound] = 1e6
    (score, _) = scores_of(folds(table(target, is_bound=is_bound)), Says(0.0, 0.0), {})
    assert N // 2 - 300 == score.windows
    assert score.pinball < 0.2


def test_windows_that_reach_into_what_is_scored_teach_no_shift():
    target = noise()
    spoilt = target.copy()
    width = WINDOW_S // STEP_S
    spoilt[N // 2 - width : N // 2] = 1e9
    before, after = (scores_of(folds(table(one)), Says(0.0, 0.0), {}) for one in (target, spoilt))
    assert before == after


def test_what_cannot_be_scored_has_no_score():
    assert () == scores_of(folds(table(np.full(10, np.nan))), Says(0.0, 0.0), {})
    assert () == scores_of(folds(table(np.zeros(10))), Says(0.0, 0.0), {})
    assert () == scores_of(folds(), Says(0.0, 0.0), {})


def test_a_model_cannot_choose_what_it_is_scored_on():
    with pytest.raises(InputError, match="model other: says no number of some windows"):
        scores_of(folds(table(noise())), Says(0.0, 0.0), {"other": Says(0.0, np.nan)})


@pytest.mark.parametrize("log", [18.0, 1e6, np.inf])
def test_what_nobody_would_believe_is_cut(log):
    target = noise()
    (_, high) = scores_of(folds(table(target)), Says(0.0, log), {})
    assert high.pinball < FAMILIAR * target.max() / target.mean()


def test_what_came_before_the_folds_is_not_scored_but_remembered():
    target = noise(n=2 * N)
    target[: N // 2] *= 10
    (_, seen) = scores_of(folds(table(target), first=N), Says(0.0, 50.0), {})
    (_, unseen) = scores_of(folds(table(target[N:])), Says(0.0, 50.0), {})
    assert N // 2 == seen.windows
    assert N // 2 == pytest.approx(unseen.windows, abs=3)
    assert seen.pinball == pytest.approx(unseen.pinball, rel=0.2)


def test_folds_are_known_by_what_came():
    assert folds(table(noise())).fingerprint == folds(table(noise())).fingerprint
    assert folds(table(noise())).fingerprint != folds(table(noise(1))).fingerprint
