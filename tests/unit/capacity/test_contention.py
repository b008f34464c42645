"""Engines that share a card, against the tokens/s that NVIDIA published of them."""

import pytest

from capacity.catalogue import MODELS
from capacity.contention import CONTENTION, contended, expected_law
from capacity.law import Law
from capacity.prior import prior
from fleet.boards import A100_80GB
from fleet.errors import InputError
from fleet.mechanism import MECHANISMS
from fleet.shape import Shape, share_of

# ai-dynamo/dynamo docs, "Interpreting GPU Sharing Results": Qwen3-4B on A100, 2,048 prompt and 256 output
# tokens. Requests on a card, and tokens/s of two engines that share it over those of one that has it, %.
SHARING = [
    ("time-slicing", 2, 44.5),
    ("time-slicing", 4, 45.0),
    ("time-slicing", 8, 51.2),
    ("time-slicing", 16, 61.6),
    ("time-slicing", 32, 72.8),
    ("mps", 2, 63.5),
    ("mps", 4, 60.4),
    ("mps", 8, 68.0),
    ("mps", 16, 77.8),
    ("mps", 32, 87.9),
]
ALONE = prior(MODELS["qwen3-4b-bf16"], A100_80GB, Shape("a100-80gb"))


@pytest.mark.parametrize(("mechanism", "requests", "percent"), SHARING)
def test_sharing_costs_the_throughput_that_was_published_within_five_points(mechanism, requests, percent):
    """The law alone is the prior: nothing but the two factors was fitted."""
    each = contended(ALONE, mechanism, busy_neighbours=1.0).rate_per_s(2048, 256, requests / 2)

    assert percent == pytest.approx(100 * 2 * each / ALONE.rate_per_s(2048, 256, requests), abs=5)


@pytest.mark.parametrize(
    ("requests", "tokens_per_s"), [(2, 227.5), (4, 429.1), (8, 671.2), (16, 929.2), (32, 1141.8)]
)
def test_the_prior_alone_is_within_a_tenth_of_the_published_throughput(requests, tokens_per_s):
    assert tokens_per_s == pytest.approx(256 * ALONE.rate_per_s(2048, 256, requests), rel=0.1)


def test_every_mechanism_has_its_factors():
    assert set(MECHANISMS) == set(CONTENTION)
    assert all(each.source for each in CONTENTION.values())


def test_what_isolates_compute_is_not_slowed_and_nothing_else_is_spared():
    for name, mechanism in MECHANISMS.items():
        assert mechanism.isolates_compute == (contended(ALONE, name, 3.0) == ALONE)


def test_idle_neighbours_cost_nothing():
    assert ALONE == contended(ALONE, "kai", 0.0)


def test_each_busy_neighbour_adds_the_same():
    law = Law(10.0, 0.1, 1e-3)

    assert 10 * (1 + 2 * 1.52) == contended(law, "hami", 2.0).alpha_ms
    assert 0.1 * (1 + 2 * 1.0) == pytest.approx(contended(law, "hami", 2.0).beta_ms_per_token)
    assert 1e-3 * (1 + 0.5 * 1.0) == pytest.approx(contended(law, "hami", 0.5).gamma_ms_per_kv_token)


def test_beside_a_half_the_other_half_is_busy_and_beside_a_quarter_three():
    model = MODELS["qwen3-4b-bf16"]
    half, quarter = (share_of(A100_80GB, hundredths) for hundredths in (50, 25))

    assert contended(ALONE, "hami", 1.0) == expected_law(model, A100_80GB, half, "hami")
    assert contended(ALONE, "hami", 3.0) == expected_law(model, A100_80GB, quarter, "hami")


def test_shapes_that_are_no_shares_follow_the_slice_law_under_any_mechanism():
    model, cut = MODELS["qwen3-4b-bf16"], Shape("a100-80gb", "3g.40gb")

    assert prior(model, A100_80GB, cut) == expected_law(model, A100_80GB, cut, "kai")


def test_a_mechanism_that_cuts_cards_makes_no_shares():
    with pytest.raises(
        InputError, match="mechanism dra makes no shares of a card; use one of dra-shares, kai"
    ):
        expected_law(MODELS["qwen3-4b-bf16"], A100_80GB, share_of(A100_80GB, 50), "dra")


def test_an_unknown_mechanism_is_refused_with_those_that_exist():
    with pytest.raises(InputError, match=r"no mechanism nvshare; use one of dra, mig-manager, .*, mps"):
        contended(ALONE, "nvshare", 1.0)
