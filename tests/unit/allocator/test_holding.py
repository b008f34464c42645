"""Room is held for replicas to come, with all that would take it away, and no longer than it is needed."""

from dataclasses import replace

import pytest

from allocator.holding import MOST_SEATS, Wish, rooms_to_hold
from allocator.room import room_of
from fleet.cluster import Replica
from fleet.holds import Hold
from fleet.host import Host, HostAmount, Pods
from fleet.shape import NOTHING
from tests.builders.fleet import (
    NOW_S,
    configuration,
    consumable,
    fleet,
    key,
    request,
    running,
    shape,
    standing,
)

UNTIL_S = NOW_S + 1800.0
CHAT, CODE = key("chat"), key("code")
HALF = shape("3g.40gb")
FIRST, SECOND = "gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4"


def wish(later="1 x 3g.40gb", name="chat", wanted="1 x whole", *, is_short=False, until_s=UNTIL_S):
    return Wish(standing(name, wanted), configuration(later), until_s, is_short)


def held(seen, *wishes):
    return rooms_to_hold(seen, wishes, UNTIL_S, NOW_S)


def names(holds):
    return {hold.device[1] for hold in holds}


def leaving(seen, pod):
    """The fleet once a replica is on its way out: what it runs on is in use until it has gone."""
    standings = []
    for one in seen.standings:
        variants = [
            replace(
                v,
                wanted=v.wanted - sum(r.pod == pod for r in v.replicas),
                replicas=tuple(replace(r, is_leaving=r.pod == pod) for r in v.replicas),
            )
            for v in one.variants
        ]
        standings.append(replace(one, variants=tuple(variants)))
    return replace(seen, standings=tuple(standings))


def test_a_seat_is_held_with_every_device_that_could_not_be_allocated_beside_it():
    holds = held(fleet(1), wish())
    assert {CHAT} == {hold.owner for hold in holds}
    assert {("a replica on 3g.40gb", UNTIL_S)} == {(hold.purpose, hold.until_s) for hold in holds}
    taken = room_of(fleet(1, foreign=[("node-0", FIRST)]))
    beside = {d.name for pool in taken.pools for d in pool.devices if taken.ledger.fits(d)}
    everything = {device.name for pool in fleet(1).pools for device in pool.devices}
    assert everything - beside == names(holds)


def test_of_cards_in_parts_all_of_one_is_held_by_what_is_published_and_no_part_is():
    seen = consumable(2)
    assert {"gpu-0"} == names(held(seen, wish("1 x whole", wanted="1 x 1g.10gb")))
    assert () == held(seen, wish("1 x 25/100"))
    kept = replace(seen, holds=held(seen, wish("2 x whole", wanted="1 x 1g.10gb")))
    assert [0, 8] == [room_of(each).fill(shape("25/100"), 9)[0] for each in (kept, seen)]


def test_what_is_held_is_room_for_its_owner_and_for_nobody_else():
    seen = replace(fleet(1), holds=held(fleet(1), wish()))
    asking = [Pods(one, may_take_held=True) for one in (CHAT, CODE)]
    assert [2, 1, 1] == [room_of(seen).fill(HALF, 9, pods)[0] for pods in (*asking, Pods(CHAT))]
    assert 0 == room_of(seen).fill(shape("whole"), 1, asking[1])[0]


def test_the_same_room_stays_held_for_as_long_as_it_was_to_be():
    holds = held(fleet(1), wish())
    later_s = NOW_S + 60.0
    again = rooms_to_hold(replace(fleet(1), holds=holds), [wish(until_s=UNTIL_S + 60)], UNTIL_S + 60, later_s)
    assert set(holds) == set(again)


def test_room_that_is_held_is_preferred_to_room_that_has_become_free_before_it():
    busy = fleet(1, foreign=[("node-0", FIRST)])
    holds = held(busy, wish())
    assert SECOND in names(holds)
    assert set(holds) == set(held(replace(fleet(1), holds=holds), wish()))


def test_nothing_is_held_once_nobody_wishes_it_or_time_is_up():
    seen = replace(fleet(1), holds=held(fleet(1), wish()))
    assert () == held(seen)
    assert () == held(fleet(1), wish(until_s=NOW_S))


def test_an_expired_hold_is_no_longer_kept():
    expired = Hold(("node-0", FIRST), CODE, "long ago", NOW_S)
    holds = held(replace(fleet(1), holds=(expired,)), wish())
    assert expired not in holds
    assert FIRST in names(holds)


def test_two_owners_never_share_a_device():
    holds = held(fleet(1), wish(), wish(name="code"), wish(name="third"))
    assert len(holds) == len({hold.device for hold in holds})
    assert {CHAT: FIRST, CODE: SECOND} == {
        hold.owner: hold.device[1] for hold in holds if hold.device[1] in (FIRST, SECOND)
    }


def test_what_two_seats_would_both_keep_passes_on_when_the_first_goes():
    both = held(fleet(1), wish(), wish(name="code"))
    seen = replace(fleet(1), holds=both)
    left = held(seen, wish(name="code"))
    assert {CODE} == {hold.owner for hold in left}
    assert "gpu-0" not in names(left)
    assert "gpu-0" in names(held(replace(fleet(1), holds=left), wish(name="code")))


class TestWhoWaitsForRoom:
    def test_takes_what_is_free_by_itself(self):
        assert () == held(fleet(1), wish(is_short=True))

    def test_has_what_somebody_of_ours_is_leaving_held(self):
        seen = leaving(running(fleet(1), standing("code", "2 x 3g.40gb")), "code-3g.40gb-1")
        holds = held(seen, wish(is_short=True))
        assert SECOND in names(holds)
        assert FIRST not in names(holds)
        assert {"a replica on 3g.40gb"} == {hold.purpose for hold in holds}

    def test_keeps_it_when_it_has_become_free(self):
        seen = leaving(running(fleet(1), standing("code", "2 x 3g.40gb")), "code-3g.40gb-1")
        holds = held(seen, wish(is_short=True))
        freed = replace(seen, allocated=seen.allocated[:1], holds=holds)
        assert set(holds) == set(held(freed, wish(is_short=True)))

    def test_keeps_it_while_its_pod_waits_for_its_device(self):
        seen = leaving(running(fleet(1), standing("code", "2 x 3g.40gb")), "code-3g.40gb-1")
        holds = held(seen, wish(is_short=True))
        pod = Replica("chat-0", "chat-3g.40gb", HALF, None, False, False, NOW_S)
        chat = standing("chat", "1 x 3g.40gb")
        copy = replace(chat.variants[0], replicas=(pod,), may_take_held=True)
        asked = replace(chat, variants=(copy,))
        freed = replace(seen, allocated=seen.allocated[:1], holds=holds, standings=(asked,))
        assert set(holds) == set(held(freed, Wish(asked, NOTHING, UNTIL_S, is_short=True)))
        assert () == held(freed), "nobody acts for it any more"

    def test_has_nothing_held_of_what_strangers_use(self):
        assert () == held(fleet(1, foreign=[("node-0", "gpu-0")]), wish(is_short=True))


def node_of(holds):
    return {hold.device[0] for hold in holds}


class TestNodes:
    """Two cards on a node each; a replica takes a core."""

    CORE = HostAmount(cpu_m=1000)

    def hosts(self, *cores, domains=("", "")):
        return {
            f"node-{n}": Host(domain, HostAmount(cpu_m=1000 * left))
            for n, (left, domain) in enumerate(zip(cores, domains, strict=True))
        }

    def wish(self, text="1 x 3g.40gb", *, is_short=False, is_spread=False):
        chat = standing("chat", "1 x whole")
        base = replace(chat.variants[0], host=self.CORE, is_spread=is_spread)
        return Wish(replace(chat, variants=(base,)), configuration(text), UNTIL_S, is_short)

    @pytest.mark.parametrize(
        ("cores", "nodes"),
        [
            ((2, 2), {"node-0"}),
            ((1, 2), {"node-0", "node-1"}),
            ((0, 2), {"node-1"}),
            ((0, 0), set()),
        ],
    )
    def test_a_seat_is_held_where_its_pod_has_a_core(self, cores, nodes):
        seen = fleet(2, 1, hosts=self.hosts(*cores))
        assert nodes == node_of(held(seen, self.wish("2 x 3g.40gb")))

    def test_no_seat_is_held_on_a_node_that_does_not_let_its_pod_in(self):
        wish = self.wish("2 x 3g.40gb")
        (base,) = wish.standing.variants
        closed = replace(base, closed=frozenset({"node-0"}))
        seen = fleet(2, 1, hosts=self.hosts(9, 9))
        assert {"node-1"} == node_of(
            held(seen, replace(wish, standing=replace(wish.standing, variants=(closed,))))
        )

    def test_who_leaves_gives_its_core_back_with_its_device(self):
        busy = running(fleet(1, hosts=self.hosts(0, domains=("",))), standing("code", "1 x whole"))
        code = replace(busy.standings[0].variants[0], host=self.CORE)
        seen = replace(busy, standings=(replace(busy.standings[0], variants=(code,)),))
        seen = leaving(seen, code.replicas[0].pod)
        assert {"node-0"} == node_of(held(seen, self.wish(is_short=True)))

    @pytest.mark.parametrize(("is_spread", "node"), [(True, "node-1"), (False, "node-0")])
    def test_who_is_spread_has_a_seat_held_where_fewest_of_it_stand(self, is_spread, node):
        seen = running(
            fleet(2, 1, hosts=self.hosts(9, 9, domains=("a", "b"))), standing("chat", "1 x 3g.40gb")
        )
        assert {node} == node_of(held(seen, self.wish(is_spread=is_spread)))

    @pytest.mark.parametrize(("is_spread", "nodes"), [(True, {"node-0", "node-1"}), (False, {"node-0"})])
    def test_one_seat_stands_for_the_next_as_a_replica_does(self, is_spread, nodes):
        seen = fleet(2, 1, hosts=self.hosts(9, 9, domains=("a", "b")))
        assert nodes == node_of(held(seen, self.wish("2 x 3g.40gb", is_spread=is_spread)))


def test_a_deployment_whose_claims_do_not_tolerate_the_taint_has_nothing_held():
    assert () == held(fleet(1), wish("1 x 3g.40gb", wanted="1 x 3g.40gb"))


def test_of_cards_that_are_not_there_any_more_nothing_is_held():
    assert () == held(replace(fleet(1), gpus=(), pools=()), wish())


def test_no_more_is_held_than_a_bounded_number_of_seats():
    seats = held(fleet(40), wish(f"{MOST_SEATS + 9} x whole", wanted="1 x 3g.40gb"))
    assert MOST_SEATS == sum(request(shape("whole")).matches(d) for d in _devices(fleet(40), seats))


def _devices(seen, holds):
    by_id = {device.id: device for pool in seen.pools for device in pool.devices}
    return [by_id[hold.device] for hold in holds]
