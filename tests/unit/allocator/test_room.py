"""Room is what the scheduler's own rule would still find."""

from dataclasses import replace
from itertools import pairwise

import pytest

from allocator.room import room_of
from fleet.boards import A100_80GB
from fleet.cluster import Gpu, Replica
from fleet.devices import first_fit, in_order_of_trial
from fleet.holds import Hold
from fleet.host import Host, HostAmount, Pods
from fleet.shape import Shape
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
    time_sliced,
)


@pytest.mark.parametrize(
    ("profile", "most"),
    [
        ("whole", 1),
        ("7g.80gb", 1),
        ("4g.40gb", 1),
        ("3g.40gb", 2),
        ("2g.20gb", 3),
        ("1g.20gb", 4),
        ("1g.10gb", 7),
    ],
)
def test_an_empty_card_has_room_for_as_many_as_its_geometry_allows(profile, most):
    assert most == room_of(fleet(1)).fill(shape(profile), 99)[0]
    assert 3 * most == room_of(fleet(3, per_node=2)).fill(shape(profile), 99)[0]


def test_no_more_than_wanted_is_placed():
    placed, room = room_of(fleet(1)).fill(shape("1g.10gb"), 3)
    assert 3 == placed
    assert 4 == room.fill(shape("1g.10gb"), 99)[0]


def test_nothing_wanted_takes_nothing():
    room = room_of(fleet(1))
    assert 0 == room.fill(shape("1g.10gb"), 0)[0]
    assert room.ledger == room.fill(shape("1g.10gb"), 0)[1].ledger


def test_a_shape_that_is_barred_has_no_room_and_takes_none_from_others():
    part = shape("1g.10gb")
    room = room_of(replace(fleet(1), barred={part: "no counters"}))
    assert 0 == room.fill(part, 1)[0]
    assert (1, 2) == (room.fill(shape("whole"), 1)[0], room.fill(shape("3g.40gb"), 9)[0])


def test_a_trial_leaves_the_room_as_it_was():
    room = room_of(fleet(1))
    assert [1, 1] == [room.fill(shape("whole"), 9)[0] for _ in range(2)]


def test_the_first_1g_costs_the_only_4g_as_the_scheduler_takes_the_first_that_fits():
    _, room = room_of(fleet(1)).fill(shape("1g.10gb"), 1)
    assert 0 == room.fill(shape("4g.40gb"), 1)[0]
    assert 1 == room.fill(shape("3g.40gb"), 2)[0]


def test_what_was_full_stays_full_and_what_comes_after_is_still_found():
    _, room = room_of(fleet(3, per_node=1)).fill(shape("3g.40gb"), 2)
    assert (1, 1) == (room.fill(shape("whole"), 9)[0], room.fill(shape("3g.40gb"), 1)[0])
    placed, room = room.fill(shape("3g.40gb"), 9)
    assert 4 == placed
    assert 0 == room.fill(shape("3g.40gb"), 1)[0]


def test_small_ones_still_find_the_rest_of_cards_that_are_full_for_large_ones():
    _, room = room_of(fleet(2, per_node=1)).fill(shape("2g.20gb"), 6)
    assert 0 == room.fill(shape("2g.20gb"), 1)[0]
    assert 2 == room.fill(shape("1g.10gb"), 9)[0]  # unit 6 of each card


def test_replicas_are_spread_over_nodes_as_the_scheduler_does():
    _, room = room_of(fleet(4, per_node=2)).fill(shape("1g.10gb"), 4)
    assert {"node-0": 2, "node-1": 2} == {pool: len(names) for pool, names in room.ledger.taken.items()}


def test_what_the_owner_made_beside_it_is_no_company_for_copies():
    scene = running(fleet(2, 1), standing("chat", "1 x 3g.40gb + 1 x whole"))
    (one,) = scene.standings
    own, other = one.variants
    beside = replace(one, variants=(own, replace(other, is_beside=True)))
    assert 1 == sum(room_of(scene).copies.values())
    assert {} == dict(room_of(replace(scene, standings=(beside,))).copies)


def test_replicas_of_copies_gather_where_copies_are_and_so_do_those_to_come():
    held = running(fleet(4, per_node=2), standing("chat", "1 x 1g.10gb + 1 x whole"))
    room = room_of(held)
    assert {"node-1": 1} == room.copies  # the whole card is the copy's, the slice the user's own

    for shapes, nodes in (((True,), ["node-1"]), ((False, True), ["node-0", "node-1"])):
        trial = room
        for gathers in shapes:
            _, trial = trial.fill(shape("2g.20gb"), 1, Pods(gathers=gathers))
        taken = {pool: len(names) for pool, names in trial.ledger.taken.items()}
        assert {"node-0": 1, "node-1": 1, **dict.fromkeys(nodes, 2)} == taken

    later = room_of(replace(held, standings=(*held.standings, standing("code", "1 x 1g.10gb + 2 x 2g.20gb"))))
    assert {"node-1": 3} == later.copies


@pytest.mark.parametrize(("gathers", "whole", "halves"), [(True, 7, 15), (False, 4, 12)])
def test_large_slots_of_other_cards_stay_whole_where_copies_gather(gathers, whole, halves):
    """Of a card that is broken they do not: its first small one takes the start of the only 4g."""
    _, room = room_of(fleet(8, per_node=2)).fill(shape("1g.10gb"), 4, Pods(gathers=gathers))

    assert whole == room.fill(shape("7g.80gb"), 8)[0] == room.fill(shape("4g.40gb"), 8)[0]
    assert halves == room.fill(shape("3g.40gb"), 16)[0]


def test_copies_gather_on_a_node_that_has_its_cards_in_two_pools():
    scene = fleet(3, per_node=1)
    first, second, third = scene.pools
    beside = replace(
        second, node=first.node, name="z", devices=tuple(replace(d, pool="z") for d in second.devices)
    )
    room = room_of(replace(scene, pools=(first, beside, third)))
    for wanted, names in ((2, {first.name, "z"}), (3, {first.name, "z", third.name})):
        placed, after = room.fill(shape("whole"), wanted, Pods(gathers=True))
        assert (wanted, names) == (placed, {pool for pool, taken in after.ledger.taken.items() if taken})


def test_filling_finds_the_devices_that_the_scheduler_would_find():
    scene = fleet(5, per_node=2, foreign=[("node-0", "gpu-0-mig-1g10gb-19-3")])
    start = room_of(scene)
    ledger, room = start.ledger, start
    for profile in ["3g.40gb", "1g.10gb", "2g.20gb", "whole", "1g.10gb", "3g.40gb", "2g.20gb", "1g.20gb"] * 3:
        devices = first_fit(in_order_of_trial(scene.pools, ledger), ledger, request(shape(profile)))
        placed, room = room.fill(shape(profile), 1)
        assert placed == len(devices)
        for device in devices:
            ledger = ledger.take(device)
        assert ledger == room.ledger


def test_devices_in_use_by_anyone_are_no_room():
    scene = fleet(1, foreign=[("node-0", "gpu-0-mig-4g40gb-5-0")])
    assert 1 == room_of(scene).fill(shape("3g.40gb"), 9)[0]
    assert 0 == room_of(scene).fill(shape("whole"), 9)[0]


def test_a_board_that_the_fleet_does_not_have_has_no_room_even_where_profile_names_agree():
    assert 0 == room_of(fleet(1)).fill(Shape("a100-80gb", "1g.10gb"), 1)[0]
    assert 0 == room_of(fleet(1)).fill(Shape("a100-80gb"), 1)[0]


def test_replicas_that_run_are_not_placed_a_second_time():
    assert 1 == room_of(running(fleet(1), standing("chat", "1 x 3g.40gb"))).fill(shape("3g.40gb"), 9)[0]


def test_replicas_that_are_asked_for_but_not_yet_created_take_their_room():
    assert 1 == room_of(fleet(1, standings=[standing("chat", "1 x 3g.40gb")])).fill(shape("3g.40gb"), 9)[0]


def waiting(pod, of, age_s):
    return Replica(pod, "chat", of, device=None, is_ready=False, is_leaving=False, created_at_s=NOW_S - age_s)


def with_replicas(one, number, *replicas):
    variants = list(one.variants)
    variants[number] = replace(variants[number], replicas=replicas)
    return replace(one, variants=tuple(variants))


def test_replicas_that_wait_are_counted_once():
    one = with_replicas(standing("chat", "2 x 2g.20gb"), 0, waiting("a", shape("2g.20gb"), 1.0))
    assert 1 == room_of(fleet(1, standings=[one])).fill(shape("2g.20gb"), 9)[0]


def test_the_oldest_of_those_that_wait_is_served_first_and_one_that_fits_nowhere_is_passed_over():
    two = standing("chat", "1 x 3g.40gb + 1 x 4g.40gb")
    for large_age_s, left_for_1g in ((9.0, 0), (1.0, 3)):
        one = with_replicas(two, 0, waiting("small", shape("3g.40gb"), 5.0))
        one = with_replicas(one, 1, waiting("large", shape("4g.40gb"), large_age_s))
        # Older, the 4g takes 0..3 and the 3g 4..7; younger, it finds 0..3 taken and 4..6 stay free.
        assert left_for_1g == room_of(fleet(1, standings=[one])).fill(shape("1g.10gb"), 9)[0]


def test_a_leaving_replica_holds_its_device_but_is_replaced_by_a_new_one():
    scene = running(fleet(1), standing("chat", "1 x 3g.40gb"))
    (one,) = scene.standings
    gone = replace(one.variants[0].replicas[0], is_leaving=True)
    assert 0 == room_of(replace(scene, standings=(with_replicas(one, 0, gone),))).fill(shape("3g.40gb"), 9)[0]


def test_more_pods_than_asked_for_free_no_room():
    scene = running(fleet(1), standing("chat", "2 x 3g.40gb"))
    (one,) = scene.standings
    fewer = replace(one, variants=(replace(one.variants[0], wanted=0),))
    assert 0 == room_of(replace(scene, standings=(fewer,))).fill(shape("1g.10gb"), 9)[0]


@pytest.mark.parametrize(
    ("start", "goal", "fits"),
    [
        ("", "2 x 3g.40gb", True),
        ("", "1 x 3g.40gb + 1 x 4g.40gb", False),  # the 3g is placed first and takes the only start of a 4g
        ("", "2 x 3g.40gb + 1 x 1g.10gb", False),
        ("1 x 3g.40gb", "3 x 3g.40gb", True),  # one of them stands already
        ("4 x whole", "1 x whole", True),
        ("", "", True),
    ],
)
def test_only_what_a_goal_has_beyond_the_start_must_fit_beside_it(start, goal, fits):
    room = room_of(fleet(1)).beside(standing("chat", start), configuration(goal))
    assert fits == (room is not None)


def test_what_stands_beside_is_taken_from_the_room():
    room = room_of(fleet(1)).beside(standing("chat", "1 x 3g.40gb"), configuration("2 x 3g.40gb"))
    assert 1 == room.fill(shape("3g.40gb"), 9)[0]


def test_room_only_shrinks():
    rooms = [room_of(fleet(2))]
    for profile in ("2g.20gb", "3g.40gb", "1g.10gb", "whole"):
        rooms.append(rooms[-1].fill(shape(profile), 2)[1])
    for before, after in pairwise(rooms):
        for profile in ("1g.10gb", "2g.20gb", "3g.40gb", "whole"):
            assert after.fill(shape(profile), 99)[0] <= before.fill(shape(profile), 99)[0]


def test_cards_stay_in_use_until_their_last_device_is_given_back():
    held = running(fleet(2, per_node=2), standing("chat", "2 x 3g.40gb"), standing("code", "1 x whole"))
    room, devices = room_of(held), {device.name: device for device in held.allocated}
    small = [device for device in devices.values() if device.profile]
    assert 2 == room.cards_without(())
    assert 2 == room.cards_without(small[:1])
    assert 1 == room.cards_without(small)
    assert 0 == room.cards_without(devices.values())


def test_a_card_that_is_filled_counts_from_then_on():
    _, room = room_of(fleet(2, per_node=2)).fill(shape("4g.40gb"), 2)
    assert 2 == room.cards_without(())


def test_of_a_card_that_was_filled_all_has_to_go_that_was_put_there():
    _, room = room_of(fleet(1)).fill(shape("3g.40gb"), 1)
    placed, room = room.fill(shape("3g.40gb"), 1)
    devices = [device for device in room.pools[0].devices if device.profile == "3g.40gb"]
    assert (1, 1, 0) == (placed, room.cards_without(devices[:1]), room.cards_without(devices))


def test_of_several_boards_each_shape_has_the_room_of_its_own():
    mine, other = fleet(1).pools[0], fleet(16).pools[1]
    others = tuple(replace(device, product="NVIDIA A100 80GB PCIe") for device in other.devices)
    gpus = (*fleet(1).gpus, Gpu(others[0].gpu, other.node, A100_80GB))
    room = room_of(replace(fleet(1), gpus=gpus, pools=(mine, replace(other, devices=others))))
    assert [1, 7, 8] == [
        room.fill(one, 99)[0] for one in (shape("whole"), shape("1g.10gb"), Shape(A100_80GB.id))
    ]


@pytest.mark.parametrize(
    ("owner", "profile", "is_held"),
    [
        ("chat", "3g.40gb", True),
        ("code", "3g.40gb", False),
        ("chat", "4g.40gb", False),
        ("chat", "whole", False),
    ],
)
def test_a_device_is_kept_for_its_owner_in_its_own_shape_alone(owner, profile, is_held):
    hold = Hold(("node-0", "gpu-0-mig-3g40gb-9-4"), key("chat"), "a move", NOW_S)
    room = room_of(replace(fleet(2, per_node=1), holds=(hold,)))
    assert is_held is room.is_held_for(key(owner), shape(profile))
    assert not room.is_held_for(key(owner), Shape("a100-80gb", "3g.40gb"))


def test_a_replica_of_several_cards_takes_them_of_one_node():
    scene = fleet(5, per_node=2)
    placed, left = room_of(scene).fill(replace(shape("whole"), cards=2), 3)
    assert (2, 4) == (placed, len(left.held))
    assert (1, 5) == (left.fill(shape("whole"), 3)[0], len(left.fill(shape("whole"), 3)[1].held))


def test_groups_take_each_pod_s_cards_where_they_are_and_no_group_in_part():
    """Three nodes of three cards: pods of two cards fit once each, so a group of two and a pod left over."""
    scene, of_two = fleet(9, per_node=3), replace(shape("whole"), cards=4)
    hosts = {f"node-{n}": Host("", HostAmount(cpu_m=1000, pods=9)) for n in range(3)}
    pods = Pods(host=HostAmount(cpu_m=1000), members=2)
    placed, left = room_of(replace(scene, hosts=hosts)).fill(of_two, 2, pods)
    assert (1, 4, [0, 0, 1000]) == (
        placed,
        len(left.held),
        sorted(host.free.cpu_m for host in left.hosts.values()),
    )
    assert 0 == room_of(scene).fill(of_two, 2)[0]


def test_pods_have_room_on_nodes_alone_that_let_them_in():
    room = room_of(fleet(4, per_node=2))
    some, none = (Pods(closed=frozenset(nodes)) for nodes in (["node-0"], ["node-0", "node-1"]))
    placed, after = room.fill(shape("whole"), 9, some)
    assert 2 == placed
    assert 2 == after.fill(shape("whole"), 9)[0]
    assert 0 == room.fill(shape("whole"), 9, none)[0]
    why = "nodes with a card free do not let its pods in (node selector, node affinity or taints)"
    assert why == room.limit(shape("whole"), none)
    assert "" == room.fill(shape("whole"), 4)[1].limit(shape("whole"), none)


class TestWhatBinds:
    """Which limit beside cards keeps a replica out, said in one clause."""

    GIB = 1 << 30
    ASK = Pods(host=HostAmount(4000, 16 * GIB, 1))

    def room(self, *left, cards=1):
        hosts = {f"node-{n}": Host("", amount) for n, amount in enumerate(left)}
        return room_of(fleet(cards * len(left), cards, hosts=hosts))

    @pytest.mark.parametrize(
        ("left", "says"),
        [
            ([(1000, 99)], "nodes with a card free have too little CPU"),
            ([(9000, 9)], "nodes with a card free have too little memory"),
            ([(1000, 99), (9000, 9)], "nodes with a card free have too little CPU or memory"),
            ([(9000, 99)], ""),
        ],
    )
    def test_it_is_what_nodes_lack(self, left, says):
        room = self.room(*(HostAmount(cpu_m, gib * self.GIB, 9) for cpu_m, gib in left))
        assert says == room.limit(shape("whole"), self.ASK)
        assert "" == room.limit(shape("whole"))

    def test_where_no_card_is_free_it_is_the_cards_alone(self):
        room = self.room(HostAmount(1000, self.GIB, 9))
        _, full = room.fill(shape("whole"), 1)
        assert "" == full.limit(shape("whole"), self.ASK)

    def test_an_obstacle_names_it_and_what_does_not_fit(self):
        host = HostAmount(4000, 16 * self.GIB, 1)
        one = standing("chat", "1 x whole")
        one = replace(one, variants=(replace(one.variants[0], host=host),))
        start, goal = "1 x whole", configuration("2 x 3g.40gb")
        lacking = self.room(HostAmount(4000, 999 * self.GIB, 9)).obstacle(one, goal)
        assert (
            f"no room to build {goal} beside {start}: nodes with a card free have too little CPU" == lacking
        )
        full = self.room(HostAmount(99000, 999 * self.GIB, 9)).fill(shape("whole"), 1)[1]
        assert f"no room to build {goal} beside {start}" == full.obstacle(one, goal)

    def test_each_replica_takes_its_part_of_its_node(self):
        room = self.room(HostAmount(9000, 999 * self.GIB, 9), HostAmount(4000, 999 * self.GIB, 9), cards=4)
        placed, after = room.fill(shape("whole"), 9, self.ASK)
        assert (3, [1000, 0]) == (placed, [host.free.cpu_m for host in after.hosts.values()])
        assert [9000, 4000] == [host.free.cpu_m for host in room.hosts.values()]


def test_a_card_in_time_slices_has_room_for_these_and_for_nothing_else():
    room = room_of(time_sliced(2, 4))

    assert 8 == room.fill(shape("25/100"), 99)[0]
    assert [0, 0, 0] == [room.fill(shape(other), 1)[0] for other in ("whole", "50/100", "1g.10gb")]


def test_parts_of_a_card_of_different_sizes_share_it_and_leave_no_room_for_all_of_it():
    room = room_of(consumable(1))
    for size in ("50/100", "25/100", "10/100", "10/100"):
        placed, room = room.fill(shape(size), 1)
        assert 1 == placed
    assert [0, 0, 0] == [room.fill(shape(other), 1)[0] for other in ("10/100", "whole", "1g.10gb")]
    assert 0 == room_of(running(consumable(1), standing("a", "1 x whole"))).fill(shape("10/100"), 1)[0]


def test_what_is_given_back_of_a_card_that_nobody_uses_frees_no_other():
    seen = running(fleet(2, per_node=1), standing("chat", "1 x whole"))
    free = next(pool for pool in seen.pools if pool.node != seen.allocated[0].node)
    assert 1 == room_of(seen).cards_without(free.devices[:1])
