"""Time-slices, footprints, and who may meet on one card."""

import pytest

from fleet.ledgers.footprint import effective_hundredths, is_overused, usable_mib
from fleet.ledgers.tenancy import Tenancy, clash
from fleet.ledgers.time_slicing import SlicedNode


def test_a_node_offers_every_card_as_often_as_it_is_sliced():
    node = SlicedNode(gpus=2, replicas=4, used=6)

    assert (8, True, False) == (node.offered, node.fits(2), node.fits(3))
    assert (7, True) == (node.take().used, node.take().fits())
    assert not node.take(2).fits()


@pytest.mark.parametrize(("replicas", "leaving"), [(4, 2), (6, 0), (10, 0), (0, 6)])
def test_fewer_replicas_need_as_many_tenants_to_leave_as_are_beyond_them(replicas, leaving):
    assert leaving == SlicedNode(gpus=1, replicas=8, used=6).to_drain(replicas)


def test_on_two_cards_twice_as_many_may_stay():
    assert 0 == SlicedNode(gpus=2, replicas=8, used=6).to_drain(3)
    assert 1 == SlicedNode(gpus=2, replicas=8, used=7).to_drain(3)


@pytest.mark.parametrize(
    ("declared", "observed", "total", "planned"),
    [
        (50, 46, 80, 65),
        (50, 20, 80, 50),
        (50, 0, 80, 50),
        (30, 20, 42, 50),
        (30, 40, 80, 55),
        (10, 80, 80, 105),
    ],
)
def test_a_tenant_is_planned_with_what_it_takes_and_5_percent_up_to_full_0_05(
    declared, observed, total, planned
):
    assert planned == effective_hundredths(declared, observed, total)


def test_what_the_driver_keeps_is_3_percent_but_at_least_256_mib():
    assert (14899, 8000 - 256) == (usable_mib(15360), usable_mib(8000))
    assert (8534 - 257, 8533 - 256) == (usable_mib(8534), usable_mib(8533))


@pytest.mark.parametrize(("observed", "over"), [(40_779, False), (40_780, True), (0, False)])
def test_overuse_is_more_than_the_declared_part_of_the_card(observed, over):
    assert over is is_overused(50, observed, 81559)


KAI, HAMI = Tenancy("kai", "time-slicing"), Tenancy("hami")


@pytest.mark.parametrize(
    ("held", "new", "is_mig", "rule"),
    [
        ([], KAI, False, None),
        ([KAI, KAI], KAI, False, None),
        ([KAI], HAMI, False, "one GPU, one mechanism: kai holds the card, not hami"),
        ([KAI], Tenancy("kai", "sm-sharing"), False, "it runs time-slicing, not sm-sharing"),
        ([Tenancy("kai")], KAI, False, "it runs none, not time-slicing"),
        ([KAI], Tenancy("kai"), False, "it runs time-slicing, not none"),
        ([], Tenancy("mps"), True, "MPS does not run on a card in MIG mode"),
        ([], Tenancy("mps"), False, None),
        ([], Tenancy("dra", "mps"), True, "MPS does not run on a card in MIG mode"),
        ([], Tenancy("kai", "sm-sharing"), True, "MPS does not run on a card in MIG mode"),
        ([], Tenancy("dra", "mps"), False, "the DRA driver refuses MPS where shares are consumable"),
        ([], Tenancy("dra", "mps", is_share=False), False, None),
        ([], Tenancy("dra"), True, None),
        ([HAMI, KAI], HAMI, False, "one GPU, one mechanism: kai holds the card, not hami"),
    ],
)
def test_the_rule_that_keeps_tenants_apart_is_named(held, new, is_mig, rule):
    said = clash(held, new, is_mig=is_mig)

    assert said is None if rule is None else rule in said
