"""Engines are as fast as a seed says: near what is expected, how near is each workload's own luck."""

import numpy as np
import pytest

from capacity.catalogue import model_spec
from capacity.prior import kv_tokens, prior
from fleet.boards import BOARDS, H100_80GB
from fleet.shape import Shape, shapes_of
from simulator.truth import PARAMETER_SIGMA, SLICE_SIGMA, HiddenTruth
from tests.builders.engines import WHOLE, workload

THIRD = Shape("h100-80gb", "3g.40gb")


def ratios(truth, one, shape=WHOLE):
    expected = prior(model_spec(one.model), H100_80GB, shape)
    law = truth.law(one, shape)
    return np.array(
        [
            law.alpha_ms / expected.alpha_ms,
            law.beta_ms_per_token / expected.beta_ms_per_token,
            law.gamma_ms_per_kv_token / expected.gamma_ms_per_kv_token,
        ]
    )


@pytest.fixture
def logs():
    """Logarithms of truth over prior: many workloads, three parameters."""
    truth = HiddenTruth(1, BOARDS)
    return np.log([ratios(truth, workload(f"w{n}")) for n in range(400)])


def test_each_parameter_spreads_as_stated(logs):
    assert np.allclose(0.0, logs.mean(axis=0), atol=0.03)
    assert np.allclose(PARAMETER_SIGMA, logs.std(axis=0), rtol=0.1)


def test_parameters_err_apart_from_each_other(logs):
    correlations = np.corrcoef(logs.T)
    assert np.abs(correlations[np.triu_indices(3, 1)]).max() < 0.15


def test_the_slice_law_errs_on_top_alike_for_all_parameters():
    truth = HiddenTruth(1, BOARDS)
    names = [workload(f"w{n}") for n in range(300)]
    extra = np.log([ratios(truth, one, THIRD) / ratios(truth, one) for one in names])
    assert np.allclose(extra[:, :1], extra)
    assert pytest.approx(SLICE_SIGMA, rel=0.12) == extra[:, 0].std()


def test_every_profile_errs_by_itself():
    truth, one = HiddenTruth(1, BOARDS), workload()
    profiles = [shape for shape in shapes_of(H100_80GB) if not shape.is_whole]
    errors = {round(float((ratios(truth, one, shape) / ratios(truth, one))[0]), 9) for shape in profiles}
    assert len(profiles) == len(errors)


def test_it_is_drawn_once_for_all_and_anew_for_another_seed():
    one = workload()
    assert HiddenTruth(1, BOARDS).law(one, THIRD) == HiddenTruth(1, BOARDS).law(one, THIRD)
    assert HiddenTruth(1, BOARDS).law(one, THIRD) != HiddenTruth(2, BOARDS).law(one, THIRD)


def test_memory_is_no_secret():
    one = workload()
    assert kv_tokens(model_spec(one.model), H100_80GB, THIRD) == HiddenTruth(1, BOARDS).kv_tokens(one, THIRD)
