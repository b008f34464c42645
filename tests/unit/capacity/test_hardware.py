"""Every board that can be cut has its speed on record."""

import pytest

from capacity.hardware import SPEEDS, speed_of
from fleet.boards import BOARDS
from fleet.errors import InputError


@pytest.mark.parametrize("board", BOARDS)
def test_every_board_of_the_fleet_has_a_speed(board):
    speed = speed_of(board)

    assert 0.5 < speed.bandwidth_tb_per_s < 10
    assert 100 < speed.bf16_tflops < 3000


@pytest.mark.parametrize(
    ("board", "tb_per_s", "tflops"),
    [
        ("a100-40gb", 1.555, 312),
        ("a100-80gb", 1.935, 312),
        ("h100-80gb", 3.35, 989),
        ("a30-24gb", 0.933, 165),
    ],
)
def test_speeds_are_those_of_the_data_sheets(board, tb_per_s, tflops):
    assert tb_per_s == speed_of(board).bandwidth_tb_per_s
    assert tflops == speed_of(board).bf16_tflops


def test_an_unknown_board_is_refused_with_those_that_are_known():
    with pytest.raises(InputError) as refusal:
        speed_of("tpu")

    assert "nothing is known about the speed of board tpu" == refusal.value.what
    assert all(board in refusal.value.fix for board in SPEEDS)
