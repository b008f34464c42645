"""What it takes to change a node's layout, and what speaks against it."""

import pytest

from actuator.inventory.layouts import card_layouts
from actuator.layouts.change import change_of
from actuator.layouts.named import entries_of
from fleet.boards import A100_80GB, H100_80GB

NIGHT, DAY = {"1g.10gb": 7}, {"3g.40gb": 1, "4g.40gb": 1}


def change(before, after, board=H100_80GB, offered=None):
    old, new = (card_layouts(entries_of(cuts), len(cuts), board) for cuts in (before, after))
    return change_of(board, old, new, offered)


def test_only_cards_whose_layout_differs_are_cleared():
    found = change([NIGHT, DAY, DAY], [DAY, DAY, NIGHT])

    assert ((0, 2), ()) == (found.cleared, found.objections)
    assert {"1g.10gb", "3g.40gb", "4g.40gb"} == found.frees


def test_if_one_mode_changes_every_cut_card_is_cleared():
    found = change([NIGHT, DAY, None, None], [NIGHT, DAY, DAY, None])

    assert (0, 1, 2) == found.cleared
    assert {"1g.10gb", "3g.40gb", "4g.40gb", None} == found.frees


def test_the_same_again_is_no_change():
    assert ((), (), ()) == (
        (found := change([NIGHT, None], [NIGHT, None])).cards,
        found.cleared,
        found.objections,
    )


@pytest.mark.parametrize(
    ("before", "after", "board", "offered", "said"),
    [
        ([NIGHT], [{"4g.40gb": 2}], H100_80GB, None, "cannot all exist at once"),
        ([NIGHT], [{"3g.71gb": 1}], H100_80GB, None, "cannot all exist at once"),
        ([NIGHT], [DAY], H100_80GB, ["1g.10gb", "3g.40gb"], "does not offer 4g.40gb"),
        ([NIGHT], [DAY, DAY], H100_80GB, None, "has no card 1"),
        ([None], [DAY], A100_80GB, None, "needs a reset"),
        ([DAY], [None], A100_80GB, None, "needs a reset"),
    ],
)
def test_what_may_not_be_done_says_why(before, after, board, offered, said):
    (objection,) = change(before, after, board, offered).objections

    assert said in objection


def test_where_cards_toggle_without_a_reset_nothing_speaks_against_it():
    assert () == change([None], [DAY], H100_80GB).objections


def test_on_ampere_a_layout_with_mode_on_may_change():
    assert () == change([{}], [{"3g.40gb": 2}], A100_80GB).objections


def test_a_change_is_told_card_by_card():
    (card,) = change([NIGHT], [DAY]).cards

    assert "card 0: 7 x 1g.10gb -> 1 x 3g.40gb + 1 x 4g.40gb" == str(card)
