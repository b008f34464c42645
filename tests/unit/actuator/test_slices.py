"""ResourceSlices of NVIDIA's driver, read into pools, cards and boards."""

import copy

import pytest
import yaml

from actuator.objects.slices import SliceReader
from actuator.quantity import amount
from fleet.boards import A100_80GB, H100_80GB
from fleet.devices import DeviceRequest, first_fit, ledger_of
from fleet.shape import SHARE_SIZES, WHOLE, Shape
from tests.fakes.manifests import OBSERVED, h100_slices, observed


def read(slices):
    return SliceReader().read(slices)


def combined(generation=1):
    """The one slice of an API server before 1.35: counters and devices together."""
    spec = yaml.safe_load((OBSERVED / "slice-h100-combined-for-1.34-excerpt.yaml").read_text())
    pool = {"name": "c1", "generation": generation, "resourceSliceCount": 1}
    return {
        "metadata": {"name": "slice-c1", "resourceVersion": "1"},
        "spec": {"driver": "gpu.nvidia.com", "nodeName": "c1", "pool": pool, **spec},
    }


def test_a_card_with_dynamic_mig_is_one_gpu_with_all_its_devices_in_published_order():
    inventory = read(h100_slices())

    assert [("GPU-node-h100-dynamic-0", "node-h100-dynamic", H100_80GB)] == [
        (gpu.uuid, gpu.node, gpu.board) for gpu in inventory.gpus
    ]
    [pool] = inventory.pools
    names = [device.name for device in pool.devices]
    assert 26 == len(names)
    assert ["gpu-0", "gpu-0-mig-1g10gb-19-0", "gpu-0-mig-1g10gb-19-1"] == names[:3]
    assert ["gpu-0-mig-4g40gb-5-0", "gpu-0-mig-7g80gb-0-0"] == names[-2:]


def test_what_a_mig_device_is():
    device = read(h100_slices()).devices()["node-h100-dynamic", "gpu-0-mig-3g40gb-9-4"]

    assert ("mig", "3g.40gb", "GPU-node-h100-dynamic-0") == (device.kind, device.profile, device.gpu)
    assert frozenset({4, 5, 6, 7}) == device.memory_slices
    assert "NVIDIA H100 80GB HBM3" == device.product
    assert 60 == device.draws["gpu-0-counter-set", "multiprocessors"]
    assert 40448 * 2**20 == device.draws["gpu-0-counter-set", "memory"]


def test_what_a_whole_card_is():
    device = read(h100_slices()).devices()["node-h100-dynamic", "gpu-0"]

    assert ("gpu", None, "GPU-node-h100-dynamic-0") == (device.kind, device.profile, device.gpu)
    assert frozenset(range(8)) == device.memory_slices


def test_counters_of_the_slice_apart_are_the_pool_s():
    [pool] = read(h100_slices(gpus=2)).pools

    assert 132 == pool.counters["gpu-1-counter-set", "multiprocessors"]
    assert 1 == pool.counters["gpu-0-counter-set", "memory-slice-7"]
    assert 81152 * 2**20 == pool.counters["gpu-0-counter-set", "memory"]


def test_counters_in_the_same_slice_as_devices_are_read_alike():
    inventory = read([combined()])

    [pool] = inventory.pools
    assert 132 == pool.counters["gpu-0-counter-set", "multiprocessors"]
    assert [None, "1g.10gb", "3g.40gb"] == [device.profile for device in pool.devices]
    assert [H100_80GB] == [gpu.board for gpu in inventory.gpus]


def test_the_static_layout_of_a_node_is_what_is_published():
    """A card in MIG mode without instances is not announced at all, and devices come in no order."""
    inventory = read(observed("slices-h100-static-mig"))

    assert ["GPU-node-h100-static-0", "GPU-node-h100-static-1", "GPU-node-h100-static-3"] == [
        gpu.uuid for gpu in inventory.gpus
    ]
    assert {H100_80GB} == {gpu.board for gpu in inventory.gpus}
    slices = {device.name: device.memory_slices for device in inventory.pools[0].devices}
    assert frozenset({2, 3}) == slices["gpu-0-mig-2g20gb-14-2"]
    assert frozenset({1}) == slices["gpu-0-mig-1g10gb-19-1"]
    assert frozenset() == slices["gpu-3"]


def test_whole_cards_without_counters_share_nothing():
    inventory = read(observed("slices-a100-dynamic-mig-mode-off"))

    [pool] = inventory.pools
    assert ["gpu-0", "gpu-1"] == [device.name for device in pool.devices]
    assert {} == pool.counters
    assert [A100_80GB, A100_80GB] == [gpu.board for gpu in inventory.gpus]


def test_a_card_that_is_not_offered_whole_is_known_by_its_instances():
    inventory = read(observed("slices-a100-dynamic-mig-mode-on"))

    assert [("GPU-node-a100-dynamic-mig-on-0", A100_80GB)] == [(g.uuid, g.board) for g in inventory.gpus]
    assert all(device.kind == "mig" for device in inventory.pools[0].devices)


class TestWithoutCounters:
    """What an API server that does not know counters keeps of dynamic MIG (seen on 1.34 and 1.35)."""

    @staticmethod
    def dropped(slices):
        kept = copy.deepcopy(slices)
        for body in kept:
            body["spec"].pop("sharedCounters", None)
            for device in body["spec"].get("devices", ()):
                device.pop("consumesCounters", None)
        return kept

    @pytest.mark.parametrize("name", ["slices-h100-dynamic-mig", "slices-a100-dynamic-mig-mode-on"])
    def test_cards_are_known_all_the_same(self, name):
        slices = observed(name)
        assert read(slices).gpus == read(self.dropped(slices)).gpus

    def test_every_shape_but_the_whole_card_is_barred_and_the_counters_are_named(self):
        inventory = read(self.dropped(h100_slices()))
        assert {Shape(H100_80GB.id, profile.name) for profile in H100_80GB.profiles} == set(inventory.barred)
        (said,) = set(inventory.barred.values())
        assert said.startswith(
            "no dynamic MIG, whole cards only: the ResourceSlices of node node-h100-dynamic "
        )
        assert "have no counters (sharedCounters, consumesCounters)" in said

    @pytest.mark.parametrize(
        "name", ["slices-h100-dynamic-mig", "slices-h100-static-mig", "slices-a100-dynamic-mig-mode-off"]
    )
    def test_with_counters_or_without_need_of_them_nothing_is_barred(self, name):
        assert {} == read(observed(name)).barred

    def test_a_static_layout_beside_does_not_make_a_shape_safe(self):
        """A claim for it may be given the device that nothing keeps apart."""
        static = observed("slices-h100-static-mig")
        inventory = read([*static, *self.dropped(h100_slices())])
        assert Shape(H100_80GB.id, "2g.20gb") in inventory.barred


SHARES = {f"{size}/100" for size in SHARE_SIZES["dra-shares"]}


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("slices-h100-consumable-memory", set()),
        ("slices-h100-consumable-unlimited", {"whole", *SHARES}),
        ("slices-h100-consumable-4-static-mig", {"whole", "3g.40gb", "1g.10gb", *SHARES}),
    ],
)
def test_devices_that_a_claim_does_not_have_for_itself_are_barred_and_the_setting_is_named(name, shapes):
    """By memory, a claim that names none takes all of it; else it takes nothing, or one share of four."""
    barred = read(observed(name)).barred
    assert {Shape(H100_80GB.id, shape) for shape in shapes} == set(barred)
    assert all("set consumableShares of the driver to disabled or memory" in why for why in barred.values())


class TestShares:
    def inventory(self):
        return read(observed("slices-h100-consumable-memory"))

    def result(self, **consumed):
        more = {"shareID": "s", "consumedCapacity": consumed} if consumed else {}
        pool = "node-h100-shares-memory"
        return {"driver": "gpu.nvidia.com", "pool": pool, "device": "gpu-0", **more}

    def test_a_card_is_offered_in_parts_card_by_card_and_each_size_fits_as_often_as_in_a_hundred(self):
        (pool,) = self.inventory().pools
        for size in SHARE_SIZES["dra-shares"]:
            request, ledger, got = DeviceRequest("share", f"{size}/100"), ledger_of([pool]), []
            while found := first_fit([pool], ledger, request):
                ledger = ledger.take(found[0])
                got.append(found[0].part_of)
            assert ["gpu-0"] * (100 // size) + ["gpu-1"] * (100 // size) == got

    @pytest.mark.parametrize(
        ("consumed", "kind", "profile"),
        [
            ({"memory": "20389Mi"}, "share", "25/100"),
            ({"memory": "81559Mi"}, "gpu", None),
            ({"memory": "1Mi"}, "share", "1/100"),
            ({}, "gpu", None),
        ],
    )
    def test_what_was_consumed_says_what_was_given(self, consumed, kind, profile):
        held = self.inventory().held(self.result(**consumed))
        assert (kind, profile) == (held.kind, held.profile)
        assert (kind == "share") == bool(Shape("h100-80gb", held.profile or WHOLE).hundredths)
        assert ("node-h100-shares-memory", "gpu-0") == held.published
        assert [amount(consumed.get("memory", "81559Mi"))] == list(held.draws.values())

    def test_of_cards_that_are_cut_too_no_parts_are_offered(self):
        (shared,) = observed("slices-h100-consumable-memory")
        counter = {"counterSet": "c", "counters": {"memory": {"value": "81559Mi"}}}
        devices = [{**one, "consumesCounters": [counter]} for one in shared["spec"]["devices"]]
        (pool,) = read([{**shared, "spec": {**shared["spec"], "devices": devices}}]).pools
        assert [None, None] == [device.shared for device in pool.devices]


SEQUENCE = [
    ("gpu", None, "gpu-0"),
    ("mig", "1g.10gb", "gpu-1-mig-1g10gb-19-0"),
    ("mig", "3g.40gb", "gpu-1-mig-3g40gb-9-4"),
    ("gpu", None, "gpu-2"),
    ("mig", None, "gpu-1-mig-1g10gb-19-1"),
    ("mig", "1g.10gb+me", "gpu-1-mig-1g10gb-me-20-2"),
    ("gpu", None, None),
]


def test_first_fit_over_what_was_read_binds_what_the_real_scheduler_bound():
    """After the first case of allocation-cases.yaml, on three cards instead of eight."""
    pools = read(h100_slices(gpus=3)).pools
    ledger = ledger_of(pools)
    for kind, profile, name in SEQUENCE:
        device = next(iter(first_fit(pools, ledger, DeviceRequest(kind, profile))), None)
        assert name == (device and device.name)
        ledger = ledger.take(device) if device else ledger


def without(slices, index):
    return [body for number, body in enumerate(slices) if number != index]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_pool_of_which_a_slice_is_missing_is_not_read(missing):
    inventory = read(without(h100_slices(gpus=2), missing))

    assert ((), ()) == (inventory.gpus, inventory.pools)


def test_an_incomplete_pool_hides_no_other():
    slices = [*without(h100_slices("a"), 1), *h100_slices("b")]

    assert ["b"] == [pool.name for pool in read(slices).pools]


def test_only_the_newest_generation_of_a_pool_is_read():
    """While a driver publishes anew, slices of both generations are there."""
    old, new = h100_slices(gpus=2), h100_slices(gpus=1)
    for body in new:
        body["metadata"]["name"] += "-new"
        body["spec"]["pool"]["generation"] = 2

    assert 26 == len(read([*old, *new]).pools[0].devices)
    assert () == read([*old, new[0]]).pools


def test_slices_of_other_drivers_are_skipped():
    foreign = copy.deepcopy(combined())
    foreign["metadata"]["name"] = "nic"
    foreign["spec"]["driver"] = "nic.example.com"

    assert ["c1"] == [pool.name for pool in read([foreign, combined()]).pools]


def test_devices_of_other_types_are_skipped():
    body = combined()
    body["spec"]["devices"].append({"name": "gpu-vfio-0", "attributes": {"type": {"string": "vfio"}}})

    assert "gpu-vfio-0" not in {device.name for device in read([body]).pools[0].devices}


def test_devices_come_in_order_of_slice_name_whatever_the_order_of_the_list():
    slices = h100_slices(gpus=3)

    assert read(slices).pools == read(slices[::-1]).pools
    assert ["gpu-0", "gpu-1", "gpu-2"] == [
        device.name for device in read(slices[::-1]).pools[0].devices if device.kind == "gpu"
    ]


def test_pools_come_in_order_of_name():
    slices = [*h100_slices("b"), *h100_slices("a")]

    assert ["a", "b"] == [pool.name for pool in read(slices).pools]


def test_no_slices_no_cards():
    inventory = read([])

    assert ((), (), {}) == (inventory.gpus, inventory.pools, inventory.devices())


def test_unchanged_slices_give_the_very_same_answer():
    reader = SliceReader()

    assert reader.read(h100_slices()) is reader.read(h100_slices())


def test_a_slice_that_did_not_change_is_not_parsed_again():
    """Contents that differ under the same name and version cannot happen in a cluster; here they show it."""
    reader = SliceReader()
    before = reader.read([*h100_slices("a"), *h100_slices("b")])
    slices = [*h100_slices("a"), *h100_slices("b")]
    slices[1]["spec"]["devices"] = []
    slices[3]["metadata"]["resourceVersion"] = "2"

    after = reader.read(slices)

    assert before.pools[0] is after.pools[0]
    assert before.pools[1] is not after.pools[1]
    assert before.pools[1] == after.pools[1]


def test_a_slice_with_a_new_version_is_read_anew():
    reader = SliceReader()
    reader.read(h100_slices())
    changed = h100_slices()
    changed[1]["metadata"]["resourceVersion"] = "2"
    changed[1]["spec"]["devices"] = changed[1]["spec"]["devices"][:1]

    assert ["gpu-0"] == [device.name for device in reader.read(changed).pools[0].devices]


def test_a_node_that_went_away_and_came_back_is_read_again():
    reader = SliceReader()
    reader.read(h100_slices())
    assert () == reader.read([]).gpus

    assert 1 == len(reader.read(h100_slices()).gpus)
