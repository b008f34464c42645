"""Doubt about a law before anything was measured."""

import numpy as np
import pytest

from capacity.belief import PARAMETER_SIGMA, SLICE_SIGMA, Source, prior_belief, scaled
from capacity.catalogue import MODELS
from capacity.law import Law, stacked
from capacity.prior import prior
from fleet.boards import H100_80GB
from fleet.shape import Shape

QWEN = MODELS["qwen2.5-7b-bf16"]
WHOLE, CUT = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")


def test_parameters_of_a_whole_card_err_apart_by_15_percent():
    belief = prior_belief(prior(QWEN, H100_80GB, WHOLE), WHOLE)

    assert prior(QWEN, H100_80GB, WHOLE) == belief.law
    assert Source.PRIOR is belief.source
    assert np.diag([0.15**2] * 3).tolist() == belief.covariance.tolist()


def test_on_a_slice_they_err_together_as_well():
    """An error of the slice law of 20 % either way is its 90 % range: 0.122, for all three."""
    covariance = prior_belief(prior(QWEN, H100_80GB, CUT), CUT).covariance

    assert pytest.approx(0.1216**2, rel=1e-3) == covariance[0, 1]
    assert pytest.approx(0.15**2 + 0.1216**2, rel=1e-3) == covariance[2, 2]
    assert 0.1931 == pytest.approx(np.hypot(PARAMETER_SIGMA, SLICE_SIGMA), abs=1e-4)


@pytest.mark.parametrize("shape", [Shape("h100-80gb", cards=4), Shape("h100-80gb", "50/100")])
def test_several_cards_and_shares_are_as_much_in_doubt_as_slices(shape):
    law = Law(10.0, 0.1, 3e-5)

    assert (prior_belief(law, CUT).covariance == prior_belief(law, shape).covariance).all()


def test_factors_are_given_by_their_logarithms():
    assert Law(20.0, 0.05, 3e-5) == scaled(Law(10.0, 0.1, 3e-5), np.log([2.0, 0.5, 1.0]))


def test_many_laws_are_scaled_at_once():
    laws = stacked([Law(10.0, 0.1, 3e-5), Law(20.0, 0.2, 4e-5)])

    both = scaled(laws, np.log([[2.0, 1.0, 1.0], [1.0, 3.0, 1.0]]))

    assert [20.0, 20.0] == pytest.approx(both.alpha_ms)
    assert [0.1, 0.6] == pytest.approx(both.beta_ms_per_token)
    assert [3e-5, 4e-5] == pytest.approx(both.gamma_ms_per_kv_token)
