import pytest

from allocator.exchange import WORTHWHILE_GPU, exchange
from allocator.growth import grow
from allocator.room import room_of
from fleet.workload import Router
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import configuration, fleet, running, standing

# What a small model does on slices: the smallest is far worse than its share of the card.
CONVEX = {"1g.20gb": 0.02, "3g.40gb": 0.4, "whole": 0.8}


def grown(start, carries=None, cards=8, distrust=(), router=Router.EQUAL, most=64, history=None, **asks):
    one = workload(router=router, ceiling=most)
    stands = standing(one.key.name, start, **(history or {}))
    asked, offered = need(one.key.name, distrust=distrust, **asks), offers(carries or CONVEX, router=router)
    room = room_of(running(fleet(cards), stands))
    growth = grow(one, stands, asked, offered, room)
    return growth, exchange(one, stands, asked, offered, room, growth)


def test_a_workload_that_outgrows_a_small_slice_is_not_given_dozens_of_them():
    growth, exchanged = grown("1 x 1g.20gb", up=0.35)
    assert "18 x 1g.20gb" == str(growth.goal)
    assert "1 x 3g.40gb" == str(exchanged.goal)
    assert "1 x 1g.20gb to 1 x 3g.40gb, 4.00 GPU less than 18 x 1g.20gb" in exchanged.because[0]


def test_the_cheapest_shape_that_carries_what_must_be_kept_is_taken():
    _, exchanged = grown("1 x 1g.20gb", up=0.35, keep=0.45)
    assert ("2 x 3g.40gb", 0.0) == (str(exchanged.goal), exchanged.short)


def test_half_a_card_must_be_saved():
    assert 0.5 == WORTHWHILE_GPU
    growth, exchanged = grown("2 x 3g.40gb", {"3g.40gb": 0.4, "whole": 1.2}, up=1.2)
    assert "1 x whole" == str(exchanged.goal)  # three halves against one
    growth, exchanged = grown("1 x 3g.40gb", {"3g.40gb": 0.4, "whole": 1.2}, up=0.8)
    assert exchanged is growth  # two halves against one


def test_what_carries_enough_is_left_alone():
    growth, exchanged = grown("1 x 3g.40gb", up=0.3)
    assert exchanged is growth


def test_a_plan_under_way_is_not_turned_round():
    growth, exchanged = grown("1 x 1g.20gb", up=0.35, history={"moving_to": configuration("2 x 1g.20gb")})
    assert exchanged is growth


def test_without_room_beside_the_old_replicas_they_stay():
    growth, exchanged = grown("2 x 3g.40gb", {"3g.40gb": 0.4, "whole": 1.6}, cards=1, up=1.6)
    assert exchanged is growth


def test_nobody_goes_over_the_limit_on_replicas():
    growth, exchanged = grown("1 x 3g.40gb", {"3g.40gb": 0.1, "2g.20gb": 0.3}, most=2, up=0.9)
    assert exchanged is growth


def test_an_untrusted_reading_may_still_make_a_workload_larger():
    _, exchanged = grown("1 x 1g.20gb", up=0.35, distrust=("requests wait",))
    assert "1 x 3g.40gb" == str(exchanged.goal)


@pytest.mark.parametrize(
    ("router", "goal"), [(Router.EQUAL, "3 x whole"), (Router.LEAST_LOADED, "5 x 1g.20gb")]
)
def test_behind_equal_shares_no_smaller_replica_joins_larger_ones(router, goal):
    _, exchanged = grown("2 x whole", {"1g.20gb": 0.3, "whole": 0.6}, router=router, up=1.5)
    assert goal == str(exchanged.goal)
