"""The arithmetic that people check adds up to the figures that are used."""

import re
from dataclasses import replace

import pytest

from capacity.arithmetic import law_lines, memory_lines, shared_lines, weight_lines
from capacity.catalogue import MODELS
from fleet.boards import BOARDS, H100_80GB
from fleet.shape import Shape, share_of

LLAMA, EIGHT = MODELS["llama-3.3-70b-bf16"], MODELS["llama-3.3-70b-fp8"]


def test_the_memory_of_llama_70b():
    assert [
        "weights: 2.10 bn in token tables x 2 B + 68.45 bn x 2 B = 141.1 GB = 131.4 GiB",
        "context: 80 layers x 2 x 8 heads x 128 x 2 B = 320 KiB a token",
    ] == weight_lines(LLAMA)
    assert (
        "weights: 2.10 bn in token tables x 2 B + 68.45 bn x 1 B = 72.7 GB = 67.7 GiB"
        == weight_lines(EIGHT)[0]
    )


@pytest.mark.parametrize(
    ("model", "board", "cards", "lines"),
    [
        (
            LLAMA,
            "h100-80gb",
            1,
            [
                "memory: (0.9 x 79.6 - 1.5) = 70.2 GiB usable",
                "room: (70.2 - 131.4) GiB: the weights do not fit",
            ],
        ),
        (
            LLAMA,
            "h100-80gb",
            2,
            [
                "memory: 2 x (0.9 x 79.6 - 1.5) = 140.4 GiB usable",
                "room: (140.4 - 131.4) GiB / 320 KiB = 29,324 tokens, longest 131,072",
            ],
        ),
        (
            LLAMA,
            "h100-80gb",
            4,
            [
                "memory: 4 x (0.9 x 79.6 - 1.5) = 280.7 GiB usable",
                "room: (280.7 - 131.4) GiB / 320 KiB = 489,273 tokens, longest 131,072",
            ],
        ),
        (
            EIGHT,
            "h200-141gb",
            1,
            [
                "memory: (0.9 x 140.4 - 1.5) = 124.9 GiB usable",
                "room: (124.9 - 67.7) GiB / 320 KiB = 187,420 tokens, longest 131,072",
            ],
        ),
    ],
)
def test_the_room_of_llama_70b(model, board, cards, lines):
    assert lines == memory_lines(model, BOARDS[board], Shape(board, cards=cards))


def test_the_times_of_llama_70b_over_four_cards():
    alpha, beta, gamma = law_lines(LLAMA, H100_80GB, Shape("h100-80gb", cards=4))

    bandwidth, compute = "(4 x 3.35 TB/s x 0.78)", "(4 x 989 TFLOPS x 0.65)"
    sent = "160 x 8192 x 2 B x 6/4 / (450 GB/s x 0.77)"
    assert (
        f"alpha: 141.1 GB / {bandwidth} + 2.0 ms + 160 all-reduces x 0.01 ms = 17.10 ms an iteration" == alpha
    )
    assert f"beta: 2 x 70.55 bn / {compute} + {sent} = 66.2 us a token computed" == beta
    assert f"gamma: 320 KiB / {bandwidth} = 31.4 ns a token of context read" == gamma


def test_what_is_printed_adds_up():
    alpha_ms = 1000 * 141.1e9 / (4 * 3.35e12 * 0.78) + 2.0 + 160 * 0.01
    sent_s = 160 * 8192 * 2 * 6 / 4 / (450e9 * 0.77)
    beta_us = 1e6 * (2 * 70.55e9 / (4 * 989e12 * 0.65) + sent_s)

    gamma_ns = 1e9 * 320 * 1024 / (4 * 3.35e12 * 0.78)
    assert [f"= {alpha_ms:.2f} ms", f"= {beta_us:.1f} us", f"= {gamma_ns:.1f} ns"] == [
        re.search(r"= [\d.]+ (ms|us|ns)", line)[0]
        for line in law_lines(LLAMA, H100_80GB, Shape("h100-80gb", cards=4))
    ]


def test_the_times_on_a_slice_say_its_share_of_bandwidth_and_multiprocessors():
    lines = law_lines(MODELS["qwen2.5-7b-bf16"], H100_80GB, Shape("h100-80gb", "3g.40gb"))

    assert "alpha: 15.2 GB / (0.5 x 3.35 TB/s x 0.78) + 2.0 ms = 13.66 ms an iteration" == lines[0]
    assert "beta: 2 x 7.62 bn / ((60/132)^0.85 x 989 TFLOPS x 0.65) = 46.3 us a token computed" == lines[1]


def test_experts_and_latent_attention_are_told():
    lines = weight_lines(MODELS["deepseek-v3-fp8"])

    assert "experts: 8 of 256 compute a token, 37.55 bn weights; a busy engine reads 587.2 GB" == lines[1]
    assert "context: 61 layers x (512 + 64) x 2 B = 68.62 KiB a token" == lines[2]


def test_copies_of_context_are_told():
    model = replace(MODELS["qwen2.5-3b-bf16"], max_model_len=1024)
    eight = Shape("h100-80gb", cards=8)

    assert " / (4 x 36 KiB) = " in memory_lines(model, H100_80GB, eight)[1]
    assert law_lines(model, H100_80GB, eight)[2].startswith("gamma: 4 x 36 KiB / (8 x ")


def test_what_busy_neighbours_add_is_told_with_its_source():
    model = MODELS["qwen2.5-7b-bf16"]
    *alone, beside = shared_lines(model, H100_80GB, share_of(H100_80GB, 50), "hami")

    assert law_lines(model, H100_80GB, Shape("h100-80gb")) == alone
    assert beside.startswith(
        "beside busy neighbours (hami): alpha x 2.52 = 19.73 ms; beta and gamma x 2.00 (two "
    )
