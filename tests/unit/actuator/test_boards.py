"""Which board a card is, by what is published of it."""

from dataclasses import replace

import pytest

from actuator.objects.boards import Card, Offer, known_board, published_board
from actuator.objects.slices import SliceReader
from fleet.boards import A30_24GB, A100_40GB, A100_80GB, BOARDS, H100_80GB, Engines
from fleet.mig import Placement, is_legal, undominated_counts
from tests.fakes.manifests import h100_slices, observed

GIB = 1 << 30
NONE = Engines(0, 0, 0, 0, 0)


def offers_of(board):
    """What the driver offers on an idle card of this board with dynamic MIG."""
    whole = Offer(
        None,
        frozenset(range(board.grid)),
        int(board.memory_gib * GIB),
        board.sm,
        NONE,
        board.product_names[0],
        "",
    )
    instances = [
        Offer(
            profile.name,
            frozenset(range(start, start + profile.memory_slices)),
            int(profile.memory_gib * GIB),
            profile.sm,
            profile.engines,
            board.product_names[0],
            board.architecture,
        )
        for profile in board.profiles
        for start in profile.starts
    ]
    return (whole, *instances)


def card(board, product=None, offers=None, sm=None):
    offers = offers_of(board) if offers is None else offers
    renamed = tuple(replace(offer, product=product or offer.product) for offer in offers)
    return Card("GPU-0", renamed, board.sm if sm is None else sm, int(board.memory_gib * GIB))


def by_id(board):
    return board.id


@pytest.mark.parametrize("board", BOARDS.values(), ids=by_id)
def test_a_known_board_is_taken_where_what_is_published_agrees(board):
    assert board is known_board(card(board))


def test_a_whole_card_may_be_published_with_the_memory_of_its_largest_instance():
    """As with dynamic MIG; on a GH200 that is 93 of 95.6 GiB."""
    board = BOARDS["h100-96gb-gh200"]
    whole, *instances = offers_of(board)
    smaller = replace(whole, memory=int(93.0 * GIB))

    assert board is known_board(card(board, offers=(smaller, *instances)))
    assert known_board(card(board, offers=(replace(whole, memory=int(90.0 * GIB)), *instances))) is None


@pytest.mark.parametrize("board", BOARDS.values(), ids=by_id)
def test_any_product_name_of_the_board_will_do(board):
    for name in board.product_names:
        assert board is known_board(card(board, name))


def changed(board, of, **fields):
    return tuple(replace(o, **fields) if o.profile == of else o for o in offers_of(board))


@pytest.mark.parametrize(
    "offers",
    [
        changed(H100_80GB, "1g.20gb", sm=16),
        changed(H100_80GB, "3g.40gb", memory=47 * GIB),
        changed(H100_80GB, "2g.20gb", profile="2g.21gb"),
        changed(H100_80GB, "1g.10gb", memory_slices=frozenset({7})),
        changed(H100_80GB, "3g.40gb", memory_slices=frozenset({0, 1, 2})),
        changed(H100_80GB, None, memory=94 * GIB),
        changed(H100_80GB, None, sm=114),
    ],
    ids=["sm", "memory", "name", "start", "width", "card memory", "card sm"],
)
def test_whatever_contradicts_the_table_makes_the_board_unknown(offers):
    assert known_board(card(H100_80GB, offers=offers)) is None


@pytest.mark.parametrize("drift", [-0.24, 0.24])
def test_a_driver_may_keep_a_little_more_or_less_memory_for_itself(drift):
    small = next(o for o in offers_of(H100_80GB) if o.profile == "1g.10gb")
    offers = changed(H100_80GB, "1g.10gb", memory=small.memory + int(drift * GIB))

    assert H100_80GB is known_board(card(H100_80GB, offers=offers))


def test_a_whole_card_that_says_nothing_of_multiprocessors_may_be_known():
    """Without dynamic MIG the driver publishes memory only."""
    whole = replace(offers_of(A100_80GB)[0], sm=0, memory_slices=frozenset())

    assert A100_80GB is known_board(card(A100_80GB, offers=(whole,)))


def test_an_unknown_product_is_unknown():
    assert known_board(card(H100_80GB, "NVIDIA B200")) is None


def profiles_of(board):
    return {(p.name, p.memory_slices, p.starts, p.sm, p.media_extension) for p in board.profiles}


@pytest.mark.parametrize("board", [A30_24GB, A100_40GB, A100_80GB, H100_80GB], ids=by_id)
def test_a_board_read_from_its_devices_has_the_geometry_of_the_table(board):
    read = published_board([card(board, "NVIDIA Future 1")])

    assert ("nvidia-future-1", ("NVIDIA Future 1",)) == (read.id, read.product_names)
    assert profiles_of(board) == profiles_of(read)
    assert (board.grid, board.sm) == (read.grid, read.sm)
    assert board.memory_gib == pytest.approx(read.memory_gib)


@pytest.mark.parametrize("board", [A100_80GB, H100_80GB], ids=by_id)
def test_a_board_read_from_its_devices_can_be_cut_as_the_one_in_the_table(board):
    """Compute is counted in multiprocessors there and in slices here; what fits is the same."""
    read = published_board([card(board, "NVIDIA Future 1")])
    names = [profile.name for profile in board.profiles]

    assert undominated_counts(board, names) == undominated_counts(read, names)


def test_two_media_extensions_do_not_fit_on_a_board_read_from_its_devices():
    read = published_board([card(H100_80GB, "NVIDIA Future 1")])

    assert not is_legal(read, [Placement("1g.10gb+me", 0), Placement("1g.10gb+me", 1)])
    assert is_legal(read, [Placement("1g.10gb+me", 0), Placement("1g.10gb", 1)])


def test_profiles_come_smallest_first():
    read = published_board([card(H100_80GB, "NVIDIA Future 1")])

    sizes = [(profile.memory_slices, profile.sm) for profile in read.profiles]
    assert sorted(sizes) == sizes


def test_a_static_layout_shows_what_it_is_cut_into_and_no_more():
    [_, one, two, *_] = (o for o in offers_of(H100_80GB) if o.profile in {None, "3g.40gb"})
    static = Card("GPU-0", tuple(replace(o, product="NVIDIA Future 1") for o in (one, two)), 0, 0)

    read = published_board([static])

    assert (120, 79.0) == (read.sm, read.memory_gib)
    assert [("3g.40gb", (0, 4))] == [(profile.name, profile.starts) for profile in read.profiles]
    assert not read.resetless_mig_toggle


def test_cards_of_one_product_make_one_board_of_all_that_they_show():
    small, *_ = (o for o in offers_of(H100_80GB) if o.profile == "1g.10gb")
    large, *_ = (o for o in offers_of(H100_80GB) if o.profile == "4g.40gb")
    cards = [Card(f"GPU-{i}", (replace(o, product="X"),), 0, 0) for i, o in enumerate((small, large))]

    read = published_board(cards)

    assert ["1g.10gb", "4g.40gb"] == [profile.name for profile in read.profiles]
    assert 64 == read.sm


def test_a_whole_card_of_an_unknown_product_has_no_profiles():
    whole = Card("GPU-0", (replace(offers_of(H100_80GB)[0], product="X", memory_slices=frozenset()),), 0, 0)

    read = published_board([whole])

    assert ((), 132) == (read.profiles, read.sm)


def test_only_a_card_on_offer_both_whole_and_cut_switches_without_a_reset():
    assert published_board([card(H100_80GB, "X")]).resetless_mig_toggle
    assert not published_board([card(A100_80GB, "X", offers_of(A100_80GB)[1:])]).resetless_mig_toggle


def renamed(slices, product):
    for body in slices:
        for device in body["spec"].get("devices") or []:
            device["attributes"]["productName"]["string"] = product
    return slices


def test_an_unknown_card_is_read_from_its_slices():
    [gpu] = SliceReader().read(renamed(h100_slices(), "NVIDIA Future 1")).gpus

    assert "nvidia-future-1" == gpu.board.id
    assert profiles_of(H100_80GB) == profiles_of(gpu.board)
    assert 132 == gpu.board.compute_slices


def test_an_unknown_card_without_its_whole_is_as_large_as_its_counters():
    slices = renamed(observed("slices-a100-dynamic-mig-mode-on"), "NVIDIA Future 1")

    [gpu] = SliceReader().read(slices).gpus

    assert (98, 79.0) == (gpu.board.sm, gpu.board.memory_gib)


def test_unknown_cards_of_one_product_on_many_nodes_are_one_board():
    slices = renamed([*h100_slices("a"), *h100_slices("b", gpus=2)], "NVIDIA Future 1")

    gpus = SliceReader().read(slices).gpus

    assert 3 == len(gpus)
    assert 1 == len({gpu.board for gpu in gpus})
