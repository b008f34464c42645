"""Devices that are allocated, card by card: whose they are, what is left, and what falls with a card."""

from dataclasses import replace

import pytest

from fleet.occupancy import blast_radius, cards_in
from fleet.sharing import Extent
from tests.builders.fleet import consumable, fleet, running, standing, time_sliced


def small(view):
    return [(tenant.hold.tenant, tenant.hold.extent.value) for tenant in view.tenants]


def test_replicas_hold_their_devices_and_foreign_ones_go_by_name():
    held = running(fleet(2, foreign=[("node-0", "gpu-0")]), standing("chat", "2 x 1g.10gb"))
    whole, cut = cards_in(held)
    assert [("foreign gpu-0", "card")] == small(whole)
    assert [("serving/chat-1g.10gb-0", "instance"), ("serving/chat-1g.10gb-1", "instance")] == small(cut)
    assert (1.0, 1.0, 0.0) == (whole.memory_granted, whole.compute_granted, whole.stranded)
    assert (2 / 8, 2 / 7) == pytest.approx((cut.memory_granted, cut.compute_granted))


def test_seven_small_slices_strand_an_eighth_of_a_card():
    [card] = cards_in(running(fleet(1), standing("chat", "7 x 1g.10gb")))
    assert pytest.approx(1 / 8) == card.stranded
    assert {Extent.INSTANCE} == {tenant.hold.extent for tenant in card.tenants}


@pytest.mark.parametrize(
    ("empty", "wanted", "mechanism", "memory"),
    [
        (consumable(1), "1 x 25/100 + 1 x 50/100", "dra-shares", 0.75),
        (time_sliced(1, 4), "2 x 25/100", "time-slicing", None),
    ],
)
def test_a_share_is_granted_memory_where_its_claim_consumed_some(empty, wanted, mechanism, memory):
    [card] = cards_in(running(empty, standing("chat", wanted)))
    assert ((mechanism,), memory, None) == (card.mechanisms, card.memory_granted, card.compute_granted)
    assert [Extent.SHARE] * 2 == [tenant.hold.extent for tenant in card.tenants]
    assert [1, 1] == [len(tenant.falls_with) for tenant in card.tenants]


def test_an_empty_card_is_a_card():
    [card] = cards_in(fleet(1))
    assert ("GPU-node-0-0", "node-0", ()) == (card.card.uuid, card.card.node, card.tenants)


def ready(one, *states):
    """The workload with its replicas ready or not, in order."""
    [variant] = one.variants
    replicas = (replace(r, is_ready=state) for r, state in zip(variant.replicas, states, strict=True))
    return replace(one, variants=(replace(variant, replicas=tuple(replicas)),))


@pytest.mark.parametrize(
    ("expected", "cards", "states"),
    [(1.0, 1, (True, True)), (0.5, 2, (True, True)), (1.0, 2, (True, False)), (None, 2, (False, False))],
)
def test_the_blast_radius_is_the_largest_part_on_one_card(expected, cards, states):
    [one] = running(fleet(cards, per_node=1), standing("chat", "2 x 3g.40gb")).standings
    assert expected == blast_radius(ready(one, *states))


def test_a_workload_without_replicas_has_none():
    assert blast_radius(standing("chat", "1 x whole")) is None
