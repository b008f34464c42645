"""A reading is credited to a tenant only where it is that tenant's alone, and no byte is counted twice."""

from dataclasses import replace

import pytest

from fleet.sharing import Card, Extent, Hold, Use, shared

GIB = 2**30
CARD = Card("GPU-a", "n", "h100-80gb", 80 * GIB)
A, B, C = "t/a", "t/b", "t/c"


def of_card(gib=50.0, busy=0.8, tenants=(), card="GPU-a"):
    return Use(card, "", tenants, False, gib * GIB, busy, "DCGM exporter")


def of_instance(instance, tenant=None, gib=5.0, busy=0.5):
    return Use("GPU-a", instance, (tenant,) if tenant else (), False, gib * GIB, busy, "DCGM exporter")


def of_share(tenant, gib=5.0, busy=0.5, card="GPU-a"):
    return Use(card, "", (tenant,), True, gib * GIB, busy, "HAMi")


def hold(tenant, extent=Extent.SHARE, mechanism="hami", gib=20.0, compute=None, card="GPU-a", **more):
    return Hold(tenant, card, mechanism, gib * GIB, compute_share=compute, extent=extent, **more)


def instance(tenant, memory=1 / 8, compute=1 / 7):
    return Hold(tenant, "GPU-a", "dra", 80 * GIB * memory, memory, compute, Extent.INSTANCE)


def only(*given, cards=(CARD,)):
    [view] = shared(
        cards,
        [[one] for one in given if isinstance(one, Hold)],
        [one for one in given if isinstance(one, Use)],
    )
    return view


def used(view):
    return {tenant.hold.tenant: tenant.use and tenant.use.source for tenant in view.tenants}


class TestCredit:
    def test_a_shared_card_s_reading_is_nobody_s(self):
        view = only(hold(A), hold(B), of_card(tenants=(A,)))
        assert {A: None, B: None} == used(view)
        assert (50 * GIB, 0.8) == (view.memory_used_bytes, view.compute_used)

    def test_who_holds_the_card_whole_has_its_reading(self):
        view = only(hold(A, Extent.CARD, "device-plugin", gib=80), of_card())
        assert {A: "DCGM exporter"} == used(view)

    def test_one_that_only_happens_to_be_alone_has_not(self):
        assert {A: None} == used(only(hold(A), of_card()))

    def test_two_that_both_hold_it_whole_have_none_of_it(self):
        """Nobody knows which of the two it is."""
        view = only(hold(A, Extent.CARD, "dra"), hold(B, Extent.CARD, "dra"), of_card())
        assert {A: None, B: None} == used(view)

    def test_an_instance_is_its_tenant_s(self):
        view = only(
            instance(A), instance(B), of_instance("7", A, 2), of_instance("8", B, 3), of_instance("9")
        )
        assert {A: "DCGM exporter", B: "DCGM exporter"} == used(view)
        assert [2 * GIB, 3 * GIB] == [tenant.use.memory_bytes for tenant in view.tenants]

    def test_an_instance_that_two_share_is_neither_s(self):
        sliced = Use("GPU-a", "7", (A, B), False, GIB, 0.9, "DCGM exporter")
        assert {A: None, B: None} == used(only(hold(A), hold(B), sliced))

    def test_a_share_s_own_reading_comes_before_a_device_s(self):
        view = only(hold(A), hold(B), of_share(A, 3), of_card(tenants=(A,)))
        assert {A: "HAMi", B: None} == used(view)

    def test_the_reading_of_another_card_is_not_taken(self):
        cards = [CARD, Card("GPU-b", "n")]
        views = shared(cards, [[hold(A), hold(A, card="GPU-b")]], [of_share(A, card="GPU-b")])
        assert [None, "HAMi"] == [used(view)[A] for view in views]

    def test_two_instances_of_one_card_are_one_tenant_s(self):
        holds = [instance(A), instance(A), instance(B)]
        uses = [of_instance("7", A, 2), of_instance("8", A, 3), of_instance("9", B, 1)]
        [view] = shared([CARD], [holds], uses)
        first, second = view.tenants
        assert (2 / 8, 2 / 7, Extent.INSTANCE) == (
            first.hold.memory_share,
            first.hold.compute_share,
            first.hold.extent,
        )
        assert (5 * GIB, None) == (first.use.memory_bytes, first.use.compute)
        assert (GIB, 0.5) == (second.use.memory_bytes, second.use.compute)
        assert (3 / 8, 3 / 7) == pytest.approx((view.memory_granted, view.compute_granted))

    def test_what_several_hold_together_counts_once(self):
        """Engines that take turns on one claim."""
        holds = [replace(instance(tenant), extent=Extent.SHARE, together=2) for tenant in (A, B)]
        [view] = shared([CARD], [holds], [of_instance("7", A)])
        assert (1 / 8, 1 / 7) == pytest.approx((view.memory_granted, view.compute_granted))
        assert [(B,), (A,)] == [tenant.falls_with for tenant in view.tenants]

    def test_what_is_not_known_of_one_part_is_not_known_of_both(self):
        [view] = shared([CARD], [[hold(A), replace(hold(A), memory_bytes=None)]], [])
        assert view.memory_granted is None


class TestUsed:
    def test_card_instances_and_shares_show_the_same_bytes(self):
        view = only(hold(A), hold(B), of_card(9), of_share(A, 4), of_share(B, 5))
        assert 9 * GIB == view.memory_used_bytes

    def test_instances_add_up_each_once(self):
        repeated = of_instance("7", A, 2)
        view = only(instance(A), repeated, repeated, of_instance("8", None, 1))
        assert (3 * GIB, None) == (view.memory_used_bytes, view.compute_used)

    def test_shares_add_up_where_every_tenant_has_one(self):
        assert 9 * GIB == only(hold(A), hold(B), of_share(A, 4), of_share(B, 5)).memory_used_bytes
        assert only(hold(A), hold(B), of_share(A, 4)).memory_used_bytes is None

    def test_without_a_signal_nobody_knows(self):
        view = only(hold(A))
        assert (None, None) == (view.memory_used_bytes, view.compute_used)

    def test_an_instance_without_a_reading_makes_the_sum_unknown(self):
        silent = replace(of_instance("8", B), memory_bytes=None)
        assert only(instance(A), of_instance("7", A), silent).memory_used_bytes is None


class TestStranded:
    def test_seven_small_instances_leave_a_memory_slice_that_none_can_have(self):
        view = only(*(instance(f"t/{number}") for number in range(7)))
        assert (7 / 8, 1.0, 1 / 8) == pytest.approx(
            (view.memory_granted, view.compute_granted, view.stranded)
        )

    def test_compute_without_memory_is_stranded_too(self):
        view = only(hold(A, gib=80, compute=0.3))
        assert pytest.approx(0.7) == view.stranded

    def test_where_compute_has_no_bound_nobody_can_say(self):
        view = only(hold(A, gib=40))
        assert (0.5, None, None) == (view.memory_granted, view.compute_granted, view.stranded)

    def test_a_free_card_has_nothing_granted_and_nothing_stranded(self):
        view = only()
        assert (0.0, 0.0, 0.0, ()) == (
            view.memory_granted,
            view.compute_granted,
            view.stranded,
            view.tenants,
        )

    def test_memory_in_bytes_says_nothing_of_a_card_of_unknown_size(self):
        assert only(hold(A, gib=40), cards=()).memory_granted is None


class TestFaults:
    def test_all_tenants_are_neighbours_and_shares_fall_together(self):
        view = only(hold(A), hold(B), hold(C))
        assert [(B, C), (A, C), (A, B)] == [tenant.neighbours for tenant in view.tenants]
        assert [(B, C), (A, C), (A, B)] == [tenant.falls_with for tenant in view.tenants]

    def test_instances_fall_alone_but_with_their_card(self):
        view = only(instance(A), instance(B))
        assert [(B,), (A,)] == [tenant.neighbours for tenant in view.tenants]
        assert [(), ()] == [tenant.falls_with for tenant in view.tenants]
        assert [A, B] == [tenant.hold.tenant for tenant in view.tenants], "the card's blast radius"

    def test_mechanisms_that_have_met_are_both_named(self):
        assert ("hami", "kai") == only(hold(A), hold(B, mechanism="kai")).mechanisms


class TestJoining:
    def test_who_is_only_seen_is_a_tenant_with_nothing_known_of_its_grant(self):
        view = only(of_card(tenants=(A,)))
        assert [(A, "", None)] == [
            (tenant.hold.tenant, tenant.hold.mechanism, tenant.hold.memory_bytes) for tenant in view.tenants
        ]
        assert view.memory_granted is None

    def test_what_one_source_does_not_say_another_adds(self):
        objects, exporter = Hold(A, "GPU-a", "kai", memory_share=0.5), hold(A, compute=0.4)
        [tenant] = only(objects, exporter).tenants
        assert ("kai", 0.5, 20 * GIB, 0.4) == (
            tenant.hold.mechanism,
            tenant.hold.memory_share,
            tenant.hold.memory_bytes,
            tenant.hold.compute_share,
        )
        [view] = shared([Card("GPU-a", "", "", 80 * GIB), Card("GPU-a", "n", "h100-80gb", 1.0)], [], [])
        assert CARD == view.card

    def test_a_hold_without_a_card_is_on_the_one_that_readings_name_it_on(self):
        whole = Hold(A, "", "device-plugin", memory_share=1.0, compute_share=1.0, extent=Extent.CARD)
        view = only(whole, of_card(tenants=(A,)))
        assert {A: "DCGM exporter"} == used(view)
        assert () == shared([], [[whole]], [])

    def test_cards_come_by_node_and_name(self):
        cards = [Card("GPU-b", "n"), Card("GPU-c", "m"), Card("GPU-a", "n")]
        assert ["GPU-c", "GPU-a", "GPU-b"] == [view.card.uuid for view in shared(cards, [], [])]
