"""Shares of a card as shapes."""

import pytest

from fleet.boards import A100_80GB, H100_80GB
from fleet.errors import InputError
from fleet.shape import WHOLE, Configuration, Shape, shape_named, shapes_of, share_of, slice_of


@pytest.mark.parametrize("hundredths", [1, 55, 99])
def test_a_share_is_named_by_its_hundredths_and_found_by_its_name(hundredths):
    share = share_of(H100_80GB, hundredths)

    assert (hundredths, f"{hundredths}/100", False) == (share.hundredths, share.name, share.is_whole)
    assert share == shape_named(H100_80GB, share.name)


@pytest.mark.parametrize("hundredths", [0, 100, -5])
def test_what_is_no_part_of_a_card_is_refused(hundredths):
    with pytest.raises(InputError, match=f"no share of {hundredths} hundredths"):
        share_of(H100_80GB, hundredths)


@pytest.mark.parametrize("name", [WHOLE, "1g.10gb", "7/1000", "/100", "07/100"])
def test_other_shapes_are_no_shares(name):
    assert 0 == Shape("h100-80gb", name).hundredths


def test_a_replica_does_not_span_several_shares():
    with pytest.raises(InputError, match="cannot span several"):
        Shape("h100-80gb", "50/100", cards=2)


def test_a_share_has_its_part_of_everything_and_of_memory_without_what_the_driver_keeps():
    half = slice_of(A100_80GB, share_of(A100_80GB, 50))

    assert (0.5, 0.5, 0.5, 54) == (half.sm_share, half.bandwidth_share, half.gpu_share, half.sm)
    assert (81920 - 2458) / 2 / 1024 == pytest.approx(half.memory_gib)


def test_shares_that_fill_a_card_cost_a_card():
    parts = [slice_of(A100_80GB, share_of(A100_80GB, n)) for n in (45, 55)]

    assert pytest.approx(1.0) == sum(part.gpu_share for part in parts)
    assert slice_of(A100_80GB, Shape(A100_80GB.id)).memory_gib > sum(part.memory_gib for part in parts)


def test_configurations_name_shares():
    share = share_of(H100_80GB, 50)

    assert "2 x 50/100" == str(Configuration({share: 2}))
    assert share not in shapes_of(H100_80GB)
