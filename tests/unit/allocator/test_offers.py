"""Shapes that may carry a workload, and the arithmetic of its router."""

from dataclasses import replace

import pytest

from allocator.offers import Offer, Offers, offers_for
from capacity.estimate import CapacityModel
from fleet.boards import A30_24GB, H100_80GB
from fleet.cluster import Standing, Variant
from fleet.demand import Mix
from fleet.shape import Shape, shapes_of, slice_of
from fleet.workload import Isolation, LatencyTarget, Limits, Router, Slo
from tests.builders.deciding import offers, workload
from tests.builders.fleet import configuration, key, shape, standing

CHAT = Mix(500.0, 200.0)


def real(boards=(H100_80GB,), mixes=(CHAT,), itl_s=0.05, **more):
    """Offers from the capacity model."""
    slo = Slo(ttft=LatencyTarget(0.95, 2.0), itl=LatencyTarget(0.95, itl_s))
    return offers_for(workload(slo=slo, **more), boards, CapacityModel(boards), mixes)


def test_a_whole_card_and_the_slices_that_hold_the_model_are_offered():
    offered = real().by_shape
    assert {"whole", "7g.80gb", "4g.40gb", "3g.40gb", "2g.20gb"} <= {s.profile for s in offered}
    assert "1g.10gb" not in {s.profile for s in offered}, "15 GB of weights do not fit in 10"


def test_an_offer_carries_the_lower_bound_and_costs_what_it_takes_of_the_card():
    one = real().by_shape[shape("3g.40gb")]
    estimate = CapacityModel((H100_80GB,)).capacity(
        workload(slo=Slo(LatencyTarget(0.95, 2.0), LatencyTarget(0.95, 0.05))), one.shape, (CHAT,)
    )
    assert estimate.work_low == one.work < estimate.work
    assert 0.5 == one.gpu_share == slice_of(H100_80GB, one.shape).gpu_share


def test_the_worst_of_the_mixes_counts():
    long = Mix(6000.0, 400.0)
    both, easy, hard = real(mixes=(CHAT, long)), real(mixes=(CHAT,)), real(mixes=(long,))
    for one in both.by_shape:
        assert min(easy.by_shape[one].work, hard.by_shape[one].work) == both.by_shape[one].work


def test_every_board_of_the_fleet_is_offered_from():
    assert {"h100-80gb", "a30-24gb"} == {one.board for one in real((H100_80GB, A30_24GB)).by_shape}


@pytest.mark.parametrize(
    ("mechanism", "wish", "is_kept"),
    [
        ("dra", Isolation.HARD, True),
        ("hami", Isolation.HARD, False),
        ("hami", Isolation.MEMORY, True),
        ("kai", Isolation.MEMORY, False),
        ("kai", Isolation.NONE, True),
    ],
)
def test_nothing_is_offered_by_a_mechanism_that_does_not_keep_the_isolation_wish(mechanism, wish, is_kept):
    assert is_kept == bool(real(mechanism=mechanism, isolation=wish).by_shape)


@pytest.mark.parametrize(("plain", "sharing"), [("device-plugin", "time-slicing"), ("dra", "dra-shares")])
def test_shares_are_offered_to_who_asks_for_them_and_carry_less_than_their_part(plain, sharing):
    """All of a card's tenants are reckoned with as busy, and each reads weights of its own."""
    assert not any(s.hundredths for s in real(mechanism=plain, isolation=Isolation.NONE).by_shape)
    offered = real(mechanism=sharing, isolation=Isolation.NONE, itl_s=0.3).by_shape

    half, whole = offered[shape("50/100")], offered[shape("whole")]
    assert 0.5 == half.gpu_share
    assert 0 < half.work < 0.5 * whole.work


def test_only_shapes_of_the_boards_are_offered_and_the_router_is_kept():
    offered = real(router=Router.WEIGHTED)
    assert set(offered.by_shape) <= set(shapes_of(H100_80GB))
    assert Router.WEIGHTED is offered.router


@pytest.mark.parametrize(
    ("router", "text", "carried"),
    [
        (Router.EQUAL, "", 0.0),
        (Router.EQUAL, "3 x 2g.20gb", 0.6),
        (Router.EQUAL, "1 x 2g.20gb + 1 x whole", 0.4),
        (Router.LEAST_LOADED, "1 x 2g.20gb + 1 x whole", 1.2),
        (Router.WEIGHTED, "1 x 2g.20gb + 1 x whole", 1.2),
        (Router.EQUAL, "1 x 4g.40gb + 1 x whole", 0.0),
        (Router.LEAST_LOADED, "1 x 4g.40gb + 1 x whole", 1.0),
    ],
)
def test_a_configuration_carries_what_its_router_can_use(router, text, carried):
    assert pytest.approx(carried) == offers(router=router).carried(configuration(text))


@pytest.mark.parametrize(
    ("text", "cards"),
    [("", 0.0), ("3 x 2g.20gb", 0.75), ("1 x 1g.10gb + 1 x whole", 1.125), ("2 x 4g.40gb", 2.0)],
)
def test_a_configuration_costs_its_shares_and_a_shape_that_is_not_offered_a_card(text, cards):
    assert cards == offers().price(configuration(text))


@pytest.mark.parametrize(
    ("profile", "work", "replicas"),
    [("2g.20gb", 0.0, 1), ("2g.20gb", 0.2, 1), ("2g.20gb", 0.6, 3), ("2g.20gb", 0.61, 4), ("whole", 0.1, 1)],
)
def test_replicas_of_one_shape_for_some_work_are_never_none(profile, work, replicas):
    assert replicas == offers().replicas_for(shape(profile), work)


def test_sums_of_floats_that_are_equal_on_paper_need_no_replica_more():
    tenths = sum([0.1] * 3)  # 0.30000000000000004
    assert 3 == offers().replicas_for(shape("1g.10gb"), tenths)
    assert 0 == offers().missing(configuration("3 x 1g.10gb"), shape("1g.10gb"), tenths)
    assert 0.0 == offers().short(configuration("3 x 1g.10gb"), tenths + 1e-10)


@pytest.mark.parametrize(
    ("router", "text", "profile", "work", "replicas"),
    [
        (Router.EQUAL, "", "2g.20gb", 0.5, 3),
        (Router.EQUAL, "2 x 2g.20gb", "2g.20gb", 0.4, 0),
        (Router.EQUAL, "2 x 2g.20gb", "2g.20gb", 0.5, 1),
        (Router.EQUAL, "2 x 2g.20gb", "whole", 0.7, 2),  # the 2g set the pace: four of them in all
        (Router.EQUAL, "1 x whole", "2g.20gb", 0.6, 2),  # ... and so they do when they join
        (Router.EQUAL, "1 x 4g.40gb", "2g.20gb", 0.6, 0),  # a shape that carries nothing: none would help
        (Router.LEAST_LOADED, "2 x 2g.20gb", "whole", 0.7, 1),
        (Router.LEAST_LOADED, "2 x 2g.20gb", "1g.10gb", 0.7, 3),
        (Router.LEAST_LOADED, "1 x 4g.40gb", "2g.20gb", 0.6, 3),
        (Router.LEAST_LOADED, "1 x whole", "2g.20gb", 0.6, 0),
    ],
)
def test_as_many_join_as_the_router_needs(router, text, profile, work, replicas):
    assert replicas == offers(router=router).missing(configuration(text), shape(profile), work)


def test_what_is_short_is_the_rest_of_the_work():
    assert pytest.approx(0.3) == offers().short(configuration("1 x 2g.20gb"), 0.5)
    assert 0.0 == offers().short(configuration("1 x 2g.20gb"), 0.1)


def test_shapes_of_other_boards_carry_nothing():
    assert 0.0 == offers().carried(configuration("").plus(Shape("a30-24gb"), 1))


def test_what_carries_work_with_one_shape_comes_cheapest_first_and_of_equals_the_one_that_carries_more():
    offered = offers({"1g.20gb": 0.2, "2g.20gb": 0.25, "3g.40gb": 0.45, "whole": 1.0})
    assert ["2 x 2g.20gb", "1 x 3g.40gb", "2 x 1g.20gb", "1 x whole"] == [
        str(goal) for goal in offered.of_one_shape(0.4, Limits(1, 64))
    ]
    assert ["1 x 3g.40gb", "1 x whole"] == [str(goal) for goal in offered.of_one_shape(0.4, Limits(1, 1))]
    assert "3 x 2g.20gb" == str(next(offered.of_one_shape(0.1, Limits(3, 64))))


def test_a_workload_without_copies_is_offered_what_it_has():
    every = offers({"1g.10gb": 0.1, "3g.40gb": 0.45})
    free = standing("a", "1 x 3g.40gb")
    assert every is every.for_standing(free, 0.0) is every.for_standing(None, 0.0)
    fixed = replace(free, may_have_variants=False)
    assert [shape("3g.40gb")] == list(every.for_standing(fixed, 0.0).by_shape)
    assert every is every.for_standing(replace(fixed, switches=True), 0.0)


def test_a_workload_whose_owner_made_other_shapes_is_offered_exactly_these():
    """Also those that stand at zero, and on another number of cards, which a copy could not have."""
    two = Shape("h100-80gb", cards=2)
    every = offers({"1g.10gb": 0.1, "2g.20gb": 0.2, "3g.40gb": 0.45})
    every = Offers(every.router, {**every.by_shape, two: Offer(two, 1.0, 2.0)})
    one = standing("a", "1 x 3g.40gb")
    shapes = (shape("2g.20gb"), two)
    beside = (Variant(f"by-owner-{s.name}", s, 0, "1", is_base=False, is_beside=True) for s in shapes)
    fixed = replace(one, variants=(*one.variants, *beside), may_have_variants=False)
    assert {shape("3g.40gb"), *shapes} == set(every.for_standing(fixed, 0.0).by_shape)


def test_a_workload_on_two_cards_is_offered_no_other_number():
    """It is in its engine's arguments."""
    two, four = (Shape("h100-80gb", cards=cards) for cards in (2, 4))
    every = offers({"3g.40gb": 0.45})
    every = Offers(every.router, {**every.by_shape, two: Offer(two, 1.0, 2.0), four: Offer(four, 2.0, 4.0)})
    own = Variant("a", two, 1, "1", is_base=True)
    assert [two] == list(every.for_standing(Standing(key("a"), (own,)), 0.0).by_shape)


def test_a_model_that_fits_on_no_card_alone_is_offered_spread_over_some():
    slo = Slo(ttft=LatencyTarget(0.95, 5.0), itl=LatencyTarget(0.95, 0.2))
    large = replace(workload(slo=slo), model="llama-3.3-70b-bf16")
    boards = (H100_80GB,)
    found = offers_for(large, boards, CapacityModel(boards), (CHAT,), spans=(2, 4, 8)).by_shape
    assert {4, 8} <= {one.cards for one in found} <= {2, 4, 8}
