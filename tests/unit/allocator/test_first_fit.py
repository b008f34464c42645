"""How few cards a set of slices needs."""

from dataclasses import replace

import pytest

from allocator.packing.first_fit import pack
from fleet.boards import A30_24GB, H100_80GB
from fleet.errors import InputError


def spelled(layout):
    return " ".join(sorted(str(placement) for placement in layout))


@pytest.mark.parametrize(
    ("counts", "cards"),
    [
        ({}, []),
        ({"1g.10gb": 0}, []),
        ({"whole": 2}, ["", ""]),
        ({"1g.10gb": 1}, ["1g.10gb@6"]),
        ({"3g.40gb": 1}, ["3g.40gb@4"]),
        ({"3g.40gb": 1, "4g.40gb": 1}, ["3g.40gb@4 4g.40gb@0"]),
        ({"3g.40gb": 2, "4g.40gb": 1}, ["3g.40gb@4 4g.40gb@0", "3g.40gb@4"]),
        ({"2g.20gb": 3, "1g.10gb": 1}, ["1g.10gb@6 2g.20gb@0 2g.20gb@2 2g.20gb@4"]),
        ({"7g.80gb": 1, "1g.10gb": 1}, ["7g.80gb@0", "1g.10gb@6"]),
        ({"whole": 1, "1g.10gb": 1}, ["", "1g.10gb@6"]),
    ],
)
def test_largest_first_each_where_it_keeps_large_slots_whole(counts, cards):
    assert cards == [spelled(layout) for layout in pack(H100_80GB, counts)]


@pytest.mark.parametrize(
    ("counts", "cards"),
    [({"1g.10gb": 7}, 1), ({"1g.10gb": 8}, 2), ({"1g.20gb": 4}, 1), ({"1g.20gb": 5}, 2), ({"3g.40gb": 5}, 3)],
)
def test_a_card_is_opened_only_when_the_others_are_full(counts, cards):
    assert cards == len(pack(H100_80GB, counts))


def test_small_slices_fill_what_large_ones_leave_on_any_card():
    layouts = pack(H100_80GB, {"4g.40gb": 2, "1g.10gb": 6})
    assert 2 == len(layouts)
    assert [4, 4] == [len(layout) for layout in layouts]


def test_another_board_has_its_own_geometry():
    assert ["1g.6gb@0 1g.6gb@1 2g.12gb@2"] == [
        spelled(layout) for layout in pack(A30_24GB, {"2g.12gb": 1, "1g.6gb": 2})
    ]


def test_a_profile_that_the_board_does_not_have_is_named():
    with pytest.raises(InputError, match="9g"):
        pack(H100_80GB, {"9g.90gb": 1})


def test_a_profile_that_fits_on_no_card_is_named_instead_of_opening_cards_for_ever():
    nowhere = replace(A30_24GB.profile("1g.6gb"), starts=())
    with pytest.raises(InputError, match="fits on no card"):
        pack(replace(A30_24GB, profiles=(nowhere,)), {"1g.6gb": 1})
