"""One workload's change by stored prices, and the room that it searches."""

from dataclasses import replace

import numpy as np
import pytest

from allocator.market import Market
from allocator.packing.cards import Card, Seat, fragmentation, layout_of
from allocator.packing.fastpath import Adjustment, Stand, adjust
from allocator.packing.pack import pack
from allocator.packing.room import StockRoom, mix_of
from fleet.boards import H100_80GB
from fleet.host import Host, HostAmount
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.shape import Configuration, share_of
from fleet.workload import Router
from tests.builders.fleet import key, shape
from tests.builders.packing import ask, problem, stock

WORKS = {"1g.10gb": 0.1, "2g.20gb": 0.25, "3g.40gb": 0.45, "whole": 1.0}
MIX = (("1g.10gb", 0.5), ("3g.40gb", 0.5))
SHARED = stock(shares=(25, 50))


def card(name, seats="", tenant="other", one=None):
    """A card by name with seats such as `"3g.40gb@4 1g.10gb@0"`, all of one tenant."""
    pairs = (each.split("@") for each in seats.split())
    held = {Seat(shape(profile), int(start)): key(tenant) for profile, start in pairs}
    return Card(name, 0, held | (one or {}))


def shares(name, *sizes, tenant="other"):
    """A card shared in hundredths."""
    return Card(name, 0, {Seat(share_of(H100_80GB, n), at): key(tenant) for at, n in enumerate(sizes)})


def prices_of(one):
    return pack(one).worth.piece


PRICES = prices_of(
    problem(ask("a", 0.4, WORKS), ask("b", 0.9, WORKS), ask("c", 0.1, WORKS), stocks=(SHARED,))
)


def piece(name):
    return next(p for p in SHARED.pieces if p.profile == name)


def take(cards, *names):
    room = StockRoom(SHARED, cards, MIX)
    return [(uuid, str(seat), new) for uuid, seat, new in (room.take(piece(name)) for name in names)]


@pytest.mark.parametrize(
    ("cards", "name", "expected"),
    [
        ([card("a")], "1g.10gb", ("a", "1g.10gb@6", True)),
        ([card("b"), card("a")], "1g.10gb", ("a", "1g.10gb@6", True)),
        ([card("a"), card("b", "3g.40gb@4")], "1g.10gb", ("b", "1g.10gb@3", False)),
        ([card("a"), card("b", "3g.40gb@4")], "3g.40gb", ("b", "3g.40gb@0", False)),
        ([card("a", "3g.40gb@4"), card("b", "3g.40gb@4 1g.10gb@0")], "1g.10gb", ("b", "1g.10gb@1", False)),
        ([card("a"), card("b", "7g.80gb@0")], "1g.10gb", ("a", "1g.10gb@6", True)),
        ([card("a", "1g.10gb@0"), card("b")], "whole", ("b", "whole@0", True)),
        ([card("a"), shares("b", 50)], "50/100", ("b", "50/100@1", False)),
        ([card("a"), shares("b", 50), shares("c", 50, 25)], "25/100", ("c", "25/100@0", False)),
        ([card("a"), shares("b", 50, 50)], "25/100", ("a", "25/100@0", True)),
        ([card("a", "1g.10gb@0"), shares("b", 25)], "25/100", ("b", "25/100@1", False)),
    ],
)
def test_a_piece_goes_where_the_next_workloads_lose_least_and_one_mechanism_to_a_card(cards, name, expected):
    got = take(cards, name)
    uuid, seat, new = got[0]
    assert expected == (uuid, seat, new)


def test_room_that_is_taken_is_gone():
    cards = [card("a", "3g.40gb@4"), card("b")]
    got = take(cards, "3g.40gb", "3g.40gb", "3g.40gb")
    assert ["a", "b", "b"] == [uuid for uuid, *_ in got]
    assert [False, True, False] == [new for *_, new in got]


@pytest.mark.parametrize("name", ["1g.10gb", "whole", "25/100"])
def test_where_there_is_no_room_nothing_is_taken(name):
    assert StockRoom(SHARED, [card("a", "7g.80gb@0")], MIX).take(piece(name)) is None
    assert StockRoom(SHARED, [Card("a", 0, {Seat(shape("whole")): key("x")})], MIX).take(piece(name)) is None


def test_cards_that_must_be_joined_are_not_taken_one_by_one():
    joined = stock(spans=(2,))
    assert StockRoom(joined, [card("a"), card("b")], MIX).take(joined.pieces[1]) is None


def test_a_fork_leaves_the_original_as_it_is():
    room = StockRoom(SHARED, [card("a"), card("b")], MIX)
    twin = room.fork()
    assert [("a", True), ("b", True)] == [
        (u, n) for u, _, n in (twin.take(piece("whole")), twin.take(piece("whole")))
    ]
    assert twin.take(piece("whole")) is None
    assert "a" == room.take(piece("whole"))[0]


def test_a_share_in_a_fork_leaves_the_original_as_it_is():
    room = StockRoom(SHARED, [shares("a", 50)], MIX)
    assert room.fork().take(piece("50/100")) is not None
    assert room.take(piece("50/100")) is not None
    assert room.take(piece("25/100")) is None


@pytest.mark.parametrize(("name", "expected"), [("25/100", "b"), ("50/100", "c")])
def test_a_time_slice_goes_beside_those_of_its_size(name, expected):
    sliced = stock(slices=(25, 50))
    room = StockRoom(sliced, [shares("a", 50, 50), shares("b", 25, 25), shares("c", 50)], MIX)
    uuid, seat, new = room.take(next(p for p in sliced.pieces if p.profile == name))
    assert (expected, name, False) == (uuid, seat.shape.profile, new)


def test_time_slices_of_another_size_are_no_room():
    sliced = stock(slices=(25, 50))
    assert StockRoom(sliced, [shares("a", 50)], MIX).take(sliced.pieces[-2]) is None


def test_a_share_takes_no_seat_that_is_taken_where_one_before_it_was_left():
    held = {Seat(share_of(H100_80GB, 25), 1): key("other")}
    room = StockRoom(SHARED, [Card("a", 0, held)], MIX)
    assert [0, 2, 3] == [room.take(piece("25/100"))[1].start for _ in range(3)]


def test_the_mix_is_what_is_in_use():
    cards = [
        card("a", "3g.40gb@4 1g.10gb@0 1g.10gb@1"),
        shares("b", 50),
        Card("c", 1, card("c", "2g.20gb@0").seats),
    ]
    assert (("1g.10gb", 2 / 3), ("3g.40gb", 1 / 3)) == mix_of(cards, 0)
    assert () == mix_of([card("a")], 0)


@pytest.mark.parametrize(
    ("seats", "expected"),
    [("", 0.0), ("3g.40gb@4", 0.0), ("1g.10gb@4", 0.0), ("1g.10gb@0 1g.10gb@4", 3.0), ("7g.80gb@0", 0.0)],
)
def test_fragmentation_is_what_is_left_times_the_chance_that_it_is_of_no_use(seats, expected):
    assert expected == pytest.approx(fragmentation(H100_80GB, layout_of(card("a", seats).seats), MIX))


def team(limit):
    """What a queue with only a limit lets workload a have."""
    queue = Queue("team", quota=UNLIMITED, limit=limit)
    return Market(queues={"team": queue}, queue_of={key("a"): "team"}).teams(())


def ask_now(work, now=None, works=None, router=Router.EQUAL, **more):
    one = ask("a", work, WORKS if works is None else works, router, **more)
    return replace(one, now={"": Configuration({shape(p): n for p, n in (now or {}).items()})})


def test_a_new_workload_takes_the_cheapest_configuration_in_room_that_is_there():
    cards = (card("used", "3g.40gb@4"), card("free"))
    got = adjust((SHARED,), ask_now(0.4), PRICES, Stand(cards))
    assert [("used", "3g.40gb@0")] == [(uuid, str(seat)) for uuid, seat in got.takes]
    assert ((), 0) == (got.leaves, got.opened)
    assert 0.5 == pytest.approx(got.price)


def test_what_still_carries_stays_as_it_is():
    cards = (card("one", "3g.40gb@4", tenant="a"), card("free"))
    got = adjust((SHARED,), ask_now(0.4, {"3g.40gb": 1}), PRICES, Stand(cards))
    assert ((), (), 0) == (got.takes, got.leaves, got.opened)


def test_what_outgrows_its_seat_gives_it_back():
    cards = (card("one", "3g.40gb@4", tenant="a"), card("free"))
    got = adjust((SHARED,), ask_now(0.9, {"3g.40gb": 1}), PRICES, Stand(cards))
    after = Stand(cards).after(ask_now(0.9), got)
    assert [{}, {Seat(shape("whole"), 0): key("a")}] == [each.held for each in after.cards]


def test_what_shrinks_gives_back_the_seat_on_the_emptiest_card():
    cards = (
        card("full", "3g.40gb@4", one={Seat(shape("3g.40gb"), 0): key("a")}),
        card("lone", "3g.40gb@4", tenant="a"),
    )
    got = adjust((SHARED,), ask_now(0.4, {"3g.40gb": 2}), PRICES, Stand(cards))
    assert [("lone", "3g.40gb@4")] == [(uuid, str(seat)) for uuid, seat in got.leaves]
    assert ((), -1) == (got.takes, got.opened)


def test_a_lonely_replica_moves_beside_others_where_that_frees_a_card():
    cards = (card("others", "3g.40gb@4"), card("lone", "3g.40gb@4", tenant="a"))
    got = adjust((SHARED,), ask_now(0.45, {"3g.40gb": 1}), PRICES, Stand(cards))
    assert ([("others", "3g.40gb@0")], -1) == ([(uuid, str(seat)) for uuid, seat in got.takes], got.opened)
    assert [("lone", "3g.40gb@4")] == [(uuid, str(seat)) for uuid, seat in got.leaves]


def test_without_room_for_any_configuration_there_is_no_change():
    assert adjust((SHARED,), ask_now(0.4), PRICES, Stand((card("full", "7g.80gb@0"),))) is None


def test_shares_are_changed_by_the_same_rules():
    works = {25: 0.2, 50: 0.45}
    cards = (shares("used", 50), card("free"))
    got = adjust((SHARED,), ask_now(0.4, works=works), PRICES, Stand(cards))
    assert [("used", "50/100@1")] == [(uuid, str(seat)) for uuid, seat in got.takes]


def test_what_is_through_leaves_other_cards_alone_and_gives_each_seat_one_tenant():
    cards = (card("used", "3g.40gb@4"), card("other", "1g.10gb@6"))
    got = adjust((SHARED,), ask_now(0.4), PRICES, Stand(cards))
    used, other = Stand(cards).after(ask_now(0.4), got).cards
    assert cards[1] == other
    assert {Seat(shape("3g.40gb"), 4): key("other"), Seat(shape("3g.40gb"), 0): key("a")} == used.held


def test_a_piece_that_nobody_takes_is_worth_what_it_would_take_from_others():
    worth = pack(problem(ask("a", 0.4, {"3g.40gb": 0.45}), ask("b", 0.4, {"3g.40gb": 0.45}))).worth
    by_shape = dict(zip((p.profile for p in stock().pieces), worth.piece.tolist(), strict=True))
    assert 1.0 == pytest.approx(by_shape["whole"])
    assert 0.5 == pytest.approx(by_shape["3g.40gb"])
    assert 0 < by_shape["1g.10gb"]
    cuts = np.array(stock().cuts)
    assert (cuts @ worth.piece <= 1 + 1e-9).all()


@pytest.mark.parametrize(
    ("cores", "cards"),
    [
        ({}, ["a0", "a0"]),
        ({"a": 1, "b": 0, "c": 1}, ["a0", "c0"]),
        ({"a": 0, "b": 0, "c": 2}, ["c0", "c0"]),
        ({"a": 1, "b": 0, "c": 0}, None),
    ],
)
def test_new_replicas_go_where_nodes_have_a_core_for_each(cores, cards):
    """All cards are empty: without a bound the first is taken, and both halves of it."""
    asked = ask("new", 0.9, {"3g.40gb": 0.45}, host=HostAmount(cpu_m=1000))
    on = tuple(Card(f"{node}0", 0, {}, node) for node in "abc")
    hosts = {node: Host("", HostAmount(cpu_m=1000 * n)) for node, n in cores.items()}
    found = adjust((SHARED,), asked, PRICES, Stand(on, hosts))
    assert cards == (None if found is None else [uuid for uuid, _ in found.takes])
    assert found is None or len(set(found.takes)) == len(cards)


@pytest.mark.parametrize(
    ("limit", "work", "works", "takes"),
    [
        (UNLIMITED, 0.45, WORKS, ["3g.40gb@4"]),
        (3.0, 0.45, WORKS, ["3g.40gb@4"]),
        (2.9, 0.45, WORKS, None),
        (1.01, 0.9, {50: 0.45}, ["50/100@0", "50/100@1"]),
        (1.0, 0.9, {50: 0.45}, None),
    ],
)
def test_nothing_is_started_that_the_queue_refuses(limit, work, works, takes):
    """An instance 3g counts as three cards; of a queue that takes shares a hundredth is left free."""
    stand = Stand((card("a"), card("b")), teams=team(limit))
    found = adjust((SHARED,), ask_now(work, works=works), PRICES, stand)
    assert takes == (None if found is None else [str(seat) for _, seat in found.takes])


def test_what_is_through_is_taken_of_nodes_and_queues_and_what_is_left_is_given_back():
    asked = ask_now(0.9, host=HostAmount(cpu_m=1000))
    half, whole = Seat(shape("3g.40gb"), 4), Seat(shape("whole"))
    there = Card("a0", 0, {half: key("a")}, "a"), Card("b0", 0, {}, "b"), Card("c0", 0, {}, "c")
    hosts = {node: Host("", HostAmount(cpu_m=3000)) for node in "ab"}
    change = Adjustment((("b0", whole), ("c0", whole)), (("a0", half),), 1, 2.0)

    after = Stand(there, hosts, team(9.0).bind(key("a"), half.shape, 1)).after(asked, change)

    assert {"a": 4000, "b": 2000} == {node: host.free.cpu_m for node, host in after.hosts.items()}
    assert 2.0 == after.teams.queues.by_name["team"].allocated
    assert [{}, {whole: key("a")}, {whole: key("a")}] == [one.held for one in after.cards]


@pytest.mark.parametrize(("mixes", "card_taken"), [({}, "b"), ({0: (("3g.40gb", 1.0),)}, "a")])
def test_room_is_kept_for_what_is_expected_and_not_for_what_is_there(mixes, card_taken):
    """Small slices alone are in use, and none is lost by the fuller card; there a 3g has room still."""
    cards = card("a", "1g.10gb@0 1g.10gb@1"), card("b", "1g.10gb@4 1g.10gb@5 1g.10gb@6")
    found = adjust((SHARED,), ask_now(0.1, works={"1g.10gb": 0.1}), PRICES, Stand(cards, mixes=mixes))
    assert [card_taken] == [uuid for uuid, _ in found.takes]


@pytest.mark.parametrize(("limit", "opened"), [(4.0, 1), (3.9, None)])
def test_pieces_of_two_kinds_count_together_in_a_queue(limit, opened):
    """One card is whole, beside one half that is left: a card and an instance 3g, which counts as three."""
    asked = ask_now(1.4, works={"3g.40gb": 0.45, "whole": 1.0}, router=Router.LEAST_LOADED)
    found = adjust((SHARED,), asked, PRICES, Stand((card("a"), card("b", "3g.40gb@4")), teams=team(limit)))
    assert opened == (None if found is None else found.opened)


def test_every_card_that_is_taken_into_use_is_counted():
    found = adjust((SHARED,), ask_now(2.0, works={"whole": 1.0}), PRICES, Stand((card("a"), card("b"))))
    assert 2 == found.opened
