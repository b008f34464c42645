"""The order in which one placement becomes another."""

from collections import Counter
from dataclasses import replace

import pytest

from allocator.packing.cards import Card, Seat
from allocator.packing.fastpath import Stand, adjust
from allocator.packing.pack import pack
from allocator.packing.placement import place
from allocator.packing.pricing import prices_to
from allocator.packing.standing import standing_on
from allocator.packing.transition import transition
from fleet.errors import InputError
from fleet.host import Host, HostAmount
from fleet.shape import Shape
from fleet.workload import Router
from tests.builders.fleet import BOARD, key, shape
from tests.builders.packing import ask, problem, stock

BIG, SMALL = Seat(shape("3g.40gb"), 4), Seat(shape("1g.10gb"), 0)
OTHER = Seat(shape("3g.40gb"), 0)
WORKS = {"3g.40gb": 1.0, "1g.10gb": 0.3}


def cards(**seats):
    """Cards by name with tenants by seat."""
    return tuple(
        Card(name, 0, {seat: tenant and key(tenant) for seat, tenant in held.items()})
        for name, held in seats.items()
    )


def moves(before, after, *asks):
    way = transition(before, after, asks)
    return [
        f"{m.act} {m.card} {m.seat or ''} {m.workload.name if m.workload else ''}".split() for m in way.moves
    ], way


def test_nothing_to_do_is_no_move():
    one = cards(a={BIG: "x"})
    assert ([], ()) == (moves(one, one, ask("x", 1.0, WORKS))[0], moves(one, one)[1].stuck)


def test_the_new_replica_starts_before_the_old_one_stops():
    before, after = cards(a={BIG: "x"}, b={BIG: None}), cards(a={BIG: None}, b={BIG: "x"})
    assert [["start", "b", "3g.40gb@4", "x"], ["stop", "a", "3g.40gb@4", "x"]] == moves(
        before, after, ask("x", 1.0, WORKS)
    )[0]


def test_a_card_is_cut_only_once_the_seats_that_go_are_empty():
    before = cards(a={BIG: "x"}, b={BIG: None})
    after = cards(a={SMALL: "y"}, b={BIG: "x"})
    got, way = moves(before, after, ask("x", 1.0, WORKS), ask("y", 0.3, WORKS))
    assert ["start b", "stop a", "cut a", "start a"] == [" ".join(one[:2]) for one in got]
    assert () == way.stuck


def test_room_beside_who_stays_is_cut_at_once():
    before, after = cards(a={BIG: "x"}), cards(a={BIG: "x", SMALL: "y"})
    got, _ = moves(before, after, ask("x", 1.0, WORKS), ask("y", 0.3, WORKS))
    assert [["cut", "a"], ["start", "a", "1g.10gb@0", "y"]] == got


def swap():
    """Two workloads that want each other's seats."""
    before = {"a": {BIG: "x"}, "b": {BIG: "y"}}
    after = {"a": {BIG: "y"}, "b": {BIG: "x"}}
    return before, after, (ask("x", 1.0, WORKS), ask("y", 1.0, WORKS))


@pytest.mark.parametrize("spare", [{OTHER: None}, {}], ids=["a free seat", "an unused card"])
def test_a_circle_is_broken_over_room_that_nobody_needs(spare):
    before, after, asks = swap()
    way = transition(cards(**before, c=spare), cards(**after, c=spare), asks)
    assert () == way.stuck
    assert 1 == sum(move.is_detour for move in way.moves)
    assert Counter({"start": 3, "stop": 3}) == Counter(m.act.value for m in way.moves if m.act.value != "cut")


def test_a_circle_without_spare_room_is_named_with_what_is_missing():
    before, after, asks = swap()
    way = transition(cards(**before), cards(**after), asks)
    assert () == way.moves
    assert ["serving/x: 1 x h100-80gb:3g.40gb of spare room is missing to move to card b"] == [*way.stuck][:1]
    assert 2 == len(way.stuck)


def test_behind_equal_shares_a_smaller_replica_is_not_started_where_it_would_hold_the_others_back():
    works = {"3g.40gb": 1.0, "1g.10gb": 0.3}
    before = cards(a={BIG: "x"}, b={SMALL: None})
    after = cards(a={BIG: "x"}, b={SMALL: "x"})
    way = transition(before, after, (ask("x", 1.0, works, Router.EQUAL),))
    assert () == way.moves
    assert (
        "serving/x: a smaller replica would set the pace; a least-loaded router would allow it",
    ) == way.stuck


def test_what_was_short_before_may_not_get_shorter():
    before, after = cards(a={BIG: "x"}), cards(a={BIG: None})
    way = transition(before, after, (ask("x", 5.0, WORKS),))
    assert ("serving/x: 1 x h100-80gb:3g.40gb on card a is needed until others run",) == way.stuck


def test_a_tenant_that_nobody_asks_about_just_leaves():
    before, after = cards(a={BIG: "x"}), cards(a={BIG: None})
    assert [["stop", "a", "3g.40gb@4", "x"]] == moves(before, after)[0]


def placed(*asks, on, **more):
    return place(pack(problem(*asks, **more)), on)


def test_replicas_keep_their_seats_and_the_new_one_takes_the_free_one():
    on = cards(a={BIG: "x", OTHER: None}, b={})
    first, second = placed(ask("x", 1.0, {"3g.40gb": 1.0}), ask("y", 1.0, {"3g.40gb": 1.0}), on=on)
    assert key("x") == first.seats[BIG]
    assert key("y") == first.seats[OTHER]
    assert not second.is_used


def test_too_few_cards_are_named():
    with pytest.raises(InputError, match="1 more cards are needed"):
        placed(ask("x", 2.0, {"whole": 1.0}), on=(Card("a", 0, {}),))


def test_cards_of_another_stock_are_left_alone():
    two = (stock("a"), stock("b"))
    on = (Card("one", 0, {}), Card("two", 1, {}))
    after = placed(ask("x", 1.0, {"whole": 1.0}), on=on, stocks=two)
    assert 1 == sum(card.is_used for card in after)


CORE = HostAmount(cpu_m=1000)


class TestNodes:
    """Two cards on a node each; a replica takes a core."""

    ASKS = tuple(ask(name, 1.0, WORKS, host=CORE) for name in ("x", "y"))

    def hosts(self, **cores):
        return {node: Host("", HostAmount(cpu_m=1000 * n, pods=9)) for node, n in cores.items()}

    def cards(self, a, b):
        return Card("a0", 0, a, "a"), Card("b0", 0, b, "b")

    def test_a_replica_starts_once_another_has_left_its_node_a_core(self):
        before = self.cards({BIG: key("x")}, {BIG: key("y"), OTHER: None})
        after = self.cards({BIG: key("y")}, {OTHER: key("x"), BIG: None})
        way = transition(before, after, self.ASKS, self.hosts(a=0, b=1))
        assert () == way.stuck
        assert ["start x", "stop x", "start y", "stop y"] == [
            f"{m.act} {m.workload.name}" for m in way.moves if m.workload
        ]

    def test_a_node_that_lets_no_pod_of_it_in_is_named(self):
        asked = replace(self.ASKS[0], closed=frozenset({"b"}))
        before, after = self.cards({BIG: key("x")}, {BIG: None}), self.cards({BIG: None}, {BIG: key("x")})
        way = transition(before, after, (asked,), self.hosts(a=9, b=9))
        assert () == way.moves
        assert ("serving/x: node b lets no pod of it in for 1 x h100-80gb:3g.40gb",) == way.stuck

    @pytest.mark.parametrize(
        ("host", "what"),
        [
            (HostAmount(cpu_m=500, memory_bytes=9, pods=9), "CPU"),
            (HostAmount(cpu_m=5000, memory_bytes=1, pods=9), "memory"),
            (HostAmount(cpu_m=5000, memory_bytes=9, pods=0), "places for pods"),
        ],
    )
    def test_what_the_node_lacks_for_good_is_named(self, host, what):
        asked = ask("x", 1.0, WORKS, host=HostAmount(1000, 2, 1))
        before, after = self.cards({BIG: key("x")}, {BIG: None}), self.cards({BIG: None}, {BIG: key("x")})
        way = transition(before, after, (asked,), {"b": Host("", host)})
        assert () == way.moves
        assert (f"serving/x: node b has too little {what} for 1 x h100-80gb:3g.40gb",) == way.stuck

    def test_no_detour_is_taken_over_a_node_without_a_core(self):
        before, after, asks = swap()
        spare = Card("c", 0, {}, "c")
        asks = tuple(replace(one, host=CORE) for one in asks)
        ways = [
            transition((*cards(**before), spare), (*cards(**after), spare), asks, self.hosts(c=n))
            for n in (0, 1)
        ]
        assert [2, 0] == [len(way.stuck) for way in ways]

    @pytest.mark.parametrize(("a", "b", "seated"), [(1, 1, "a0"), (0, 1, "b0"), (0, 0, "a0")])
    def test_who_has_no_seat_yet_is_seated_where_the_node_has_a_core(self, a, b, seated):
        """Where none has, the way says so."""
        on = self.cards({BIG: key("x"), OTHER: None}, {BIG: key("z"), OTHER: None})
        asks = [ask(name, 1.0, {"3g.40gb": 1.0}, host=CORE) for name in ("x", "y", "z")]
        after = place(pack(problem(*asks)), on, self.hosts(a=a, b=b))
        assert [seated] == [card.uuid for card in after if key("y") in card.held.values()]
        assert (not (a or b)) == bool(transition(on, after, asks, self.hosts(a=a, b=b)).stuck)

    def test_what_leaves_a_node_gives_its_core_to_who_is_still_to_be_seated(self):
        on = self.cards({BIG: key("z"), OTHER: None}, {BIG: key("x"), OTHER: key("x")})
        asks = [ask(name, 1.0, {"3g.40gb": 1.0}, host=CORE) for name in ("x", "y", "z")]
        after = place(pack(problem(*asks)), on, self.hosts(a=0, b=0))
        assert ["b0"] == [card.uuid for card in after if key("y") in card.held.values()]

    @pytest.mark.parametrize(("a", "seated"), [(2, [2, 1]), (1, [1, 2])])
    def test_of_two_that_are_seated_each_takes_a_core(self, a, seated):
        on = self.cards({BIG: None, OTHER: None}, {BIG: key("z"), OTHER: None})
        asks = [ask(name, work, {"3g.40gb": 1.0}, host=CORE) for name, work in (("y", 2.0), ("z", 1.0))]
        after = place(pack(problem(*asks)), on, self.hosts(a=a, b=1))
        assert seated == [len(card.held) for card in after]


TWO = Shape(BOARD.id, cards=2)


def joined(**nodes):
    """Empty cards by node; a name of a tenant in place of `""` has a small slice on it."""
    return tuple(
        Card(f"{node}{n}", 0, {SMALL: key(name)} if name else {}, node)
        for node, names in nodes.items()
        for n, name in enumerate(names)
    )


class TestReplicasOverSeveralCards:
    def packing(self, work=1.9, *others):
        wide = replace(ask("x", work, {}), works={TWO: 2.0})
        return pack(problem(wide, *others, stocks=(stock(spans=(2,)),)))

    def seats(self, cards):
        return {card.uuid: [str(seat) for seat in card.held] for card in cards if card.held}

    def test_each_takes_cards_of_one_node_where_fewest_sit_and_fewest_are_to_spare(self):
        small = ask("s", 0.3, WORKS)
        after = place(self.packing(1.9, small), joined(a=["s", ""], b=["", "", ""], c=["", ""], d=[""]))
        assert {"a0": ["1g.10gb@0"], "c0": ["2x@0"], "c1": ["2x@1"]} == self.seats(after)

    def test_those_that_run_stay_and_the_next_takes_other_cards(self):
        cards = place(self.packing(), joined(a=[""], b=["", "", "", ""]))
        assert {"b0": ["2x@0"], "b1": ["2x@1"]} == self.seats(cards)
        assert cards == place(self.packing(), cards)
        assert {"b0", "b1", "b2", "b3"} == set(self.seats(place(self.packing(3.9), cards)))

    @pytest.mark.parametrize(("cores", "seated"), [(2, "a2"), (1, "b0")])
    def test_each_takes_one_core_of_its_node_before_others_are_seated(self, cores, seated):
        halves = [ask(name, 1.0, {"3g.40gb": 1.0}, host=CORE) for name in ("w", "y", "z")]
        wide = replace(ask("x", 1.9, {}, host=CORE), works={TWO: 2.0})
        packing = pack(problem(wide, *halves, stocks=(stock(spans=(2,)),)))
        cards = joined(a=["", "", ""], b=[""])
        cards = (
            *cards[:2],
            replace(cards[2], seats={BIG: key("w"), OTHER: None}),
            replace(cards[3], seats={BIG: key("z"), OTHER: None}),
        )
        hosts = {node: Host("", HostAmount(cpu_m=1000 * n)) for node, n in {"a": cores, "b": 9}.items()}
        after = place(packing, cards, hosts)
        assert [seated] == [card.uuid for card in after if key("y") in card.held.values()]

    def test_without_enough_cards_on_one_node_it_is_said_what_is_missing(self):
        with pytest.raises(InputError, match="2 cards of one node are needed for 1 x 2x"):
            place(self.packing(), joined(a=[""], b=[""]))

    def test_it_counts_once_all_its_cards_are_free_and_leaves_all_of_them(self):
        """The old whole card is left only then; who sat on one of the two cards has moved before."""
        small, wide = ask("s", 0.3, WORKS), replace(ask("x", 1.0, {"whole": 1.0}))
        wide = replace(wide, works={**wide.works, TWO: 2.0})
        before = joined(a=["s", ""], b=[""])
        before = (*before[:2], replace(before[2], seats={Seat(shape("whole")): key("x")}))
        after = (
            replace(before[0], seats={Seat(TWO): key("x")}),
            replace(before[1], seats={Seat(TWO, 1): key("x")}),
            replace(before[2], seats={SMALL: key("s")}),
        )
        spare = Card("c0", 0, {}, "c")
        there = transition((*before, spare), (*after, spare), (small, wide))
        back = transition((*after, spare), (*before, spare), (small, wide))
        for way, first, last in ((there, "2x@1", "2x@0"), (back, "2x@0", "2x@1")):
            done = [str(move.seat) for move in way.moves if move.seat is not None]
            assert () == way.stuck
            assert done.index(first) < done.index(last)
        starts = [(str(m.act), str(m.seat)) for m in there.moves]
        assert starts.index(("start", "2x@0")) < starts.index(("stop", "whole@0"))

    @pytest.mark.parametrize(("cores", "starts"), [(0, []), (1, ["2x@1", "2x@0"])])
    def test_no_card_of_one_is_taken_where_its_node_has_no_core_for_it(self, cores, starts):
        """Of two workloads with a core for one only the first takes cards."""
        wide = [replace(ask(name, 1.9, {}, host=CORE), works={TWO: 2.0}) for name in ("x", "y")]
        before = joined(a=["", "", "", ""])
        after = place(pack(problem(*wide, stocks=(stock(spans=(2,)),))), before)
        way = transition(before, after, wide, {"a": Host("", HostAmount(cpu_m=1000 * cores))})
        assert starts == [str(move.seat) for move in way.moves if move.act == "start"]
        assert 2 - cores == len(way.stuck)
        assert "node a has too little CPU for 1 x" in way.stuck[-1]

    def test_what_runs_so_is_one_replica_and_one_cut_to_the_next_packing(self):
        packing = self.packing()
        cards = place(packing, joined(a=["", ""]))
        (stocked,), (asked,) = (
            (later := standing_on(packing.tableau.problem, cards, recut=0.1, restart=0.1)).stocks,
            later.asks,
        )
        assert [1] == list(stocked.cut.values())
        assert {TWO: 1} == asked.now[""].counts
        assert adjust((stocked,), asked, prices_to(packing.tableau, 0, packing.worth), Stand(cards)) is None
