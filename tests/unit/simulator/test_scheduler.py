"""First fit is held against what the real scheduler did with the real driver's slices."""

from itertools import count
from pathlib import Path

import pytest
import yaml

from actuator.objects.holds import rule_of, toleration
from actuator.objects.variants import PREFERRED, TOGETHER
from fleet.boards import A30_24GB, A100_80GB, BOARDS, H100_80GB
from fleet.holds import Hold
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD, SLICE, TAINT_RULE
from simulator.driver import publish, resource_slices
from simulator.errors import NotModelledError
from simulator.pods import condition

CASES = yaml.safe_load((Path(__file__).parents[2] / "data" / "nvidia-dra" / "allocations.yaml").read_text())
BESIDE_COPIES = {"podAffinity": {PREFERRED: [TOGETHER]}}
MINUTE_S = 60
TEN_MINUTES_S = 600
NUMBERS = count()
UNSCHEDULABLE = {"status": "False", "reason": "Unschedulable"}


def ask(town, device_class, expression=None):
    """Create one pod with one claim and return the device that it got, `None` if it stays Pending."""
    name = f"p{next(NUMBERS)}"
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return claim_and_run(town, name, exactly)


def claim_and_run(town, name, exactly, labels=None, **pod_spec):
    meta = {"namespace": "shop", "name": name}
    town.store.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": meta,
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        }
    )
    run(town, name, labels=labels, **pod_spec)
    town.wait(MINUTE_S)
    status = town.store.get(CLAIM, "shop", name).get("status", {})
    return status["allocation"]["devices"]["results"][0]["device"] if "allocation" in status else None


def run(town, name, claim=None, labels=None, **pod_spec):
    claims = [{"name": "r", "resourceClaimName": claim or name}]
    spec = {"containers": [{"name": "c"}], "resourceClaims": claims, **pod_spec}
    meta = {"namespace": "shop", "name": name, "labels": labels or {}}
    town.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_real_scheduler_gave_the_same_devices(town, case):
    town = town({"n0": [BOARDS[case["board"]]] * case["cards"]})
    for step in case["sequence"]:
        assert (step, step["got"]) == (step, ask(town, step["class"], step.get("expression")))


class TestTaints:
    HALF = "gpu-0-mig-3g40gb-9-0"

    def test_who_does_not_tolerate_one_gets_another_device_and_who_does_gets_the_first(self, town):
        town = town({"n0": [H100_80GB]})
        town.store.create(rule_of(Hold(("n0", self.HALF), WorkloadKey("shop", "web"), "test", 1e10)))
        profile = {"cel": {"expression": "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"}}
        asked = {"deviceClassName": "mig.nvidia.com", "selectors": [profile]}
        ours = {**asked, "tolerations": [toleration(WorkloadKey("shop", "web"))]}
        got = [claim_and_run(town, name, part) for name, part in (("a", asked), ("b", asked), ("c", ours))]
        assert ["gpu-0-mig-3g40gb-9-4", None, self.HALF] == got

    def test_who_waits_is_bound_when_the_taint_goes(self, town):
        town = town({"n0": [H100_80GB]})
        rule = town.store.create(rule_of(Hold(("n0", "gpu-0"), WorkloadKey("shop", "web"), "test", 1e10)))
        assert ask(town, "gpu.nvidia.com") is None
        town.store.delete(TAINT_RULE, None, rule["metadata"]["name"])
        town.wait(MINUTE_S)
        assert [True] == ["allocation" in claim.get("status", {}) for claim in town.store.list(CLAIM)]


class TestAllocation:
    def test_it_is_written_as_the_real_scheduler_writes_it(self, town):
        town = town()
        town.serve("web", 1)
        town.wait(MINUTE_S)
        (pod,), (claim,) = town.pods(), town.store.list(CLAIM)
        allocation = dict(claim["status"]["allocation"])
        assert allocation.pop("allocationTimestamp").startswith("2025-06-15T15:06:4")
        assert {
            "devices": {
                "results": [
                    {
                        "request": "gpu",
                        "driver": "gpu.nvidia.com",
                        "pool": "n0",
                        "device": "gpu-0-mig-3g40gb-9-0",
                    }
                ]
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
                ]
            },
        } == allocation
        assert [
            {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        ] == claim["status"]["reservedFor"]

    def test_a_pod_is_bound_to_the_node_of_its_device(self, town):
        town = town({"n0": [A100_80GB], "n1": [H100_80GB]})
        town.serve("web", 1)
        town.wait(MINUTE_S)
        assert ["n1"] == [pod["spec"]["nodeName"] for pod in town.pods()]

    def test_pods_are_spread_over_nodes_but_those_that_prefer_company_gather(self, town):
        town = town({"n0": [H100_80GB], "n1": [H100_80GB]})
        for name, wish in (("a", {}), ("b", {}), ("c", {"affinity": BESIDE_COPIES})):
            claim_and_run(town, name, {"deviceClassName": "mig.nvidia.com"}, **wish)
        assert ["n0", "n1", "n0"] == [pod["spec"]["nodeName"] for pod in town.pods()]

        copy = town.pods()[1]
        labels = {"foreslice.dev/variant": "b"}
        town.store.replace({**copy, "metadata": {**copy["metadata"], "labels": labels}})
        claim_and_run(town, "d", {"deviceClassName": "mig.nvidia.com"}, affinity=BESIDE_COPIES)
        claim_and_run(town, "e", {"deviceClassName": "mig.nvidia.com"}, affinity=BESIDE_COPIES)
        assert ["n1", "n1"] == [pod["spec"]["nodeName"] for pod in town.pods()[3:]]

    def test_spread_pods_are_apart_over_domains_first_and_together_inside_one(self, town):
        town = town({name: [H100_80GB] for name in ("n0", "n1", "n2", "n3")})
        for number in range(4):
            node = town.store.get(NODE, None, f"n{number}")
            labels = {**node["metadata"]["labels"], "zone": "ab"[number // 2]}
            town.store.replace({**node, "metadata": {**node["metadata"], "labels": labels}})
        selector = {"matchLabels": {"app": "chat"}}
        own = {"labelSelector": selector, "topologyKey": "zone"}
        spread = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **own}
        apart = {"podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": own}]}}
        wish = {"affinity": {**BESIDE_COPIES, **apart}, "topologySpreadConstraints": [spread]}
        labels = {"app": "chat", "foreslice.dev/variant": "chat-1g"}
        for name in "abcd":
            claim_and_run(town, name, {"deviceClassName": "mig.nvidia.com"}, labels, **wish)
        assert ["n0", "n2", "n0", "n2"] == [pod["spec"]["nodeName"] for pod in town.pods()]

    def test_other_wishes_for_domains_are_not_modelled(self, town):
        town = town()
        hard = {
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "topologyKey": "zone",
            "labelSelector": {},
        }
        with pytest.raises(NotModelledError, match="spreading pod a"):
            claim_and_run(town, "a", {"deviceClassName": "mig.nvidia.com"}, topologySpreadConstraints=[hard])

    def test_a_node_without_memory_for_a_pod_is_passed_over(self, town):
        town = town({"n0": [H100_80GB], "n1": [H100_80GB]})
        large = [{"name": "c", "resources": {"requests": {"memory": "1.5Ti"}}}]
        for name in "abc":
            claim_and_run(town, name, {"deviceClassName": "mig.nvidia.com"}, containers=large)
        assert ["n0", "n1", None] == [pod["spec"].get("nodeName") for pod in town.pods()]

    def test_products_keep_boards_apart_that_share_a_profile_name(self, town):
        town = town({"n0": [A100_80GB], "n1": [H100_80GB]})
        town.serve("hopper", 1, Shape("h100-80gb", "1g.10gb"))
        town.serve("ampere", 1, Shape("a100-80gb", "1g.10gb"), A100_80GB)
        town.wait(MINUTE_S)
        assert {"hopper": "n1", "ampere": "n0"} == {
            pod["metadata"]["labels"]["app"]: pod["spec"]["nodeName"] for pod in town.pods()
        }

    def test_pods_may_share_a_claim_on_the_device_that_it_holds(self, town):
        town = town()
        claim_and_run(town, "p", {"deviceClassName": "mig.nvidia.com"})
        run(town, "q", claim="p")
        town.wait(MINUTE_S)
        assert ["n0", "n0"] == [pod["spec"]["nodeName"] for pod in town.pods()]
        users = town.store.get(CLAIM, "shop", "p")["status"]["reservedFor"]
        assert (["p", "q"], 1) == ([user["name"] for user in users], len(town.devices()))

    def test_a_claim_that_is_being_deleted_takes_no_new_pod(self, town):
        town = town()
        claim_and_run(town, "p", {"deviceClassName": "mig.nvidia.com"})
        town.store.delete(CLAIM, "shop", "p")
        run(town, "q", claim="p")
        town.wait(MINUTE_S)
        assert "nodeName" not in town.store.get(POD, "shop", "q")["spec"]

    def test_a_device_that_is_no_longer_published_holds_nothing(self, town):
        """Seen on the real scheduler: what vanished from its slice stops counting."""
        town = town({"n0": [H100_80GB]})
        town.serve("web", 1)
        town.wait(MINUTE_S)
        _, cards = town.store.list(SLICE)
        kept = [device for device in cards["spec"]["devices"] if device["name"] not in town.devices()]
        town.store.replace({**cards, "spec": {**cards["spec"], "devices": kept}})
        town.serve("big", 1, Shape("h100-80gb", "7g.80gb"))
        town.wait(MINUTE_S)
        assert ["gpu-0-mig-3g40gb-9-0", "gpu-0-mig-7g80gb-0-0"] == town.devices()


class TestWaiting:
    def test_a_pod_that_does_not_fit_says_so_and_stays(self, town):
        town = town({"n0": [H100_80GB], "n1": [A30_24GB]})
        town.serve("web", 3)
        town.wait(MINUTE_S)
        (pending,) = [pod for pod in town.pods() if "nodeName" not in pod["spec"]]
        scheduled = condition(pending, "PodScheduled")
        assert UNSCHEDULABLE.items() <= scheduled.items()
        assert "0/2 nodes are available: 2 cannot allocate all claims." == scheduled["message"]
        assert "Pending" == pending["status"]["phase"]

    def test_it_is_bound_when_room_is_freed(self, town):
        town = town({"n0": [H100_80GB]})
        town.serve("web", 2)
        town.wait(TEN_MINUTES_S)
        town.serve("more", 1)
        town.wait(TEN_MINUTES_S)
        town.scale("web", 1)
        town.wait(MINUTE_S)
        assert 2 == len(town.devices())
        assert "True" == condition(town.store.list(POD, "shop", {"app": "more"})[0], "PodScheduled")["status"]

    def test_it_is_bound_when_a_node_comes(self, town):
        town = town({"n0": [A30_24GB]})
        town.serve("web", 1)
        town.wait(MINUTE_S)
        assert [] == town.devices()
        town.add_node("n1", [H100_80GB])
        town.wait(MINUTE_S)
        assert ["n1"] == [pod["spec"].get("nodeName") for pod in town.pods()]

    def test_it_is_bound_when_the_driver_publishes_its_cards(self, town):
        town = town({"n0": [H100_80GB]})
        for body in town.store.list(SLICE):
            town.store.delete(SLICE, None, body["metadata"]["name"])
        town.serve("web", 1)
        town.wait(MINUTE_S)
        assert [] == town.devices()
        publish(town.store, "n0", resource_slices("n0", [H100_80GB]))
        town.wait(MINUTE_S)
        assert 1 == len(town.devices())

    def test_it_is_bound_when_the_claim_that_it_names_is_made(self, town):
        town = town()
        run(town, "q", claim="late")
        town.wait(MINUTE_S)
        pending = condition(town.store.get(POD, "shop", "q"), "PodScheduled")
        assert "0/1 nodes are available: 1 waiting for its ResourceClaim." == pending["message"]
        claim_and_run(town, "late", {"deviceClassName": "mig.nvidia.com"})
        assert ["n0", "n0"] == [pod["spec"].get("nodeName") for pod in town.pods()]

    def test_a_cordoned_node_takes_no_pod_until_it_is_uncordoned(self, town):
        town = town()
        cordon(town, "n0", unschedulable=True)
        town.serve("web", 1)
        town.wait(MINUTE_S)
        assert [] == town.devices()
        cordon(town, "n0", unschedulable=False)
        town.wait(MINUTE_S)
        assert 1 == len(town.devices())

    def test_nothing_is_retried_while_nothing_changes(self, town):
        town = town({"n0": [H100_80GB]})
        town.serve("web", 5)
        town.wait(TEN_MINUTES_S)
        before = town.store.version
        town.wait(86400)
        assert before == town.store.version
        assert town.clock.next_due_s() is None

    def test_a_pending_pod_that_is_deleted_is_forgotten(self, town):
        town = town({"n0": [H100_80GB]})
        town.serve("web", 3)
        town.wait(MINUTE_S)
        town.store.delete(DEPLOYMENT, "shop", "web")
        town.wait(MINUTE_S)
        assert ([], []) == (list(town.pods()), town.devices())

    def test_a_pod_of_another_scheduler_is_left_alone(self, town):
        town = town()
        town.serve("web", 1, schedulerName="kai-scheduler")
        town.wait(MINUTE_S)
        (pod,) = town.pods()
        assert ("Pending", "nodeName" in pod["spec"], None) == (
            pod["status"]["phase"],
            False,
            condition(pod, "PodScheduled"),
        )


def cordon(town, name, *, unschedulable):
    node = town.store.get(NODE, None, name)
    town.store.replace({**node, "spec": {"unschedulable": unschedulable}})


class TestNotModelled:
    @pytest.mark.parametrize("field", ["taints", "allowMultipleAllocations"])
    def test_devices_of_other_forms(self, town, field):
        town = town()
        _, cards, _ = town.store.list(SLICE)
        devices = [{**device, field: [{}]} for device in cards["spec"]["devices"]]
        town.store.replace({**cards, "spec": {**cards["spec"], "devices": devices}})
        with pytest.raises(NotModelledError, match=rf"devices with (\['){{0,1}}{field}"):
            town.wait(1)

    @pytest.mark.parametrize(
        "exactly",
        [
            {"deviceClassName": "mig.nvidia.com", "count": 2},
            {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"},
            {"deviceClassName": "vfio.gpu.nvidia.com"},
            {"deviceClassName": "mig.nvidia.com", "capacity": {"requests": {"memory": "2Gi"}}},
            {
                "deviceClassName": "gpu.nvidia.com",
                "selectors": [
                    {"cel": {"expression": "device.attributes['gpu.nvidia.com'].uuid == 'GPU-n0-0'"}}
                ],
            },
        ],
        ids=["count", "all", "class", "capacity", "cel"],
    )
    def test_requests_of_other_forms(self, town, exactly):
        with pytest.raises(NotModelledError, match="claim p"):
            claim_and_run(town(), "p", exactly)

    @pytest.mark.parametrize(
        "wish",
        [
            {"affinity": {"nodeAffinity": {}}},
            {"affinity": {"podAntiAffinity": {}}},
            {"affinity": {"podAntiAffinity": {}, **BESIDE_COPIES}},
            {"resourceClaims": []},
        ],
        ids=["of-nodes", "affinity", "two-affinities", "no-claim"],
    )
    def test_wishes_of_pods(self, town, wish):
        with pytest.raises(NotModelledError, match=r"scheduling (a )?pod"):
            claim_and_run(town(), "p", {"deviceClassName": "gpu.nvidia.com"}, **wish)
