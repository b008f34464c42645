"""Every board has its speed on record."""

from dataclasses import replace

import pytest

from capacity.hardware import SPEEDS, is_known, speed_of
from fleet.boards import BOARDS, H100_80GB
from fleet.errors import InputError


def test_every_board_has_a_speed_and_every_speed_a_board():
    assert set(BOARDS) == set(SPEEDS)


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_speeds_are_those_of_a_card(board):
    speed = speed_of(board)

    assert 0.3 <= speed.bandwidth_tb_per_s <= 8
    assert 65 <= speed.bf16_tflops <= 2500
    assert speed.fp8_tflops / speed.bf16_tflops == pytest.approx(1, abs=0.01) or speed.fp8_tflops / (
        speed.bf16_tflops
    ) == pytest.approx(2, abs=0.03)
    assert (speed.nvlink_gb_per_s == 0) <= (speed.nvlink_cards == 1)


@pytest.mark.parametrize(
    ("board", "tb_per_s", "tflops"),
    [
        ("a100-40gb", 1.555, 312),
        ("a100-80gb", 1.935, 312),
        ("h100-80gb", 3.35, 989),
        ("h100-80gb-pcie", 2.0, 756),
        ("h200-141gb", 4.8, 989),
        ("b200-180gb", 7.7, 2250),
        ("a30-24gb", 0.933, 165),
        ("l4-24gb", 0.3, 121),
        ("l40s-48gb", 0.864, 362),
        ("t4-16gb", 0.32, 65),
    ],
)
def test_speeds_are_those_of_the_data_sheets(board, tb_per_s, tflops):
    assert tb_per_s == speed_of(BOARDS[board]).bandwidth_tb_per_s
    assert tflops == speed_of(BOARDS[board]).bf16_tflops


@pytest.mark.parametrize(
    ("board", "factor"), [("a100-80gb", 1), ("t4-16gb", 1), ("h100-80gb", 2), ("l4-24gb", 2)]
)
def test_eight_bits_are_twice_as_fast_only_on_cards_that_multiply_them(board, factor):
    speed = speed_of(BOARDS[board])

    assert factor == pytest.approx(speed.fp8_tflops / speed.bf16_tflops, abs=0.01)


def test_a_board_as_published_is_known_by_its_product():
    published = replace(H100_80GB, id="nvidia-h100-80gb-hbm3", compute_slices=132)

    assert SPEEDS["h100-80gb"] == speed_of(published)


def test_a_board_is_known_by_its_id_or_its_product():
    assert is_known(H100_80GB)
    assert is_known(replace(H100_80GB, id="nvidia-h100-80gb-hbm3"))
    assert is_known(replace(H100_80GB, product_names=()))
    assert not is_known(replace(H100_80GB, id="nvidia-geforce-rtx-4090", product_names=("RTX 4090",)))


def test_an_unknown_board_is_refused_with_those_that_are_known():
    with pytest.raises(InputError) as refusal:
        speed_of(replace(H100_80GB, id="tpu", product_names=("TPU",)))

    assert "nothing is known about the speed of board tpu" == refusal.value.what
    assert all(board in refusal.value.fix for board in SPEEDS)
