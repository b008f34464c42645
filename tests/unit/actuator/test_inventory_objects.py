"""Tenants, claims, HAMi's annotations and dumps of any form."""

import json

import pytest

from actuator.inventory.claims import claims_hit, device_view, taint_rule_findings
from actuator.inventory.hami import REGISTER, Grant, allocation_finding, grants_of, registered
from actuator.inventory.understand import dump_of, understand
from actuator.inventory.versions import as_v1, result_names
from actuator.objects.slices import SliceReader
from fleet.errors import InputError
from fleet.ledgers.hami import VgpuCard
from tests.fakes.manifests import h100_slices, observed

ALLOCATED = "hami.io/vgpu-devices-allocated"


def pod(name="p", annotations=None, node="n", phase="Running", **spec):
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "t", "uid": f"uid-{name}", "annotations": annotations or {}},
        "spec": {"nodeName": node, **spec},
        "status": {"phase": phase},
    }


def claim(name="c", device="gpu-0", pool="node-h100-dynamic", user=None, deleted=None, **result):
    metadata = {"name": name, "namespace": "t"}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    allocated = {"request": "r", "driver": "gpu.nvidia.com", "pool": pool, "device": device, **result}
    status = {"allocation": {"devices": {"results": [allocated]}}}
    if user:
        status["reservedFor"] = [{"resource": "pods", "name": user, "uid": f"uid-{user}"}]
    return {"kind": "ResourceClaim", "metadata": metadata, "spec": {}, "status": status}


def tenants(*bodies):
    return [(t["pod"], t["mechanism"], t["holds"], t["gpus"]) for t in understand(dump_of(bodies))["tenants"]]


def codes(*bodies):
    return [finding["code"] for finding in understand(dump_of(bodies))["findings"]]


def limits(**count):
    named = {f"nvidia.com/{name.replace('_', '.')}": str(n) for name, n in count.items()}
    return [{"name": "c", "resources": {"limits": named}}]


class TestTenants:
    def test_a_claim_is_held_by_its_pod_with_the_card(self):
        slices = [{"kind": "ResourceSlice", **body} for body in h100_slices()]

        assert [("t/p", "dra", "gpu-0", ("GPU-node-h100-dynamic-0",))] == tenants(
            pod(), claim(user="p"), *slices
        )

    def test_a_claim_that_consumes_capacity_is_a_share(self):
        shared = claim(user="p", consumedCapacity={"memory": "20Gi"})

        assert [("t/p", "dra-shares", "gpu-0", ())] == tenants(pod(), shared)

    def test_resources_are_counted_by_name(self):
        assert [("t/p", "device-plugin", "2 x nvidia.com/gpu", ())] == tenants(pod(containers=limits(gpu=2)))

    def test_on_a_time_sliced_node_a_gpu_is_a_time_slice(self):
        node = {
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"nvidia.com/gpu.replicas": "4"}},
            "status": {"allocatable": {"nvidia.com/gpu": "4"}},
        }

        assert [("t/p", "time-slicing", "1 x nvidia.com/gpu", ())] == tenants(
            node, pod(containers=limits(gpu=1))
        )

    def test_what_hami_allocated_is_held_by_card(self):
        text = "GPU-a,NVIDIA,1000,10:GPU-b,NVIDIA,1000,10:;"

        assert [
            ("t/p", "hami", "1000 MiB and 10 % of SM time, 1000 MiB and 10 % of SM time", ("GPU-a", "GPU-b"))
        ] == (tenants(pod(annotations={ALLOCATED: text})))

    def test_a_damaged_allocation_is_unknown_and_not_nothing(self):
        body = pod(annotations={ALLOCATED: "GPU-a,NVIDIA:;"})

        assert ([("t/p", "hami", "unknown", ())], ["damaged-allocation"]) == (tenants(body), codes(body))

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_pod_that_is_over_holds_nothing(self, phase):
        assert [] == tenants(pod(phase=phase, containers=limits(gpu=1)))

    def test_a_pod_without_gpu_is_no_tenant(self):
        assert [] == tenants(pod(containers=[{"name": "c"}]))

    def test_a_share_that_waits_is_a_tenant_without_a_card(self):
        assert [("t/p", "kai", "asks for 0.5 of 1 card(s)", ())] == tenants(
            pod(annotations={"gpu-fraction": "0.5"})
        )

    def test_two_mechanisms_on_one_card_are_said_with_who_moves(self):
        bodies = (
            pod("a", annotations={ALLOCATED: "GPU-x,NVIDIA,5,0:;"}),
            pod(
                "b", containers=[{"name": "c", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "GPU-x"}]}]
            ),
        )
        [found] = understand(dump_of(bodies))["findings"]

        assert ("two-mechanisms", "card GPU-x") == (found["code"], found["object"])
        assert "one GPU, one mechanism: hami holds the card" in found["what"]
        assert "move t/b" in found["fix"]


class TestClaims:
    def view(self, *claims, pods=(), now_s=None):
        return device_view(SliceReader().read(observed("slices-h100-static-mig")), claims, pods, now_s)

    def test_instances_of_a_static_layout_are_counted_and_free_until_held(self):
        before, _ = self.view()
        held = claim(device=before.free[0], pool="node-h100-static")
        after, findings = self.view(held)

        assert set(before.free) - {before.free[0]} == set(after.free)
        assert ({}, (), []) == (after.overlapping, after.stuck, findings)
        assert sum(before.instances.values()) + len(before.whole) == len(before.free)

    def test_under_dynamic_mig_the_scheduler_itself_keeps_cards_and_instances_apart(self):
        view, findings = device_view(SliceReader().read(h100_slices()), [], [], None)

        assert ({}, []) == (view.overlapping, findings)

    @pytest.mark.parametrize(
        ("pods", "deleted", "is_stuck"),
        [
            ([], "2026-01-01T00:00:00Z", True),
            ([pod("p")], "2026-01-01T00:00:00Z", False),
            (
                [{**pod("p"), "metadata": {"name": "p", "namespace": "t", "uid": "other"}}],
                "2026-01-01T00:00:00Z",
                True,
            ),
            ([], None, False),
        ],
    )
    def test_a_claim_is_stuck_if_it_is_deleted_and_its_very_pod_is_gone(self, pods, deleted, is_stuck):
        view, findings = self.view(claim(user="p", deleted=deleted), pods=pods)

        assert (["t/c"] if is_stuck else []) == list(view.stuck)
        assert is_stuck is bool(findings)

    @pytest.mark.parametrize(("age_s", "severity"), [(599, "warning"), (600, "error")])
    def test_what_is_stuck_for_ten_minutes_is_an_error(self, age_s, severity):
        _, [found] = self.view(claim(user="p", deleted="1970-01-01T00:00:00Z"), now_s=age_s)

        assert severity == found.severity


def rule(selector, effect="NoSchedule"):
    spec = {"taint": {"key": "k", "effect": effect}}
    return {
        "metadata": {"name": "r"},
        "spec": spec if selector is None else {**spec, "deviceSelector": selector},
    }


class TestTaintRules:
    CLAIMS = (claim("a"), claim("b", device="gpu-1"), claim("c", pool="other"))

    @pytest.mark.parametrize(
        ("selector", "hit"),
        [
            ({}, ["t/a", "t/b", "t/c"]),
            (None, []),
            ({"driver": "gpu.nvidia.com", "pool": "node-h100-dynamic"}, ["t/a", "t/b"]),
            ({"pool": "node-h100-dynamic", "device": "gpu-1"}, ["t/b"]),
            ({"driver": "other"}, []),
        ],
    )
    def test_a_selector_hits_what_agrees_with_all_of_it(self, selector, hit):
        assert hit == claims_hit(rule(selector), self.CLAIMS)

    @pytest.mark.parametrize(
        ("selector", "effect", "code"),
        [
            ({}, "None", ["rule-hits-everything"]),
            ({"pool": "x"}, "NoExecute", ["rule-evicts"]),
            ({"pool": "x"}, "NoSchedule", []),
            (None, "NoSchedule", []),
        ],
    )
    def test_a_rule_for_everything_and_one_that_evicts_are_said(self, selector, effect, code):
        assert code == [f.code for f in taint_rule_findings([rule(selector, effect)], self.CLAIMS)]


CARD = {"id": "GPU-a", "count": 10, "devmem": 81559, "devcore": 100, "type": "NVIDIA H100", "health": True}


class TestHami:
    def node(self, text):
        return {
            "kind": "Node",
            "metadata": {"name": "n", "annotations": {REGISTER: text}},
            "status": {"allocatable": {"nvidia.com/gpu": "10"}},
        }

    def test_registered_cards_are_read(self):
        assert (VgpuCard("GPU-a", 81559),) == registered(self.node(json.dumps([CARD])))

    @pytest.mark.parametrize("text", ["GPU-a,10,81559,100,NVIDIA,0,true:", "", "[1]", "[{}]", "{}"])
    def test_what_hami_does_not_read_is_no_card(self, text):
        assert not registered(self.node(text))

    def test_a_register_that_nobody_reads_is_said(self):
        assert "unread-register" in codes(self.node("GPU-a,10,81559,100,NVIDIA,0,true:"))
        assert "hami-node" in codes(self.node(json.dumps([CARD])))

    @pytest.mark.parametrize(
        ("text", "grants"),
        [
            (
                "GPU-a,NVIDIA,3000,5:;GPU-b,NVIDIA,5000,0:;",
                ((Grant("GPU-a", 3000, 5),), (Grant("GPU-b", 5000, 0),)),
            ),
            (";GPU-a,NVIDIA,1,2:", ((), (Grant("GPU-a", 1, 2),))),
            (";", ((),)),
            ("GPU-a,NVIDIA,x,0:;", None),
            ("GPU-a,NVIDIA,1,-2:;", None),
        ],
    )
    def test_grants_are_read_by_container(self, text, grants):
        assert grants == grants_of(text)

    def test_a_pod_that_was_bound_without_a_card_is_said(self):
        found = allocation_finding(pod(annotations={"hami.io/bind-phase": "allocating"}))

        assert "bound-without-card" == found.code
        assert allocation_finding(pod()) is None
        assert (
            allocation_finding(pod(annotations={"hami.io/bind-phase": "success", ALLOCATED: "GPU-a,N,1,0:;"}))
            is None
        )


class TestDumps:
    def test_lists_are_taken_apart_in_both_forms(self):
        node = {"metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}}
        whole = {"kind": "NodeList", "apiVersion": "v1", "items": [node]}
        mixed = {"kind": "List", "items": [{"kind": "Node", **node}, pod()]}

        assert [1, 1] == [len(dump_of([body]).of("Node")) for body in (whole, mixed)]
        assert 1 == len(dump_of([mixed]).of("Pod"))

    def test_an_object_that_is_given_twice_counts_once_as_it_is_last(self):
        found = dump_of([pod("a"), pod("b"), pod("a", phase="Failed")]).of("Pod")

        assert [("a", "Failed"), ("b", "Running")] == [
            (body["metadata"]["name"], body["status"]["phase"]) for body in found
        ]

    def test_objects_without_a_name_are_each_their_own(self):
        assert 2 == len(
            dump_of([{"kind": "Node", "metadata": {}}, {"kind": "Node", "metadata": {}}]).of("Node")
        )

    def test_a_node_without_gpu_is_left_out(self):
        assert [] == understand(dump_of([{"kind": "Node", "metadata": {"name": "n"}}]))["nodes"]

    def test_configurations_are_found_in_config_maps_and_alone(self):
        text = "version: v1\nmig-configs:\n  a: [{devices: all, mig-enabled: false}]\n"
        config_map = {"kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"config.yaml": text}}

        assert {"a"} == set(dump_of([config_map]).configs)
        assert {"b"} == set(dump_of([{"version": "v1", "mig-configs": {"b": []}}]).configs)

    @pytest.mark.parametrize("text", ["{", "just text", ""])
    def test_config_maps_of_other_programs_are_passed_over(self, text):
        assert (
            {}
            == dump_of(
                [{"kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"config.yaml": text}}]
            ).configs
        )

    @pytest.mark.parametrize(
        "body",
        ["text", 5, [1], {"kind": "Node"}, {"metadata": {}}, {"kind": "Node", "metadata": {"name": 5}}],
    )
    def test_what_is_no_object_is_refused(self, body):
        with pytest.raises(InputError, match="no Kubernetes object"):
            dump_of([body])

    def test_empty_documents_are_nothing(self):
        assert {} == dump_of([None]).by_kind

    def test_the_worst_findings_come_first(self):
        queues = [
            {"kind": "Queue", "metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"limit": -1}}}},
            {"kind": "Queue", "metadata": {"name": "b"}, "spec": {}},
        ]

        assert ["error", "info"] == [f["severity"] for f in understand(dump_of(queues))["findings"]]


class TestVersions:
    def test_what_v1_does_not_know_stays(self):
        beta = {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {
                "devices": {
                    "requests": [{"name": "r", "deviceClassName": "gpu.nvidia.com", "count": 2}],
                    "constraints": [{"matchAttribute": "x"}],
                }
            },
            "status": {"reservedFor": []},
        }
        devices = as_v1(beta)["spec"]["devices"]

        assert [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}] == devices[
            "requests"
        ]
        assert [{"matchAttribute": "x"}] == devices["constraints"]
        assert {"reservedFor": []} == as_v1(beta)["status"]

    @pytest.mark.parametrize(
        "body",
        [
            {"apiVersion": "v1", "kind": "Pod", "spec": {"devices": 1}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "spec": {"selectors": []}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {}},
        ],
    )
    def test_other_objects_are_left_as_they_are(self, body):
        assert body == as_v1(body)

    def test_requests_without_alternatives_have_their_own_names(self):
        spec = {"devices": {"requests": [{"name": "a", "exactly": {}}, {"name": "b", "exactly": {}}]}}

        assert ["a", "b"] == result_names(spec)
        assert [] == result_names({})
