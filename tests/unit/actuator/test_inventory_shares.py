"""How full shared cards are, by each mechanism's own ledger."""

import json

import pytest

from actuator.inventory.hami import ALLOCATED, REGISTER
from actuator.inventory.kai import groups_of
from actuator.inventory.nodes import node_view
from actuator.inventory.shares import (
    CardUse,
    dra_use,
    hami_use,
    kai_use,
    overcommitted,
    shared_device,
    sliced_use,
)
from fleet.ledgers.consumable import Capacity, Policy
from tests.fakes.manifests import observed

MI = 1 << 20


def node(*cards):
    register = [
        {"id": uuid, "count": 10, "devmem": mib, "devcore": 100, "type": "NVIDIA", "health": True}
        for uuid, mib in cards
    ]
    return {"metadata": {"name": "n", "annotations": {REGISTER: json.dumps(register)}}}


def pod(name, allocated=None, phase="Running", init=0, group=None, **annotations):
    notes = {key.replace("_", "-"): value for key, value in annotations.items()}
    if allocated:
        notes[ALLOCATED] = allocated
    gpu = [{"name": f"i{n}", "resources": {"limits": {"nvidia.com/gpu": "1"}}} for n in range(init)]
    return {
        "metadata": {
            "name": name,
            "namespace": "t",
            "annotations": notes,
            "labels": {"runai-gpu-group": group} if group else {},
        },
        "spec": {"nodeName": "n", "initContainers": [*gpu, {"name": "plain"}]},
        "status": {"phase": phase},
    }


def used(*pods):
    return {
        use.card: (use.used, use.total, use.tenants)
        for use in hami_use([node(("GPU-a", 80_000), ("GPU-b", 80_000))], pods)
    }


class TestHami:
    def test_containers_and_pods_on_a_card_add_up(self):
        both = pod("p", "GPU-a,N,3000,0:;GPU-a,N,5000,0:;")

        assert {"GPU-a": (9000, 80_000, 2), "GPU-b": (1000, 80_000, 1)} == used(
            both, pod("q", "GPU-a,N,1000,0:GPU-b,N,1000,0:;")
        )

    def test_an_init_container_and_what_comes_after_it_count_as_the_larger(self):
        assert (7000, 80_000, 1) == used(pod("p", "GPU-a,N,7000,0:;GPU-a,N,3000,0:;", init=1))["GPU-a"]
        assert (9000, 80_000, 1) == used(pod("p", "GPU-a,N,7000,0:;GPU-a,N,9000,0:;", init=1))["GPU-a"]
        assert (7000, 80_000, 1) == used(pod("p", "GPU-a,N,7000,0:;GPU-b,N,9000,0:;", init=1))["GPU-a"]

    @pytest.mark.parametrize(
        "body", [pod("p", "GPU-a,N,5,0:;", phase="Failed"), pod("p", "GPU-a,N:;"), pod("p")]
    )
    def test_a_pod_that_is_over_or_unreadable_adds_nothing(self, body):
        assert (0, 80_000, 0) == used(body)["GPU-a"]

    def test_a_node_that_registers_nothing_has_no_shared_card(self):
        assert [] == list(hami_use([{"metadata": {"name": "n"}}], []))


class TestKai:
    def use(self, *pods, config_maps=None):
        return [
            (use.card, use.used, use.total, use.tenants)
            for use in kai_use(groups_of(pods), pods, config_maps or {})
        ]

    def reservation(self, group, device):
        body = pod(f"r-{group}", group=group, **{"run.ai/reserve_for_gpu_index": device})
        body["metadata"]["namespace"] = "kai-resource-reservation"
        body["metadata"]["annotations"] = {"run.ai/reserve_for_gpu_index": device}
        return body

    def test_what_was_given_counts_and_not_what_is_written_now(self):
        pods = [
            self.reservation("g", "GPU-a"),
            pod("p", group="g", gpu_fraction="0.3", **{"runai/shared-gpu-configmap": "cm"}),
            pod("q", group="g", gpu_fraction="0.7"),
        ]
        given = {("t", "cm-0"): {"data": {"GPU_PORTION": "0.60"}}}

        assert [("GPU-a", 130, 100, 2)] == self.use(*pods, config_maps=given)
        assert [("GPU-a", 100, 100, 2)] == self.use(*pods)

    def test_a_group_whose_card_is_not_known_goes_by_its_name(self):
        assert [("group g", 50, 100, 1)] == self.use(pod("p", group="g", gpu_fraction="0.5"))


def claim(name, device, **consumed):
    result = {"pool": "node-h100-shares-memory", "device": device, "consumedCapacity": consumed}
    return {"status": {"allocation": {"devices": {"results": [result]}}}}


class TestDra:
    def test_claims_consume_capacity_of_a_device(self):
        claims = [claim("a", "gpu-0", memory="20Gi"), claim("b", "gpu-0", memory="2Mi"), claim("c", "gpu-9")]
        uses = list(dra_use(observed("slices-h100-consumable-memory"), claims))

        assert [
            ("gpu-0", "memory", 81559 * MI, 20482 * MI, 2),
            ("gpu-1", "memory", 81559 * MI, 0, 0),
        ] == [(use.card, use.unit, use.total, use.used, use.tenants) for use in uses]

    def test_devices_that_one_claim_takes_whole_are_left_out(self):
        assert [] == list(dra_use(observed("slices-h100-static-mig"), []))

    def test_policies_are_read_as_published(self):
        published = {
            "allowMultipleAllocations": True,
            "capacity": {
                "memory": {
                    "value": "8Mi",
                    "requestPolicy": {
                        "default": "8Mi",
                        "validRange": {"min": "1Mi", "max": "8Mi", "step": "1Mi"},
                    },
                },
                "shares": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
                "multiprocessors": {"value": "16"},
            },
        }
        device = shared_device(published)

        assert {
            "memory": Capacity(8 * MI, Policy(8 * MI, MI, 8 * MI, MI)),
            "shares": Capacity(4, Policy(1, values=(1, 2))),
            "multiprocessors": Capacity(16),
        } == device.capacities
        assert device.is_shared


class TestTimeSlicing:
    def use(self, replicas, *pods):
        body = {
            "metadata": {"name": "n", "labels": {"nvidia.com/gpu.replicas": str(replicas)}},
            "status": {"allocatable": {"nvidia.com/gpu": str(2 * replicas)}},
        }
        view, _ = node_view(body, {})
        return [(u.card, u.unit, u.total, u.used, u.tenants) for u in sliced_use([view], pods)]

    def sliced(self, count, node="n", phase="Running", resource="nvidia.com/gpu"):
        limits = {"resources": {"limits": {resource: str(count)}}}
        return {"spec": {"nodeName": node, "containers": [limits, {}]}, "status": {"phase": phase}}

    def test_tenants_of_a_node_hold_replicas_of_its_cards(self):
        shared = self.sliced(1, resource="nvidia.com/gpu.shared")
        pods = (
            self.sliced(2),
            shared,
            self.sliced(5, node="m"),
            self.sliced(5, phase="Failed"),
            {"spec": {"nodeName": "n"}},
        )

        assert [("node n", "replicas", 8, 3, 2)] == self.use(4, *pods)

    def test_cards_that_are_not_sliced_are_no_shared_cards(self):
        assert [] == self.use(1, self.sliced(1))


def test_a_card_that_has_given_out_more_than_it_has_is_an_error():
    full, over = (CardUse("kai", "n", f"GPU-{n}", "hundredths", 100, n, 2) for n in (100, 130))
    [found] = overcommitted([full, over])

    assert ("overcommitted", "card GPU-130", "kai has given out 130 of 100 hundredths") == (
        found.code,
        found.object,
        found.what,
    )
