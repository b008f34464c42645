"""What each pod holds in numbers: by claims, KAI's binder, HAMi's annotation, or plain resources."""

import pytest

from actuator.inventory.hami import REGISTER
from actuator.inventory.holdings import cards_of, holds_of, registered_cards
from actuator.objects.slices import SliceReader
from fleet.sharing import Card, Extent, Hold
from tests.fakes.manifests import h100_slices

GIB, MIB = 2**30, 2**20
INVENTORY = SliceReader().read(h100_slices())
[GPU] = INVENTORY.gpus


def pod(name="p", annotations=None, node="n", **spec):
    return {
        "metadata": {"name": name, "namespace": "t", "annotations": annotations or {}},
        "spec": {"nodeName": node, "containers": [], **spec},
    }


def asking(**count):
    named = {f"nvidia.com/{name.replace('_', '-')}": str(n) for name, n in count.items()}
    return [{"name": "c", "resources": {"limits": named}}]


def claim(device, user="p", namespace="t"):
    result = {"request": "r", "driver": "gpu.nvidia.com", "pool": "node-h100-dynamic", "device": device}
    return {
        "metadata": {"name": f"c-{device}", "namespace": namespace},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": user, "uid": user}],
        },
    }


def holds(*pods, claims=(), config_maps=None, sliced=()):
    return list(holds_of(pods, list(claims), INVENTORY, config_maps or {}, frozenset(sliced)))


def test_an_instance_is_slices_of_its_card():
    [hold] = holds(pod(), claims=[claim("gpu-0-mig-3g40gb-9-0")])
    assert Hold("t/p", GPU.uuid, "dra", 39.5 * GIB, 4 / 8, 3 / 7, Extent.INSTANCE) == hold


def test_a_whole_card_is_all_of_it():
    [hold] = holds(pod(), claims=[claim("gpu-0")])
    assert Hold("t/p", GPU.uuid, "dra", GPU.board.memory_gib * GIB, 1.0, 1.0, Extent.CARD) == hold


def test_a_claim_that_two_pods_use_is_held_by_both_together():
    shared = claim("gpu-0-mig-3g40gb-9-0")
    shared["status"]["reservedFor"].append({"resource": "pods", "name": "q", "uid": "q"})
    held = holds(pod(), pod("q"), claims=[shared])
    assert [("t/p", 4 / 8, Extent.SHARE, 2), ("t/q", 4 / 8, Extent.SHARE, 2)] == [
        (hold.tenant, hold.memory_share, hold.extent, hold.together) for hold in held
    ]


@pytest.mark.parametrize(("bound", "memory"), [(20 * GIB, "20Gi"), (None, "0")])
def test_a_share_of_a_device_is_the_memory_that_it_consumes(bound, memory):
    share = claim("gpu-0")
    share["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] = {"memory": memory}
    assert [Hold("t/p", GPU.uuid, "dra-shares", bound)] == holds(pod(), claims=[share])


def test_claims_of_others_are_others():
    assert [] == holds(pod(), claims=[claim("gpu-0", user="q"), claim("gpu-0", namespace="u")])


def kai(portion, cards):
    data = {"GPU_PORTION": portion, "NVIDIA_VISIBLE_DEVICES": cards}
    return {("t", "shared-0"): {"data": data}}


def test_a_fraction_is_what_the_binder_gave_and_not_what_the_annotation_says():
    body = pod(annotations={"gpu-fraction": "0.3", "runai/shared-gpu-configmap": "shared"})
    assert [Hold("t/p", "GPU-a", "kai", memory_share=0.5)] == holds(body, config_maps=kai("0.50", "GPU-a"))
    both = holds(body, config_maps=kai("0.25", "GPU-a,GPU-b"))
    assert [("GPU-a", 0.25), ("GPU-b", 0.25)] == [(hold.card, hold.memory_share) for hold in both]


def test_a_fraction_that_was_not_bound_has_no_card_and_no_size():
    assert [Hold("t/p", "", "kai")] == holds(pod(annotations={"gpu-fraction": "0.3"}))


@pytest.mark.parametrize(
    ("expected", "text", "spec"),
    [
        ([("GPU-a", 8000, 0.3)], "GPU-a,NVIDIA,8000,30:;", {}),
        ([("GPU-a", 4000, None)], "GPU-a,NVIDIA,4000,0:;", {}),
        ([("GPU-a", 1000, 0.1), ("GPU-b", 1000, 0.1)], "GPU-a,NVIDIA,1000,10:GPU-b,NVIDIA,1000,10:;", {}),
        ([("GPU-a", 8000, None)], "GPU-a,NVIDIA,3000,0:;GPU-a,NVIDIA,5000,0:;", {}),
        (
            [("GPU-a", 7000, None)],
            "GPU-a,NVIDIA,7000,0:;GPU-a,NVIDIA,3000,0:;",
            {"initContainers": asking(gpu=1, gpumem=7000)},
        ),
        ([], "GPU-a,NVIDIA:;", {}),
    ],
)
def test_what_hami_allocated(expected, text, spec):
    held = holds(pod(annotations={"hami.io/vgpu-devices-allocated": text}, **spec))
    assert [(card, mib * MIB, cores) for card, mib, cores in expected] == [
        (hold.card, hold.memory_bytes, hold.compute_share) for hold in held
    ]


@pytest.mark.parametrize(
    ("expected", "spec", "sliced"),
    [
        (
            Hold("t/p", "", "device-plugin", memory_share=1.0, compute_share=1.0, extent=Extent.CARD),
            {"containers": asking(gpu=1)},
            (),
        ),
        (
            Hold("t/p", "", "device-plugin", extent=Extent.INSTANCE),
            {"containers": asking(**{"mig-1g.10gb": 1})},
            (),
        ),
        (Hold("t/p", "", "time-slicing"), {"containers": asking(gpu=1)}, ("n",)),
    ],
)
def test_plain_resources_say_no_card(expected, spec, sliced):
    assert [expected] == holds(pod(**spec), sliced=sliced)


def test_cards_are_those_that_are_published_or_registered():
    assert [Card(GPU.uuid, "node-h100-dynamic", "h100-80gb", GPU.board.memory_gib * GIB)] == list(
        cards_of(INVENTORY)
    )
    register = '[{"id":"GPU-a","count":10,"devmem":81559,"devcore":100,"health":true}]'
    nodes = [
        {"metadata": {"name": "na", "annotations": {REGISTER: register}}},
        {"metadata": {"name": "nb", "annotations": {}}},
    ]
    assert [Card("GPU-a", "na", "", 81559 * MIB)] == list(registered_cards(nodes))
