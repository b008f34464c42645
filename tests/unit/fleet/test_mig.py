"""Layouts of real boards: what is legal, how many there are, and why one is not."""

from dataclasses import replace

import pytest

from fleet.boards import A30_24GB, BOARDS, H100_80GB
from fleet.errors import InputError
from fleet.mig import (
    Placement,
    illegality,
    is_legal,
    mask,
    maximal_layouts,
    placed_layouts,
    undominated_counts,
)

EIGHT_WIDE = [board for board in BOARDS.values() if board.grid == 8]
EVERY_BOARD = [board for board in BOARDS.values() if board.profiles]
RTX_PRO = BOARDS["rtx-pro-6000-96gb"]


def by_id(board):
    return board.id


def plain(board, *, with_double=True):
    """Names without media extension, with or without the 1g of two memory slices."""
    return [
        profile.name
        for profile in board.profiles
        if not profile.media_extension
        and (with_double or profile.compute_slices > 1 or profile.memory_slices == 1)
    ]


def layout(text):
    """Read `"1g.10gb@6 3g.40gb@0"`."""
    pairs = (instance.split("@") for instance in text.split())
    return [Placement(profile, int(start)) for profile, start in pairs]


def figures(board, names):
    """Non-empty placed layouts, maximal ones, undominated counts."""
    return (
        len(placed_layouts(board, names)),
        len(maximal_layouts(board, names)),
        len(undominated_counts(board, names)),
    )


@pytest.mark.parametrize("board", EIGHT_WIDE, ids=by_id)
def test_figures_of_boards_eight_wide(board):
    assert (297, 19, 12) == figures(board, plain(board, with_double=False))


@pytest.mark.parametrize("board", EIGHT_WIDE, ids=by_id)
def test_figures_of_boards_eight_wide_with_the_1g_of_two_memory_slices(board):
    assert (722, 78, 28) == figures(board, plain(board))


def test_figures_of_the_a30():
    assert (25, 5) == figures(A30_24GB, plain(A30_24GB))[:2]


def test_undominated_counts_of_an_h100_in_the_order_of_the_names_given():
    assert frozenset(
        {
            (7, 0, 0, 0, 0),
            (5, 1, 0, 0, 0),
            (3, 2, 0, 0, 0),
            (1, 3, 0, 0, 0),
            (4, 0, 1, 0, 0),
            (2, 1, 1, 0, 0),
            (0, 2, 1, 0, 0),
            (3, 0, 0, 1, 0),
            (1, 1, 0, 1, 0),
            (0, 0, 2, 0, 0),
            (0, 0, 1, 1, 0),
            (0, 0, 0, 0, 1),
        }
    ) == undominated_counts(H100_80GB, ["1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"])
    assert {(0, 7), (1, 5), (2, 3), (3, 1)} == undominated_counts(H100_80GB, ["2g.20gb", "1g.10gb"])


def test_undominated_counts_of_an_a30():
    assert {(4, 0, 0), (2, 1, 0), (0, 2, 0), (0, 0, 1)} == undominated_counts(A30_24GB, plain(A30_24GB))


def test_the_maximal_layouts_of_an_a30_by_name():
    expected = {
        "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3",
        "1g.6gb@0 1g.6gb@1 2g.12gb@2",
        "1g.6gb@2 1g.6gb@3 2g.12gb@0",
        "2g.12gb@0 2g.12gb@2",
        "4g.24gb@0",
    }
    assert {frozenset(layout(text)) for text in expected} == maximal_layouts(A30_24GB, plain(A30_24GB))


@pytest.mark.parametrize("board", EVERY_BOARD, ids=by_id)
def test_all_profiles_are_meant_when_none_are_named(board):
    names = [profile.name for profile in board.profiles]
    assert placed_layouts(board, names) == placed_layouts(board)
    assert maximal_layouts(board, names) == maximal_layouts(board)
    assert undominated_counts(board, names) == undominated_counts(board)


@pytest.mark.parametrize("board", EVERY_BOARD, ids=by_id)
def test_every_legal_layout_stays_within_the_engines_of_the_board(board):
    whole = board.profiles[-1].engines
    for placed in maximal_layouts(board):
        held = [board.profile(placement.profile).engines for placement in placed]
        assert sum(engines.copy for engines in held) <= whole.copy
        assert sum(engines.decoder for engines in held) <= whole.decoder
        assert sum(engines.jpeg for engines in held) <= whole.jpeg
        assert sum(engines.ofa for engines in held) <= whole.ofa


@pytest.mark.parametrize(
    ("decoders", "text"),
    [
        (5, "1g.24gb+me.all@0 1g.24gb@3"),
        (6, "1g.24gb@0 1g.24gb@3 2g.48gb+me.all@6"),
        (5, "1g.24gb+me.all@0 1g.24gb-me@3 1g.24gb+gfx@6"),
    ],
)
def test_beside_an_instance_with_all_media_engines_only_those_without_fit(decoders, text):
    expected = f"board rtx-pro-6000-96gb: {decoders} decoders held, it has 4"
    assert expected == illegality(RTX_PRO, layout(text))
    assert is_legal(RTX_PRO, layout("2g.48gb+me.all@0 1g.24gb-me@6 1g.24gb-me@9"))


def test_two_instances_with_media_engines_of_either_kind_exclude_each_other():
    problem = illegality(RTX_PRO, layout("1g.24gb+me.all@0 1g.24gb+me@3"))
    assert "both hold the only media extension" in problem


def test_figures_of_the_board_twelve_wide():
    """Quarters and halves as on an A30: five ways to fill it, three of them undominated."""
    assert (25, 5, 4) == figures(RTX_PRO, ["1g.24gb", "2g.48gb", "4g.96gb"])


def test_a_board_without_mig_has_no_layout_but_the_empty_one():
    board = BOARDS["l4-24gb"]
    assert frozenset() == placed_layouts(board)
    assert is_legal(board, [])
    expected = "board l4-24gb: no MIG profile 1g.10gb; use it whole: it has no MIG"
    assert expected == illegality(board, layout("1g.10gb@0"))


@pytest.mark.parametrize("question", [placed_layouts, maximal_layouts, undominated_counts])
def test_asking_for_a_profile_that_does_not_exist_names_those_that_do(question):
    with pytest.raises(InputError, match=r"no MIG profile 2g\.20gb; use one of 1g\.6gb"):
        question(A30_24GB, ["2g.20gb"])


def test_a_board_of_the_same_id_with_other_geometry_gets_its_own_answer():
    names = ["1g.10gb"]
    assert (127, 1, 1) == figures(H100_80GB, names)
    assert (126, 7, 1) == figures(replace(H100_80GB, compute_slices=6), names)


@pytest.mark.parametrize(
    ("placement", "units"),
    [
        (Placement("1g.10gb", 0), 0b0000_0001),
        (Placement("1g.10gb+me", 6), 0b0100_0000),
        (Placement("1g.20gb", 6), 0b1100_0000),
        (Placement("2g.20gb", 2), 0b0000_1100),
        (Placement("3g.40gb", 4), 0b1111_0000),
        (Placement("4g.40gb", 0), 0b0000_1111),
        (Placement("7g.80gb", 0), 0b1111_1111),
    ],
    ids=str,
)
def test_mask_has_a_bit_for_each_grid_unit(placement, units):
    assert units == mask(H100_80GB, placement)


def test_mask_of_an_unknown_profile_names_those_that_exist():
    with pytest.raises(InputError, match="no MIG profile 2g"):
        mask(H100_80GB, Placement("2g", 0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7g.80gb@0",
        "4g.40gb@0 3g.40gb@4",
        "3g.40gb@0 3g.40gb@4",
        "2g.20gb@0 2g.20gb@2 2g.20gb@4 1g.10gb@6",
        "2g.20gb@0 2g.20gb@2 2g.20gb@4 1g.20gb@6",
        "1g.10gb+me@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6",
    ],
)
def test_legal_on_an_h100(text):
    assert None is illegality(H100_80GB, layout(text))
    assert is_legal(H100_80GB, frozenset(layout(text)))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("3g.40gb@2", "board h100-80gb: 3g.40gb@2 is not offered, 3g.40gb starts at 0 or 4"),
        ("4g.40gb@4", "board h100-80gb: 4g.40gb@4 is not offered, 4g.40gb starts at 0"),
        ("2g.20gb@6", "board h100-80gb: 2g.20gb@6 is not offered, 2g.20gb starts at 0 or 2 or 4"),
        ("1g.20gb@-1", "board h100-80gb: 1g.20gb@-1 is not offered, 1g.20gb starts at 0 or 2 or 4 or 6"),
        ("4g.40gb@0 3g.40gb@0", "board h100-80gb: 3g.40gb@0 and 4g.40gb@0 overlap"),
        ("1g.10gb@0 7g.80gb@0", "board h100-80gb: 1g.10gb@0 and 7g.80gb@0 overlap"),
        ("2g.20gb@2 1g.10gb@3", "board h100-80gb: 1g.10gb@3 and 2g.20gb@2 overlap"),
        ("1g.10gb@5 1g.10gb@5", "board h100-80gb: 1g.10gb@5 and 1g.10gb@5 overlap"),
        (
            "1g.10gb+me@5 1g.10gb+me@2",
            "board h100-80gb: 1g.10gb+me@2 and 1g.10gb+me@5 both hold the only media extension",
        ),
        (
            "4g@0",
            (
                "board h100-80gb: no MIG profile 4g; "
                "use one of 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"
            ),
        ),
    ],
)
def test_an_illegal_layout_names_the_rule_it_breaks(text, rule):
    assert rule == illegality(H100_80GB, layout(text))
    assert not is_legal(H100_80GB, layout(text))


def test_media_extensions_of_different_profiles_count_together():
    assert "board a30-24gb: 1g.6gb+me@0 and 2g.12gb+me@2 both hold the only media extension" == illegality(
        A30_24GB, layout("2g.12gb+me@2 1g.6gb+me@0")
    )


def test_compute_slices_bound_a_layout_that_fits_the_grid():
    narrow = replace(H100_80GB, compute_slices=5)
    assert is_legal(narrow, layout("3g.40gb@0 2g.20gb@4"))
    assert "board h100-80gb: 6 compute slices held, it has 5" == illegality(
        narrow, layout("3g.40gb@0 3g.40gb@4")
    )


def test_the_reason_does_not_depend_on_the_order_of_the_instances():
    broken = layout("7g.80gb@0 4g.40gb@0 3g.40gb@4 1g.10gb@2")
    assert illegality(H100_80GB, broken) == illegality(H100_80GB, broken[::-1])
