"""Legality of layouts against a brute force that shares nothing with fleet.mig but the tables of a board.

The brute force works on cells: it lists which instance covers each grid unit, and enumerates by walking the
grid from the left, at every unit either leaving it or beginning an instance there.
"""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.boards import BOARDS, Board, Engines, Profile
from fleet.mig import (
    Placement,
    free_starts,
    illegality,
    is_legal,
    mask,
    maximal_layouts,
    placed_layouts,
    realise,
    undominated_counts,
)

NO_ENGINES = Engines(0, 0, 0, 0, 0)


def geometry(name, grid, compute_slices, *kinds):
    """A board of kinds (name, compute slices, memory slices, starts); +me in the name: media extension."""
    profiles = tuple(
        Profile(kind, g, width, tuple(starts), 1, 1.0, 0, NO_ENGINES, media_extension=kind.endswith("+me"))
        for kind, g, width, starts in kinds
    )
    return Board(name, (name,), "none", grid, compute_slices, 100, 100.0, profiles, resetless_mig_toggle=True)


MUTATED = (
    geometry(
        "three units per compute slice",
        12,
        4,
        ("1g", 1, 3, (0, 3, 6, 9)),
        ("1g+me", 1, 3, (0, 3, 6, 9)),
        ("2g", 2, 6, (0, 6)),
        ("4g", 4, 12, (0,)),
    ),
    geometry(
        "2g at odd starts",
        8,
        7,
        ("1g", 1, 1, range(7)),
        ("2g", 2, 2, range(7)),
        ("2g+me", 2, 2, (1, 3)),
        ("3g", 3, 4, (0, 4)),
        ("7g", 7, 8, (0,)),
    ),
    geometry(
        "six units, five compute slices",
        6,
        5,
        ("1g", 1, 1, range(6)),
        ("1g+me", 1, 1, (0, 5)),
        ("2g", 2, 2, (0, 2, 4)),
        ("3g", 3, 3, (0, 3)),
        ("5g", 5, 6, (0,)),
    ),
)
GEOMETRIES = (*(board for board in BOARDS.values() if board.profiles), *MUTATED)
on_every_geometry = pytest.mark.parametrize("board", GEOMETRIES, ids=lambda board: board.id)


def can_coexist(board, instances):
    """Whether (profile, start) pairs may all exist at once, by listing who covers each cell."""
    table = {profile.name: profile for profile in board.profiles}
    if any(name not in table or start not in table[name].starts for name, start in instances):
        return False
    covered = Counter(
        cell for name, start in instances for cell in range(start, start + table[name].memory_slices)
    )
    return (
        all(times == 1 for times in covered.values())
        and sum(table[name].media_extension for name, _ in instances) <= 1
        and sum(table[name].compute_slices for name, _ in instances) <= board.compute_slices
        and (
            board.decoders is None
            or sum(table[name].engines.decoder for name, _ in instances) <= board.decoders
        )
    )


def walk(board, names, cell=0):
    """Yield every way to lay instances side by side from `cell` on, whatever else they need."""
    if cell >= board.grid:
        yield ()
        return
    yield from walk(board, names, cell + 1)
    for profile in board.profiles:
        if profile.name in names and cell in profile.starts:
            for rest in walk(board, names, cell + profile.memory_slices):
                yield ((profile.name, cell), *rest)


def brute_force(board, names=None):
    """Every legal layout but the empty one, as sets of (profile, start)."""
    names = names or [profile.name for profile in board.profiles]
    return {frozenset(row) for row in walk(board, names) if row and can_coexist(board, row)}


def count(row, names):
    """How many instances of each name a layout holds."""
    return tuple(sum(name == held for held, _ in row) for name in names)


def pairs(layouts):
    """Layouts as sets of (profile, start)."""
    return {as_pairs(layout) for layout in layouts}


def as_pairs(layout):
    return frozenset((placement.profile, placement.start) for placement in layout)


def as_layout(row):
    return frozenset(Placement(name, start) for name, start in row)


def candidates(board):
    return [(profile.name, start) for profile in board.profiles for start in profile.starts]


def everyday(board):
    """Names without media extension."""
    return [profile.name for profile in board.profiles if not profile.media_extension]


LEGAL = {board.id: sorted(map(sorted, brute_force(board))) for board in GEOMETRIES}


@st.composite
def boards(draw):
    """Boards of any geometry, small enough for the brute force."""
    grid = draw(st.integers(1, 7))
    kinds = []
    for index in range(draw(st.integers(1, 4))):
        width = draw(st.integers(1, grid))
        starts = sorted(draw(st.sets(st.integers(0, grid - width), min_size=1)))
        name = f"{index}" + draw(st.sampled_from(("", "+me")))
        kinds.append((name, draw(st.integers(0, 4)), width, starts))
    return geometry("drawn", grid, draw(st.integers(1, 7)), *kinds)


@st.composite
def boards_with_instances(draw):
    """A board and any instances that its tables offer, legal together or not."""
    board = draw(st.sampled_from(GEOMETRIES) | boards())
    return board, draw(st.lists(st.sampled_from(candidates(board)), max_size=5, unique=True))


@st.composite
def boards_with_legal_layout(draw):
    """A board and one of its legal layouts, or the empty one."""
    board = draw(st.sampled_from(GEOMETRIES))
    return board, as_layout(draw(st.sampled_from([[], *LEGAL[board.id]])))


@on_every_geometry
@pytest.mark.parametrize("select", [everyday, lambda _: None], ids=["everyday", "all"])
def test_placed_maximal_and_undominated_are_those_of_the_brute_force(board, select):
    names = select(board)
    expected = brute_force(board, names)
    assert expected == pairs(placed_layouts(board, names))
    maximal = {row for row in expected if not any(row < other for other in expected)}
    assert maximal == pairs(maximal_layouts(board, names))

    order = names or [profile.name for profile in board.profiles]
    counts = {count(row, order) for row in expected}
    undominated = {
        mine
        for mine in counts
        if not any(
            mine != other and all(a <= b for a, b in zip(mine, other, strict=True)) for other in counts
        )
    }
    assert undominated == undominated_counts(board, names)


@pytest.mark.parametrize("board", [BOARDS["a30-24gb"], *MUTATED[::2]], ids=lambda board: board.id)
def test_every_subset_of_instances_is_judged_as_by_the_brute_force(board):
    instances = candidates(board)
    for chosen in product((False, True), repeat=len(instances)):
        subset = [instance for instance, is_in in zip(instances, chosen, strict=True) if is_in]
        assert can_coexist(board, subset) == is_legal(board, as_layout(subset)), subset


@given(boards_with_instances())
def test_legality_of_any_instances_is_that_of_the_brute_force(case):
    board, instances = case
    placements = [Placement(name, start) for name, start in instances]
    assert can_coexist(board, instances) == (illegality(board, placements) is None)


@given(boards_with_legal_layout(), st.data())
def test_a_start_that_is_not_offered_is_illegal_beside_anything(case, data):
    board, layout = case
    profile = data.draw(st.sampled_from(board.profiles))
    start = data.draw(st.sampled_from(sorted(set(range(-2, board.grid + 2)) - set(profile.starts))))
    assert f"{profile.name}@{start} is not offered" in illegality(board, [Placement(profile.name, start)])
    assert not is_legal(board, layout | {Placement(profile.name, start)})


@given(boards())
def test_a_board_of_any_geometry_has_the_layouts_of_the_brute_force(board):
    expected = brute_force(board)
    assert expected == pairs(placed_layouts(board))
    maximal = {row for row in expected if not any(row < other for other in expected)}
    assert maximal == pairs(maximal_layouts(board))


@given(boards_with_legal_layout(), st.data())
def test_what_is_left_of_a_legal_layout_is_legal(case, data):
    board, layout = case
    kept = data.draw(st.sets(st.sampled_from(sorted(layout)))) if layout else set()
    assert is_legal(board, kept)


@given(st.sampled_from(GEOMETRIES) | boards(), st.data())
def test_two_instances_on_one_cell_are_never_legal(board, data):
    cells = {
        (profile.name, start): range(start, start + profile.memory_slices)
        for profile in board.profiles
        for start in profile.starts
    }
    first = data.draw(st.sampled_from(list(cells)))
    second = data.draw(st.sampled_from([other for other in cells if set(cells[first]) & set(cells[other])]))
    others = data.draw(st.lists(st.sampled_from(list(cells)), max_size=3))
    assert mask(board, Placement(*first)) & mask(board, Placement(*second))
    assert not is_legal(board, [Placement(*instance) for instance in (first, second, *others)])


@given(boards_with_legal_layout(), st.data())
def test_exactly_the_free_starts_can_be_added(case, data):
    board, layout = case
    profile = data.draw(st.sampled_from(board.profiles))
    free = free_starts(board, layout, profile.name)
    expected = [
        start
        for start in profile.starts
        if (profile.name, start) not in as_pairs(layout)
        and can_coexist(board, [*as_pairs(layout), (profile.name, start)])
    ]
    assert expected == sorted(free)


@given(boards_with_legal_layout(), st.data())
def test_the_first_free_start_leaves_no_fewer_of_the_widest_profile_than_any_other(case, data):
    board, layout = case
    profile = data.draw(st.sampled_from(board.profiles))
    widest = max(board.profiles, key=lambda p: (p.memory_slices, p.compute_slices))

    def whole_slots_left(start):
        return len(free_starts(board, layout | {Placement(profile.name, start)}, widest.name))

    left = [whole_slots_left(start) for start in free_starts(board, layout, profile.name)]
    assert left == sorted(left, reverse=True)


@on_every_geometry
def test_counts_are_realised_exactly_if_the_brute_force_knows_a_layout(board):
    names = everyday(board)
    legal = {count(row, names) for row in brute_force(board, names)}
    one_too_many = [range(max(column) + 2) for column in zip(*legal, strict=True)]
    for counts in product(*one_too_many):
        layout = realise(board, dict(zip(names, counts, strict=True)))
        assert (counts in legal or not any(counts)) == (layout is not None), counts
        assert layout is None or (is_legal(board, layout) and counts == count(as_pairs(layout), names))


@given(boards_with_legal_layout(), st.data())
def test_realised_counts_disturb_as_few_instances_as_possible(case, data):
    board, keep = case
    names = [profile.name for profile in board.profiles]
    wanted = count(data.draw(st.sampled_from(LEGAL[board.id])), names)
    layout = realise(board, dict(zip(names, wanted, strict=True)), keep)
    assert layout is not None
    assert is_legal(board, layout)
    assert wanted == count(as_pairs(layout), names)
    possible = [frozenset(row) for row in LEGAL[board.id] if count(row, names) == wanted]
    assert max(len(row & as_pairs(keep)) for row in possible) == len(layout & keep)


@given(boards_with_legal_layout())
def test_a_layout_that_has_its_counts_already_is_kept_whole(case):
    board, layout = case
    assert layout == realise(board, Counter(placement.profile for placement in layout), layout)
