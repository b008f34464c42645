"""The prior against public measurements, and the slice law against its own statement."""

import pytest

from capacity.catalogue import MODELS, ModelSpec
from capacity.hardware import speed_of
from capacity.prior import SM_EXPONENT, fits, kv_tokens, prior, slow_prior
from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB
from fleet.errors import InputError
from fleet.shape import Shape, shapes_of, slice_of

QWEN_3B, QWEN_7B, QWEN_14B = (MODELS[f"qwen2.5-{size}b-bf16"] for size in (3, 7, 14))

# NEWSLabNTU/Delta-HPC, configs/simulation_config.yaml: vLLM 0.17 on MIG slices of an A100-40GB, bf16. ITL at
# batch 0 (ms), prefill per token (ms); and how far the prior is from them.
DELTA_HPC = [
    # model, profile, alpha, beta, alpha of the prior / alpha, beta of the prior / beta
    (QWEN_3B, "1g.10gb", 21.60, 0.1921, 1.034, 0.899),
    (QWEN_3B, "2g.10gb", 21.86, 0.1118, 1.022, 0.857),
    (QWEN_7B, "3g.20gb", 23.35, 0.1557, 1.161, 1.077),
    (QWEN_7B, "4g.20gb", 23.28, 0.1205, 1.165, 1.089),
    (QWEN_14B, "7g.40gb", 24.76, 0.1569, 1.064, 1.009),
]


@pytest.mark.parametrize(("model", "profile", "alpha", "beta", "alpha_ratio", "beta_ratio"), DELTA_HPC)
def test_the_prior_is_as_far_from_public_fits_as_stated(model, profile, alpha, beta, alpha_ratio, beta_ratio):
    law = prior(model, A100_40GB, Shape("a100-40gb", profile))

    assert alpha_ratio == pytest.approx(law.alpha_ms / alpha, abs=0.001)
    assert beta_ratio == pytest.approx(law.beta_ms_per_token / beta, abs=0.001)


@pytest.mark.parametrize(("model", "profile", "beta"), [(row[0], row[1], row[3]) for row in DELTA_HPC])
def test_the_time_per_token_is_within_a_quarter_of_public_fits(model, profile, beta):
    law = prior(model, A100_40GB, Shape("a100-40gb", profile))

    assert beta == pytest.approx(law.beta_ms_per_token, rel=0.25)


@pytest.mark.parametrize(("model", "profile"), [row[:2] for row in DELTA_HPC])
def test_the_fixed_time_lies_in_the_band_of_measured_bandwidth_efficiencies(model, profile):
    """Fits imply 73 to 84 % of the peak bandwidth, with up to 2 ms of it spent on launching."""
    shape = Shape("a100-40gb", profile)
    share = slice_of(A100_40GB, shape).bandwidth_share
    at_peak_ms = model.weight_bytes / (speed_of(A100_40GB).bandwidth_tb_per_s * 1e9 * share)

    alpha = prior(model, A100_40GB, shape).alpha_ms

    assert at_peak_ms / 0.84 < alpha < at_peak_ms / 0.73 + 2.0


# KV room in thousands of tokens by memory of the slice, from published layer and head counts.
KV_ROOM = [
    (QWEN_3B, "1g.10gb", 44.0),
    (QWEN_3B, "2g.20gb", 303.0),
    (QWEN_3B, "3g.40gb", 824.0),
    (QWEN_3B, "7g.80gb", 1870.0),
    (QWEN_7B, "2g.20gb", 36.8),
    (QWEN_7B, "1g.20gb", 36.8),
    (QWEN_7B, "4g.40gb", 372.0),
    (QWEN_7B, "7g.80gb", 1040.0),
    (QWEN_14B, "3g.40gb", 35.7),
    (QWEN_14B, "7g.80gb", 231.0),
]


@pytest.mark.parametrize(("model", "profile", "thousands"), KV_ROOM)
def test_kv_room_is_that_of_the_published_table(model, profile, thousands):
    assert 1000 * thousands == pytest.approx(
        kv_tokens(model, H100_80GB, Shape("h100-80gb", profile)), rel=0.05
    )


@pytest.mark.parametrize(
    ("model", "board", "profile"),
    [
        (QWEN_7B, H100_80GB, "1g.10gb"),
        (QWEN_14B, H100_80GB, "2g.20gb"),
        (QWEN_14B, A30_24GB, "whole"),
        (QWEN_3B, A30_24GB, "1g.6gb"),
    ],
)
def test_there_is_no_kv_room_where_the_weights_do_not_fit(model, board, profile):
    assert 0.0 == kv_tokens(model, board, Shape(board.id, profile))
    assert not fits(model, board, Shape(board.id, profile))


def test_an_engine_starts_only_if_its_longest_sequence_fits():
    room = kv_tokens(QWEN_7B, H100_80GB, Shape("h100-80gb", "2g.20gb"))

    assert 32_768 < room < 40_000
    assert fits(QWEN_7B, H100_80GB, Shape("h100-80gb", "2g.20gb"))
    assert not fits(with_length(QWEN_7B, 40_000), H100_80GB, Shape("h100-80gb", "2g.20gb"))


def with_length(model, max_model_len):
    return ModelSpec(
        "long",
        model.parameters,
        model.layers,
        model.kv_heads,
        model.head_dim,
        model.bytes_per_weight,
        model.bytes_per_kv,
        max_model_len,
    )


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_slices_follow_bandwidth_and_multiprocessors(board):
    whole = prior(QWEN_3B, board, Shape(board.id))
    for shape in shapes_of(board):
        hardware, law = slice_of(board, shape), prior(QWEN_3B, board, shape)
        weights_ms, whole_weights_ms = law.alpha_ms - 2.0, whole.alpha_ms - 2.0

        assert hardware.bandwidth_share == pytest.approx(whole_weights_ms / weights_ms)
        assert hardware.bandwidth_share == pytest.approx(
            whole.gamma_ms_per_kv_token / law.gamma_ms_per_kv_token
        )
        assert hardware.sm_share**SM_EXPONENT == pytest.approx(
            whole.beta_ms_per_token / law.beta_ms_per_token
        )


def test_slices_with_the_same_memory_slices_differ_only_in_compute():
    one, two = (prior(QWEN_3B, A100_40GB, Shape("a100-40gb", profile)) for profile in ("1g.10gb", "2g.10gb"))

    assert one.alpha_ms == two.alpha_ms
    assert one.gamma_ms_per_kv_token == two.gamma_ms_per_kv_token
    assert 2**SM_EXPONENT == pytest.approx(one.beta_ms_per_token / two.beta_ms_per_token)


def test_the_roofline_of_a_whole_card_by_hand():
    """15.2 GB of weights at 78 % of 3.35 TB/s and 2 ms on top; 15.2 GFLOP at 65 % of 989 TFLOPS."""
    law = prior(QWEN_7B, H100_80GB, Shape("h100-80gb"))

    assert 7.83 == pytest.approx(law.alpha_ms, abs=0.01)
    assert 0.02369 == pytest.approx(law.beta_ms_per_token, abs=1e-5)
    assert 2.195e-5 == pytest.approx(law.gamma_ms_per_kv_token, abs=1e-8)


def test_doubt_is_wider_on_a_slice_than_on_the_whole_card():
    """exp(1.2816 x 0.15) = 1.212; with 0.1216 more in quadrature, exp(1.2816 x 0.1931) = 1.281."""
    whole, cut = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")

    for shape, factor in ((whole, 1.212), (cut, 1.281)):
        law, slow = prior(QWEN_7B, H100_80GB, shape), slow_prior(QWEN_7B, H100_80GB, shape)
        assert factor == pytest.approx(slow.alpha_ms / law.alpha_ms, abs=0.001)
        assert factor == pytest.approx(slow.beta_ms_per_token / law.beta_ms_per_token, abs=0.001)
        assert factor == pytest.approx(slow.gamma_ms_per_kv_token / law.gamma_ms_per_kv_token, abs=0.001)


def test_a_profile_that_the_board_does_not_offer_is_refused():
    with pytest.raises(InputError, match=r"no MIG profile 3g\.20gb"):
        prior(QWEN_3B, A100_80GB, Shape("a100-80gb", "3g.20gb"))
