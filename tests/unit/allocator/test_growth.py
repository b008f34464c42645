"""Additions: what the table of decisions cannot say in a row."""

from allocator.growth import grow
from allocator.market import Market
from allocator.room import room_of
from fleet.ledgers.queues import UNLIMITED, Queue
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import configuration, fleet, key, running, shape, standing


def grown(scene, name="chat", up=0.5, **more):
    (one,) = scene.standings
    return grow(workload(name, **more), one, need(name, up), offers(), room_of(scene))


def test_where_nothing_is_missing_the_room_is_left_as_it_was():
    scene = running(fleet(1), standing("chat", "3 x 2g.20gb"))
    got = grown(scene)
    assert configuration("3 x 2g.20gb").counts == got.goal.counts
    assert (0.0, ()) == (got.short, got.because)
    assert room_of(scene).ledger == got.room.ledger


def test_what_is_added_is_taken_from_the_room():
    got = grown(running(fleet(1), standing("chat", "1 x 2g.20gb")))
    assert configuration("3 x 2g.20gb").counts == got.goal.counts
    assert 0 == got.room.fill(shape("2g.20gb"), 1)[0]
    assert 1 == got.room.fill(shape("1g.10gb"), 9)[0]


def test_where_nothing_can_be_added_the_room_is_left_as_it_was():
    scene = running(fleet(1), standing("chat", "3 x 2g.20gb"))
    got = grown(scene, up=0.9)
    assert configuration("3 x 2g.20gb").counts == got.goal.counts
    assert room_of(scene).ledger == got.room.ledger
    assert got.short > 0


def test_what_was_added_by_several_shapes_is_taken_from_the_room_together():
    (one,) = (running(fleet(1), standing("chat", "1 x 2g.20gb"))).standings
    scene = running(fleet(1), one)
    offered = offers({"1g.10gb": 0.05, "2g.20gb": 0.2}, router="least-loaded")
    got = grow(workload(), one, need(up=0.65), offered, room_of(scene))
    assert configuration("1 x 1g.10gb + 3 x 2g.20gb").counts == got.goal.counts
    assert 0 == got.room.fill(shape("1g.10gb"), 1)[0]


def test_of_several_shapes_in_use_the_cheapest_addition_is_made():
    scene = running(fleet(2), standing("chat", "1 x 2g.20gb + 1 x 3g.40gb"))
    (one,) = scene.standings
    offered = offers({"2g.20gb": 0.1, "3g.40gb": 0.4}, router="least-loaded")
    got = grow(workload(), one, need(up=0.9), offered, room_of(scene))
    assert configuration("1 x 2g.20gb + 2 x 3g.40gb").counts == got.goal.counts


def test_of_new_shapes_that_cost_the_same_the_choice_does_not_depend_on_the_order_of_offers():
    scene = fleet(1, standings=[standing("chat")])
    table = {"1g.10gb": 0.1, "2g.20gb": 0.2, "3g.40gb": 0.4}
    for order in (table, dict(reversed(table.items()))):
        got = grow(workload(), scene.standings[0], need(up=0.4), offers(order), room_of(scene))
        assert configuration("4 x 1g.10gb").counts == got.goal.counts


def test_a_plan_under_way_that_finds_no_room_leaves_the_room_to_others():
    scene = running(fleet(1), standing("chat", "2 x 3g.40gb", moving_to=configuration("3 x 3g.40gb")))
    got = grown(scene)
    assert configuration("3 x 3g.40gb").counts == got.goal.counts
    assert room_of(scene).ledger == got.room.ledger


def test_what_a_queue_holds_back_is_not_to_come_with_room():
    """Five replicas are missing and none fits: the queue has two left."""
    scene = running(fleet(1, foreign=(("node-0", "gpu-0"),)), standing("chat"))
    queues = {"team": Queue("team", quota=UNLIMITED, limit=2.0)}
    market = Market(queues=queues, queue_of={key("chat"): "team"})
    (one,), offered = scene.standings, offers({"1g.10gb": 0.1})
    rooms = [room_of(scene, (), each) for each in (Market(), market)]
    later = [grow(workload(), one, need(up=0.5), offered, room).later for room in rooms]
    assert [configuration("5 x 1g.10gb"), configuration("2 x 1g.10gb")] == later
