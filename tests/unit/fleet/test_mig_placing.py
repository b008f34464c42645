"""Where the next instance goes, and which layout realises given counts."""

import pytest

from fleet.boards import A30_24GB, H100_80GB, Board, Engines, Profile
from fleet.errors import InputError
from fleet.mig import Placement, free_starts, realise


def layout(text):
    """Read `"1g.10gb@6 3g.40gb@0"`."""
    pairs = (instance.split("@") for instance in text.split())
    return frozenset(Placement(profile, int(start)) for profile, start in pairs)


@pytest.mark.parametrize(
    ("profile", "starts"),
    [
        ("1g.10gb", (6, 5, 4, 3, 2, 1, 0)),
        ("1g.10gb+me", (6, 5, 4, 3, 2, 1, 0)),
        ("1g.20gb", (6, 4, 2, 0)),
        ("2g.20gb", (4, 2, 0)),
        ("3g.40gb", (4, 0)),
        ("4g.40gb", (0,)),
        ("7g.80gb", (0,)),
    ],
)
def test_an_empty_h100_is_filled_from_the_far_end_to_keep_the_only_4g(profile, starts):
    assert starts == free_starts(H100_80GB, frozenset(), profile)


@pytest.mark.parametrize(
    ("held", "profile", "starts"),
    [
        ("7g.80gb@0", "1g.10gb", ()),
        ("4g.40gb@0", "3g.40gb", (4,)),
        ("3g.40gb@4", "4g.40gb", (0,)),
        ("1g.10gb@0", "4g.40gb", ()),
        ("1g.10gb@0 1g.10gb@4", "3g.40gb", ()),
        ("1g.10gb@6", "1g.10gb", (5, 4, 3, 2, 1, 0)),
        ("1g.10gb+me@6", "1g.10gb+me", ()),
        ("1g.10gb+me@6", "1g.10gb", (5, 4, 3, 2, 1, 0)),
        ("2g.20gb@0 2g.20gb@2 2g.20gb@4", "1g.20gb", (6,)),
    ],
)
def test_only_free_starts_are_offered(held, profile, starts):
    assert starts == free_starts(H100_80GB, layout(held), profile)


@pytest.mark.parametrize(
    ("held", "profile", "first"),
    [
        ("1g.10gb@3", "1g.10gb", 2),
        ("1g.10gb@0", "1g.10gb", 1),
        ("1g.10gb@0 2g.20gb@2", "1g.10gb", 1),
        ("1g.10gb@0 1g.10gb@6", "2g.20gb", 4),
        ("2g.20gb@0", "1g.10gb", 3),
    ],
)
def test_the_rest_of_a_broken_slot_is_used_up_before_a_whole_one_is_broken(held, profile, first):
    assert first == free_starts(H100_80GB, layout(held), profile)[0]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (2, 2)),  # (compute slices, memory slices)
        ((1, 3), (2, 2)),
        ((2, 2), (1, 2)),
    ],
    ids=["wider", "wider with less compute", "as wide with more compute"],
)
def test_of_two_slots_the_one_is_kept_whole_that_has_more_memory_and_then_more_compute(left, right):
    end = left[1] + right[1] - 1
    kinds = [("small", (1, 1), (0, end)), ("right", right, (left[1],)), ("left", left, (0,))]
    profiles = tuple(
        Profile(name, compute_slices, memory_slices, starts, 1, 1.0, 0, Engines(0, 0, 0, 0, 0))
        for name, (compute_slices, memory_slices), starts in kinds
    )
    board = Board("two", ("Two",), "None", end + 1, 7, 9, 9.0, profiles, resetless_mig_toggle=True)
    assert (end, 0) == free_starts(board, frozenset(), "small")


def test_a_free_start_of_an_unknown_profile_names_those_that_exist():
    with pytest.raises(InputError, match="no MIG profile 9g; use one of"):
        free_starts(H100_80GB, frozenset(), "9g")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, ""),
        ({"1g.10gb": 0}, ""),
        ({"1g.10gb": 1}, "1g.10gb@6"),
        ({"1g.10gb": 2}, "1g.10gb@4 1g.10gb@5"),  # leaves 6 and 7 for a 1g.20gb; 5 and 6 would not
        ({"1g.10gb": 3, "4g.40gb": 1}, "4g.40gb@0 1g.10gb@4 1g.10gb@5 1g.10gb@6"),
        ({"4g.40gb": 1, "3g.40gb": 1, "7g.80gb": 0}, "4g.40gb@0 3g.40gb@4"),
        ({"1g.10gb": 1, "2g.20gb": 3}, "2g.20gb@0 2g.20gb@2 2g.20gb@4 1g.10gb@6"),
        ({"3g.40gb": 1}, "3g.40gb@4"),
        ({"7g.80gb": 1}, "7g.80gb@0"),
    ],
)
def test_counts_are_realised_so_that_large_slots_stay_whole(counts, expected):
    assert layout(expected) == realise(H100_80GB, counts)


@pytest.mark.parametrize(
    "counts",
    [
        {"1g.10gb": 8},
        {"4g.40gb": 2},
        {"4g.40gb": 1, "2g.20gb": 2},
        {"7g.80gb": 1, "1g.10gb": 1},
        {"1g.10gb+me": 2},
        {"1g.10gb": -1},
        {"1g.10gb": 1, "2g.20gb": -1},
    ],
)
def test_counts_that_do_not_fit_have_no_layout(counts):
    assert None is realise(H100_80GB, counts)


@pytest.mark.parametrize(
    ("keep", "counts", "expected"),
    [
        ("1g.10gb@0", {"1g.10gb": 1}, "1g.10gb@0"),
        ("1g.10gb@0", {"1g.10gb": 2}, "1g.10gb@0 1g.10gb@1"),
        ("1g.10gb@0", {"1g.10gb": 1, "3g.40gb": 1}, "1g.10gb@0 3g.40gb@4"),
        ("1g.10gb@0 1g.10gb@6", {"1g.10gb": 2, "4g.40gb": 1}, "1g.10gb@5 1g.10gb@6 4g.40gb@0"),
        ("1g.10gb@6", {"1g.10gb": 2}, "1g.10gb@5 1g.10gb@6"),
        ("2g.20gb@4", {"3g.40gb": 1, "2g.20gb": 1}, "2g.20gb@4 3g.40gb@0"),
        ("7g.80gb@0", {"3g.40gb": 1, "2g.20gb": 1}, "2g.20gb@2 3g.40gb@4"),
    ],
)
def test_what_is_there_stays_where_it_can(keep, counts, expected):
    assert layout(expected) == realise(H100_80GB, counts, layout(keep))


def test_the_order_in_which_counts_are_given_does_not_matter():
    assert realise(A30_24GB, {"1g.6gb": 2, "2g.12gb": 1}) == realise(A30_24GB, {"2g.12gb": 1, "1g.6gb": 2})


def test_counts_of_an_unknown_profile_name_those_that_exist():
    with pytest.raises(InputError, match="no MIG profile 3g; use one of"):
        realise(H100_80GB, {"1g.10gb": 1, "3g": 1})
