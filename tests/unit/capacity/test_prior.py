"""The prior against public measurements, and the slice law against its own statement."""

from dataclasses import replace
from itertools import pairwise

import pytest

from capacity.catalogue import MODELS
from capacity.hardware import speed_of
from capacity.prior import SM_EXPONENT, fits, kv_tokens, obstacle, prior
from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB
from fleet.errors import InputError
from fleet.shape import Shape, shape_named, shapes_of, slice_of

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
    assert not fits(replace(QWEN_7B, max_model_len=40_000), H100_80GB, Shape("h100-80gb", "2g.20gb"))


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


def test_a_profile_that_the_board_does_not_offer_is_refused():
    with pytest.raises(InputError, match=r"no MIG profile 3g\.20gb"):
        prior(QWEN_3B, A100_80GB, Shape("a100-80gb", "3g.20gb"))


LLAMA = MODELS["llama-3.3-70b-bf16"]


@pytest.mark.parametrize(
    ("name", "board", "cards", "tokens"),
    [
        # (n x (0.90 x 79.65 - 1.5) - 131.42 GiB) / 320 KiB
        ("llama-3.3-70b-bf16", "h100-80gb", 1, 0),
        ("llama-3.3-70b-bf16", "h100-80gb", 2, 29_300),
        ("llama-3.3-70b-bf16", "h100-80gb", 4, 489_300),
        # (0.90 x 140.40 - 1.5) GiB = 124.9 GiB hold no weights of 131.4 GiB
        ("llama-3.3-70b-bf16", "h200-141gb", 1, 0),
        ("llama-3.3-70b-bf16", "h200-141gb", 2, 387_700),
        # 70.55 bn bytes + one more for each of 2 x 128,256 x 8,192 table elements = 67.67 GiB
        ("llama-3.3-70b-fp8", "h100-80gb", 1, 8_250),
        ("llama-3.3-70b-fp8", "h200-141gb", 1, 187_400),
    ],
)
def test_the_kv_room_of_llama_70b_by_hand(name, board, cards, tokens):
    room = kv_tokens(MODELS[name], BOARDS[board], Shape(board, cards=cards))

    assert tokens == pytest.approx(room, abs=50)


@pytest.mark.parametrize(
    ("name", "cards", "alpha", "beta"),
    [
        # 141.11 GB / (n x 3.35 TB/s x 0.78) + 2 ms + 160 x 10 us where n > 1;
        # 141.11 GFLOP / (n x 989 TFLOPS x 0.65) + 160 x 32,768 B x (n - 1) / n / (450 GB/s x 0.77)
        ("llama-3.3-70b-bf16", 2, 30.60, 0.11732),
        ("llama-3.3-70b-bf16", 4, 17.10, 0.06622),
        # 72.66 GB / 2.613 TB/s + 2 ms; 141.11 GFLOP / (1979 TFLOPS x 0.65)
        ("llama-3.3-70b-fp8", 1, 29.81, 0.10970),
    ],
)
def test_the_law_of_llama_70b_by_hand(name, cards, alpha, beta):
    law = prior(MODELS[name], H100_80GB, Shape("h100-80gb", cards=cards))

    assert alpha == pytest.approx(law.alpha_ms, abs=0.01)
    assert beta == pytest.approx(law.beta_ms_per_token, abs=1e-5)
    assert 327_680 / cards / 2.613e9 == pytest.approx(law.gamma_ms_per_kv_token, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "board", "shape", "why"),
    [
        ("llama-3.3-70b-bf16", "h100-80gb", "1x", "weights of 131.4 GiB do not fit in 70.2 GiB"),
        ("llama-3.3-70b-bf16", "h200-141gb", "1x", "weights of 131.4 GiB do not fit in 124.9 GiB"),
        (
            "llama-3.3-70b-bf16",
            "h100-80gb",
            "2x",
            "context of 131072 tokens does not fit, there is room for 29324",
        ),
        ("llama-3.3-70b-bf16", "h100-80gb", "4x", None),
        ("llama-3.3-70b-fp8", "h200-141gb", "1x", None),
        ("llama-3.3-70b-bf16", "h100-80gb", "16x", "NVLink joins at most 8 cards of board h100-80gb"),
        ("llama-3.3-70b-bf16", "l40s-48gb", "4x", "no NVLink joins cards of board l40s-48gb"),
        ("qwen2.5-7b-bf16", "h100-80gb", "8x", "28 attention heads cannot be dealt out to 8 cards"),
        ("qwen2.5-3b-fp8", "t4-16gb", "1x", "Turing cards do not compute with weights in fp8"),
        ("qwen2.5-7b-awq", "t4-16gb", "1x", None),
    ],
)
def test_what_keeps_an_engine_from_starting_is_said(name, board, shape, why):
    named = shape_named(BOARDS[board], shape)

    assert why == obstacle(MODELS[name], BOARDS[board], named)
    assert (why is None) == fits(MODELS[name], BOARDS[board], named)


def test_a_law_over_cards_that_nothing_joins_is_refused():
    with pytest.raises(InputError, match="no NVLink joins cards of board l4-24gb; use fewer cards"):
        prior(QWEN_3B, BOARDS["l4-24gb"], Shape("l4-24gb", cards=2))


def test_more_cards_are_faster_but_less_than_in_proportion():
    laws = [prior(LLAMA, H100_80GB, Shape("h100-80gb", cards=n)) for n in (1, 2, 4, 8)]

    for fewer, more in pairwise(laws):
        assert 0.5 < more.alpha_ms / fewer.alpha_ms < 1
        assert 0.5 < more.beta_ms_per_token / fewer.beta_ms_per_token < 1
        assert 0.5 == pytest.approx(more.gamma_ms_per_kv_token / fewer.gamma_ms_per_kv_token)


def test_context_that_cannot_be_dealt_out_is_kept_and_read_by_every_card():
    """Four key-value heads over eight cards: each pair of cards holds the same one."""
    model = MODELS["qwen2.5-3b-bf16"]
    two, four = (Shape("h100-80gb", cards=n) for n in (2, 4))

    laws = [prior(model, H100_80GB, shape).gamma_ms_per_kv_token for shape in (two, four)]
    assert laws[0] == pytest.approx(laws[1])
    assert kv_tokens(model, H100_80GB, four) < 1.1 * kv_tokens(model, H100_80GB, two)


def test_eight_bit_floats_halve_what_is_read_and_what_is_multiplied():
    law, eight = (
        prior(MODELS[f"qwen3-32b-{name}"], H100_80GB, Shape("h100-80gb")) for name in ("bf16", "fp8")
    )

    assert 0.5 < (eight.alpha_ms - 2) / (law.alpha_ms - 2) < 0.53
    assert 0.5 == pytest.approx(eight.beta_ms_per_token / law.beta_ms_per_token, abs=0.001)


@pytest.mark.parametrize(
    ("name", "board"), [("awq", "h100-80gb"), ("gptq", "h100-80gb"), ("fp8", "a100-80gb")]
)
def test_weights_that_are_unpacked_first_are_multiplied_in_16_bits(name, board):
    one, other = (prior(MODELS[f"qwen3-32b-{each}"], BOARDS[board], Shape(board)) for each in (name, "bf16"))

    assert one.alpha_ms < other.alpha_ms
    assert one.beta_ms_per_token == other.beta_ms_per_token


def test_the_experts_that_compute_a_token_set_its_time():
    """3.35 of 30.5 billion weights compute, nearly all are read: fast in prefill, slow in decoding."""
    law = prior(MODELS["qwen3-30b-a3b-bf16"], H100_80GB, Shape("h100-80gb"))

    assert 2 * 3.353e9 / (989e9 * 0.65) == pytest.approx(law.beta_ms_per_token, rel=1e-3)
    assert 0.985 * 61.06e9 / 2.613e9 + 2 == pytest.approx(law.alpha_ms, rel=0.01)
