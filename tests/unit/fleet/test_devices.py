"""Counters, what draws on them, and the order in which the scheduler looks."""

from dataclasses import replace

from fleet.devices import Device, DeviceRequest, Ledger, Pool, first_fit, in_order_of_trial, ledger_of

MEMORY, SLICE = ("set", "memory"), ("set", "memory-slice-0")


def device(name="a", pool="node-1", draws=None, kind="mig", profile="1g.10gb", product="H100"):
    drawn = {MEMORY: 10} if draws is None else draws
    return Device(pool, pool, name, kind, "GPU-0", profile, drawn, product=product)


def pool(*devices, name="node-1", counters=None):
    return Pool(name, name, devices, {MEMORY: 30, SLICE: 1} if counters is None else counters)


class TestFits:
    def test_while_the_counters_hold_what_is_drawn(self):
        ledger = ledger_of([pool()])
        assert ledger.fits(device(draws={MEMORY: 30, SLICE: 1}))
        assert not ledger.fits(device(draws={MEMORY: 31}))
        assert not ledger.fits(device(draws={SLICE: 2}))

    def test_not_a_second_time_even_if_it_draws_nothing(self):
        whole = device(draws={})
        assert ledger_of([pool()]).fits(whole)
        assert not ledger_of([pool()], [whole]).fits(whole)

    def test_a_namesake_in_another_pool_is_another_device(self):
        taken = ledger_of([pool(), pool(name="node-2")], [device(draws={})])
        assert taken.fits(device(pool="node-2", draws={}))

    def test_what_no_counter_is_published_for_cannot_be_drawn(self):
        ledger = ledger_of([pool(counters={})])
        assert not ledger.fits(device(draws={MEMORY: 1}))
        assert ledger.fits(device(draws={MEMORY: 0}))

    def test_a_pool_that_is_not_published_has_nothing_to_draw_on(self):
        ledger = ledger_of([])
        assert not ledger.fits(device())
        assert ledger.fits(device(draws={}))


class TestTake:
    def test_draws_once_from_its_own_pool_and_leaves_the_old_ledger_as_it_was(self):
        before = ledger_of([pool(), pool(name="node-2")])
        after = before.take(device())

        assert {"node-1": {MEMORY: 20, SLICE: 1}, "node-2": {MEMORY: 30, SLICE: 1}} == after.left
        assert {"node-1": frozenset({"a"})} == after.taken
        assert ({MEMORY: 30, SLICE: 1}, {}) == (before.left["node-1"], before.taken)

    def test_is_what_counting_from_the_start_gives(self):
        pools = [pool(), pool(name="node-2")]
        devices = [device("a"), device("b", draws={MEMORY: 5}), device("a", pool="node-2")]
        ledger = ledger_of(pools)
        for one in devices:
            ledger = ledger.take(one)

        assert ledger_of(pools, devices) == ledger

    def test_what_overruns_a_counter_is_counted_as_a_debt(self):
        overrun = ledger_of([pool()], [device("a", draws={MEMORY: 50})])
        assert -20 == overrun.left["node-1"][MEMORY]
        assert not overrun.fits(device("b", draws={MEMORY: 1}))

    def test_draws_on_counters_and_pools_that_nobody_published_start_at_nothing(self):
        lost = ledger_of([pool(counters={})], [device(), device(pool="node-9")])
        assert {"node-1": {MEMORY: -10}, "node-9": {MEMORY: -10}} == lost.left
        assert Ledger({}).take(device()).left == {"node-1": {MEMORY: -10}}


class TestOrderOfTrial:
    def test_company_outdoes_room(self):
        pools = [pool(name=name) for name in ("a", "b", "c")]
        ledger = ledger_of(pools, [device(pool="b")])
        assert ["b", "a", "c"] == [one.name for one in in_order_of_trial(pools, ledger, {"b": 1})]

    def test_the_pool_with_fewest_devices_in_use_comes_first_then_by_name(self):
        pools = [pool(name=name) for name in ("c", "a", "b")]
        ledger = ledger_of(pools, [device(pool="a")])
        assert ["b", "c", "a"] == [one.name for one in in_order_of_trial(pools, ledger)]


class TestFirstFit:
    def test_the_first_that_matches_and_fits_in_published_order(self):
        small, large = device("small", draws={MEMORY: 31}), device("large", draws={MEMORY: 30})
        pools = [pool(small, large), pool(device("later", pool="node-2"), name="node-2")]
        assert (large,) == first_fit(pools, ledger_of(pools), DeviceRequest("mig", "1g.10gb"))
        (later,) = first_fit(pools, ledger_of(pools, [large]), DeviceRequest("mig", "1g.10gb"))
        assert "later" == later.name

    def test_kind_profile_and_product_must_match_where_they_are_given(self):
        pools = [pool(device())]
        ledger = ledger_of(pools)
        for request, matches in (
            (DeviceRequest("mig"), True),
            (DeviceRequest("gpu"), False),
            (DeviceRequest("mig", "2g.20gb"), False),
            (DeviceRequest("mig", "1g.10gb", ("A100", "H100")), True),
            (DeviceRequest("mig", "1g.10gb", ("A100",)), False),
        ):
            assert matches == bool(first_fit(pools, ledger, request))

    def test_several_are_of_one_node_and_share_what_they_must(self):
        """Cards 0 and 2 hang on one root; nothing is said of where card 3 hangs."""
        cards = [
            replace(device(name, draws={}, kind="gpu", profile=None), attributes=attributes)
            for name, attributes in (
                ("0", {"root": "a"}),
                ("1", {"root": "b"}),
                ("2", {"root": "a"}),
                ("3", {}),
            )
        ]
        lone = replace(cards[0], pool="node-0")
        pools = [pool(lone, name="node-0"), pool(*cards)]

        def fit(count, *sharing, taken=()):
            request = DeviceRequest("gpu", count=count, sharing=sharing)
            return "".join(found.name for found in first_fit(pools, ledger_of(pools, taken), request))

        assert ["01", "012", ""] == [fit(2), fit(3), fit(5)]
        assert ["02", ""] == [fit(2, "root"), fit(3, "root")]
        assert ["12", ""] == [fit(2, taken=cards[:1]), fit(2, "root", taken=cards[:1])]
        assert "1" == fit(1, "root", taken=[lone, cards[0]])

    def test_several_do_not_take_more_than_there_is_together(self):
        pools = [pool(*(device(name, draws={MEMORY: 20}, kind="gpu", profile=None) for name in "ab"))]
        assert () == first_fit(pools, ledger_of(pools), DeviceRequest("gpu", count=2))
