"""Shapes: how they are named, what hardware is behind them, which a board offers."""

import pytest

from fleet.boards import BOARDS, H100_80GB
from fleet.errors import InputError
from fleet.shape import Configuration, Shape, shape_named, shapes_of, slice_of

WHOLE, TWO = Shape("h100-80gb"), Shape("h100-80gb", cards=2)
HALF = Shape("h100-80gb", "4g.40gb")


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("whole", WHOLE),
        ("1x", WHOLE),
        ("2x", TWO),
        ("16x", Shape("h100-80gb", cards=16)),
        ("4g.40gb", HALF),
    ],
)
def test_a_shape_is_found_by_what_people_call_it(name, shape):
    assert shape == shape_named(H100_80GB, name)


@pytest.mark.parametrize("shape", [WHOLE, TWO, HALF])
def test_what_a_shape_is_called_finds_it_again(shape):
    assert shape == shape_named(H100_80GB, shape.name)


@pytest.mark.parametrize("name", ["0x", "x", "5g.50gb", "", "-1x", "2 x"])
def test_other_names_are_answered_with_the_profiles_that_exist(name):
    with pytest.raises(InputError, match=r"use one of 1g\.10gb"):
        shape_named(H100_80GB, name)


@pytest.mark.parametrize(("profile", "cards"), [("4g.40gb", 2), ("whole", 0), ("whole", -1), ("4g.40gb", 0)])
def test_no_replica_spans_several_mig_instances_or_no_card(profile, cards):
    with pytest.raises(InputError, match="one replica cannot span several MIG instances"):
        Shape("h100-80gb", profile, cards)


def test_shapes_are_written_with_their_board():
    assert ["h100-80gb:whole", "h100-80gb:2x", "h100-80gb:4g.40gb"] == [str(s) for s in (WHOLE, TWO, HALF)]


def test_several_cards_are_as_much_as_that_many():
    one, two = slice_of(H100_80GB, WHOLE), slice_of(H100_80GB, TWO)

    assert (1.0, 1.0, 1.0) == (one.sm_share, one.bandwidth_share, one.gpu_share)
    assert (2.0, 2.0, 2.0) == (two.sm_share, two.bandwidth_share, two.gpu_share)
    assert (264, 2 * one.memory_gib) == (two.sm, two.memory_gib)
    assert TWO.is_whole
    assert [True, False, False] == [shape.is_one_card for shape in (WHOLE, TWO, HALF)]


def test_a_configuration_counts_groups_of_cards():
    assert "1 x whole + 3 x 2x" == str(Configuration({TWO: 3, WHOLE: 1}))


def test_of_profiles_that_differ_in_media_engines_one_is_offered():
    names = [shape.name for shape in shapes_of(BOARDS["rtx-pro-6000-96gb"])]
    assert ["whole", "1g.24gb", "2g.48gb", "4g.96gb"] == names


def test_profiles_that_differ_in_multiprocessors_or_memory_are_all_offered():
    names = [shape.name for shape in shapes_of(H100_80GB)]
    assert ["whole", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"] == names


def test_a_board_without_mig_is_offered_whole():
    assert (Shape("l4-24gb"),) == shapes_of(BOARDS["l4-24gb"])
