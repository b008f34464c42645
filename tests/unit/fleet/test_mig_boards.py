"""The boards as data, and what a malformed one is told."""

from dataclasses import replace

import pytest

from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB, Board, Engines, Profile
from fleet.errors import InputError


def small_board(*profiles):
    return Board("small", ("Small",), "None", 4, 4, 40, 16.0, profiles, resetless_mig_toggle=True)


def profile(name="half", compute_slices=2, memory_slices=2, starts=(0, 2)):
    return Profile(name, compute_slices, memory_slices, starts, 20, 8.0, 5, Engines(1, 0, 0, 0, 0))


def test_boards_are_found_by_id():
    assert all(key == board.id for key, board in BOARDS.items())
    assert [A30_24GB, A100_40GB, A100_80GB, H100_80GB] == [
        BOARDS[key] for key in ("a30-24gb", "a100-40gb", "a100-80gb", "h100-80gb")
    ]


def test_a_product_is_one_board():
    products = [name for board in BOARDS.values() for name in board.product_names]
    assert len(set(products)) == len(products)


@pytest.mark.parametrize(
    ("key", "sm", "memory_gib"),
    [
        ("h100-80gb-pcie", [14, 14, 14, 30, 46, 62, 114], [9.75, 9.75, 19.625, 19.625, 39.5, 39.5, 79.25]),
        ("h100-94gb", [16, 16, 26, 32, 60, 64, 132], [10.625, 10.625, 21.5, 21.5, 46.125, 46.125, 92.625]),
        ("h100-96gb-gh200", [16, 16, 26, 32, 60, 64, 132], [11.0, 11.0, 23.0, 23.0, 46.5, 46.5, 93.0]),
        ("h200-141gb", [16, 16, 26, 32, 60, 64, 132], [16.0, 16.0, 32.25, 32.25, 69.5, 69.5, 139.75]),
        ("b200-180gb", [18, 18, 30, 36, 54, 72, 148], [22.0, 22.0, 44.25, 44.25, 88.5, 88.5, 177.0]),
        ("gb200-186gb", [18, 18, 32, 38, 54, 72, 152], [22.0, 22.0, 45.5, 45.5, 91.0, 91.0, 182.0]),
    ],
)
def test_multiprocessors_and_memory_of_the_newer_boards(key, sm, memory_gib):
    assert sm == [held.sm for held in BOARDS[key].profiles]
    assert memory_gib == [held.memory_gib for held in BOARDS[key].profiles]


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("h100-94gb", "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"),
        ("h20-96gb", "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
        ("gh200-144gb", "1g.18gb 1g.18gb+me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb"),
        ("b300-269gb", "1g.34gb 1g.34gb+me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"),
        ("gb300-278gb", "1g.35gb 1g.35gb+me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"),
        ("a100-96gb-pg506", "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    ],
)
def test_profiles_are_named_as_the_device_prints_them(key, names):
    assert names.split() == [held.name for held in BOARDS[key].profiles]


def test_what_no_real_card_was_seen_to_print_is_marked():
    inferred = {b.id: [p.name for p in b.profiles if p.is_inferred] for b in BOARDS.values() if b.profiles}
    assert [] == inferred["h100-80gb"] == inferred["h200-141gb"] == inferred["rtx-pro-6000-96gb"]
    assert ["3g.90gb", "4g.90gb", "7g.180gb"] == inferred["b200-180gb"]
    assert all(len(inferred[key]) == 7 for key in ("h20-96gb", "b300-269gb", "gb300-278gb", "h100-80gb-pcie"))


@pytest.mark.parametrize("board", [b for b in BOARDS.values() if b.grid == 8], ids=lambda board: board.id)
def test_a_larger_slice_holds_at_least_as_much_as_the_small_ones_it_replaces(board):
    """What inferred rows rest on, seen on every board that was printed."""
    one, _, double, two, three, four, seven = board.profiles
    assert two.sm >= 2 * one.sm
    assert three.sm >= 3 * one.sm
    assert four.sm >= 4 * one.sm
    assert seven.sm >= 7 * one.sm
    assert three.memory_gib == four.memory_gib >= 2 * double.memory_gib
    assert seven.memory_gib >= 2 * four.memory_gib


@pytest.mark.parametrize(
    ("key", "sm", "gib"),
    [
        ("l4-24gb", 58, 22.5),
        ("l40s-48gb", 142, 45.0),
        ("t4-16gb", 40, 15.0),
        ("a10-24gb", 72, 22.5),
        ("v100-32gb", 80, 32.0),
    ],
)
def test_boards_without_mig_are_whole_cards(key, sm, gib):
    board = BOARDS[key]
    assert () == board.profiles
    assert sm == board.sm
    assert gib == pytest.approx(board.memory_gib, abs=0.02)


@pytest.mark.parametrize(
    ("board", "sm", "memory_gib"),
    [
        (A30_24GB, [14, 14, 28, 28, 56], [5.8125, 5.8125, 11.6875, 11.6875, 23.5]),
        (A100_40GB, [14, 14, 14, 28, 42, 56, 98], [4.75, 4.75, 9.625, 9.625, 19.5, 19.5, 39.25]),
        (A100_80GB, [14, 14, 14, 28, 42, 56, 98], [9.5, 9.5, 19.5, 19.5, 39.25, 39.25, 79.0]),
        (H100_80GB, [16, 16, 26, 32, 60, 64, 132], [9.75, 9.75, 19.625, 19.625, 39.5, 39.5, 79.25]),
    ],
    ids=["a30-24gb", "a100-40gb", "a100-80gb", "h100-80gb"],
)
def test_multiprocessors_and_memory_are_what_the_driver_prints(board, sm, memory_gib):
    assert sm == [profile.sm for profile in board.profiles]
    assert memory_gib == [profile.memory_gib for profile in board.profiles]


@pytest.mark.parametrize(
    ("board", "ids"),
    [
        (A30_24GB, [14, 21, 5, 6, 0]),
        (A100_40GB, [19, 20, 15, 14, 9, 5, 0]),
        (A100_80GB, [19, 20, 15, 14, 9, 5, 0]),
        (H100_80GB, [19, 20, 15, 14, 9, 5, 0]),
    ],
    ids=["a30-24gb", "a100-40gb", "a100-80gb", "h100-80gb"],
)
def test_profile_ids_are_those_of_nvidia_smi(board, ids):
    assert ids == [profile.gi_profile_id for profile in board.profiles]


@pytest.mark.parametrize("board", [b for b in BOARDS.values() if b.grid == 8], ids=lambda board: board.id)
def test_boards_eight_wide_share_one_geometry(board):
    assert [
        (1, 1, (0, 1, 2, 3, 4, 5, 6), False),
        (1, 1, (0, 1, 2, 3, 4, 5, 6), True),
        (1, 2, (0, 2, 4, 6), False),
        (2, 2, (0, 2, 4), False),
        (3, 4, (0, 4), False),
        (4, 4, (0,), False),
        (7, 8, (0,), False),
    ] == [(p.compute_slices, p.memory_slices, p.starts, p.media_extension) for p in board.profiles]


def test_boards_since_hopper_switch_mig_mode_without_a_reset():
    before = {"Ampere", "Ampere (GA102)", "Ada Lovelace", "Turing", "Volta"}
    assert {b.id for b in BOARDS.values() if b.architecture not in before} == {
        b.id for b in BOARDS.values() if b.resetless_mig_toggle
    }


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_no_instance_holds_more_than_its_board(board):
    for held in board.profiles:
        assert held.sm <= board.sm
        assert held.memory_gib <= board.memory_gib
        assert held.compute_slices <= board.compute_slices


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_the_whole_board_and_the_media_extension_profiles_decode_images(board):
    largest = max((held.memory_slices for held in board.profiles), default=0)
    assert {p.name for p in board.profiles if p.media_extension or p.memory_slices == largest} == {
        p.name for p in board.profiles if p.engines.ofa
    }


def test_a_profile_is_found_by_name():
    assert 60 == H100_80GB.profile("3g.40gb").sm


def test_an_unknown_profile_is_answered_with_those_that_exist():
    with pytest.raises(InputError) as caught:
        A30_24GB.profile("3g.20gb")
    assert (
        "board a30-24gb: no MIG profile 3g.20gb; use one of 1g.6gb, 1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb"
    ) == str(caught.value)


def test_a_board_read_again_is_the_same_board():
    again = replace(H100_80GB)
    assert again is not H100_80GB
    assert {H100_80GB: 1} == {again: 1}


def test_boards_of_one_id_with_other_geometry_differ():
    assert H100_80GB != replace(H100_80GB, compute_slices=8)


@pytest.mark.parametrize(
    ("profiles", "problem"),
    [
        ([profile(), profile()], "profile half is given twice"),
        ([profile(starts=(0, 3))], "profile half may start outside 0..2"),
        ([profile(starts=(-1,))], "profile half may start outside 0..2"),
        ([profile(memory_slices=0)], "profile half covers no memory slice or a negative compute slice"),
        ([profile(compute_slices=-1)], "profile half covers no memory slice or a negative compute slice"),
    ],
)
def test_geometry_that_cannot_be_is_refused(profiles, problem):
    with pytest.raises(InputError) as caught:
        small_board(*profiles)
    assert f"board small: {problem}; correct the geometry" == str(caught.value)


def test_profiles_need_no_particular_name_and_may_take_no_compute_slice():
    board = small_board(profile("blue", compute_slices=0), profile("whole", 4, 4, (0,)))
    assert ["blue", "whole"] == [held.name for held in board.profiles]
