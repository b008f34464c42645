"""Room of workloads whose queues are bounded."""

from dataclasses import replace

from allocator.market import Market
from allocator.room import Rooms, room_of
from fleet.host import Pods
from fleet.ledgers.queues import UNLIMITED, Queue
from tests.builders.deciding import workload
from tests.builders.fleet import fleet, key, running, shape, standing


def test_what_pods_of_others_count_with_in_a_queue_is_no_room_for_ours():
    market = Market({}, {"team": Queue("team", quota=UNLIMITED, limit=2.0)}, {key("chat"): "team"})
    rooms = [room_of(replace(fleet(4), queued={"team": gpus}), [workload()], market) for gpus in (0, 1, 2)]

    assert [2, 1, 0] == [room.fill(shape("whole"), 9, Pods(key("chat")))[0] for room in rooms]
    said = [room.limit(shape("whole"), Pods(key("chat"))) for room in rooms[1:]]
    assert ["", True] == [said[0], "queue team" in said[1]]


def test_what_our_own_replicas_hold_counts_in_their_queue_and_in_no_other():
    queues = {name: Queue(name, quota=UNLIMITED, limit=2.0) for name in ("team", "others")}
    market = Market({}, queues, {key("chat"): "team", key("code"): "others"})
    seen = running(fleet(8), standing("chat", "1 x whole"), standing("code", ""))
    room = room_of(seen, [workload(), workload("code")], market)

    assert [1, 2] == [room.fill(shape("whole"), 9, Pods(key(name)))[0] for name in ("chat", "code")]


def test_the_room_of_the_same_fleet_is_reckoned_once_and_that_of_any_other_anew():
    rooms, one, other, queue = Rooms(), fleet(1), fleet(2), Queue("prod", quota=1.0)
    market = Market({}, {"prod": queue}, {key("chat"): "prod"})
    first = rooms.of(one, (workload(),), Market())
    assert first is rooms.of(one, (workload(),), Market())
    assert room_of(other) == rooms.of(other, (), Market())
    assert room_of(one, [workload()], market) == rooms.of(one, (workload(),), market)
    assert room_of(one, [workload()]) == rooms.of(one, (workload(),), Market())
