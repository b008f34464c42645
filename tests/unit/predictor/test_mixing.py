"""Which experts are believed."""

import math

import numpy as np
import pytest

from predictor.mixing import Mixture

QUANTILES = np.array([0.5, 0.95])
NAN = math.nan


def learnt(said, actuals, prior=(1.0, 1.0)):
    mixture = Mixture(np.array(prior), QUANTILES)
    said = np.array(said, dtype=float)
    for actual in actuals:
        mixture.learn(said, mixture.combine(said), actual)
    return mixture.weights(np.isfinite(said))


def test_before_anything_is_known_the_prior_decides():
    np.testing.assert_allclose([[0.75, 0.75], [0.25, 0.25]], learnt([[1, 1], [2, 2]], [], prior=(3, 1)))


def test_weights_sum_to_one_over_those_that_say_something():
    weights = learnt([[1, NAN], [2, 2]], [3, 1])
    np.testing.assert_allclose([1, 1], weights.sum(axis=0))
    assert 0 == weights[0, 1]


def test_who_is_nearer_to_what_comes_gains():
    assert learnt([[10, 10], [20, 20]], [20] * 200)[1, 0] > 0.99


def test_a_mixture_goes_between_experts_that_err_on_either_side():
    weights = learnt([[0, 0], [10, 10]], np.random.default_rng(0).uniform(0, 10, 2000))
    assert pytest.approx(0.5, abs=0.15) == weights[1, 0]
    assert weights[1, 1] > 0.8


def test_the_unit_does_not_matter():
    actuals = np.random.default_rng(1).uniform(0, 10, 50)
    small, large = learnt([[3, 3], [5, 9]], actuals), learnt([[3e6, 3e6], [5e6, 9e6]], 1e6 * actuals)
    np.testing.assert_allclose(small, large)


def test_a_wild_expert_is_soon_not_believed():
    assert learnt([[10, 10], [20, 20], [1e9, 1e9]], [20] * 40, prior=(1, 1, 1))[2, 0] < 0.001


def test_old_evidence_is_forgotten():
    assert learnt([[10, 10], [20, 20]], [20] * 3000 + [10] * 1500)[0, 0] > 0.5


def test_experts_that_agree_stay_as_they_were():
    np.testing.assert_allclose(0.5, learnt([[1, 1], [1, 1]], [0, 2, 5]))
