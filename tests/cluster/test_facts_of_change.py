"""Facts of changing what runs: rollouts, layouts, reservations and quota, as Kubernetes 1.37 has them."""

import copy

import pytest

from fleet.boards import H100_80GB
from fleet.errors import RefusedError
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD, SLICE, timestamp
from simulator.driver import resource_slices
from simulator.pods import DELETE_PROTECTION
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import EVENT, QUOTA, until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

BEFORE_BREAKING = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
SLOW = {"foreslice.dev/ready-after": "1s", "foreslice.dev/ends-after": "1s"}


def part(profile):
    return request(profile=profile)


def names(lab, kind=POD):
    return {body["metadata"]["name"] for body in lab.list(kind)}


class TestRollout:
    @pytest.fixture
    def web(self, lab):
        """Two replicas of 1g on one card, that make before they break."""
        lab.node(H100_80GB)
        for profile in ("1g", "2g", "7g"):
            full = {"1g": "1g.10gb", "2g": "2g.20gb", "7g": "7g.80gb"}[profile]
            lab.template(profile, part(full))
        spec = {"strategy": BEFORE_BREAKING, "progressDeadlineSeconds": 2}
        lab.deployment("web", "1g", 2, annotations=SLOW, **spec)
        until(lambda: self.ready(lab) == 2)
        return lab

    @staticmethod
    def ready(lab):
        return lab.get(DEPLOYMENT, "web").get("status", {}).get("readyReplicas", 0)

    @staticmethod
    def repoint(lab, template):
        claims = [{"name": "r", "resourceClaimTemplateName": template}]
        lab.patch(DEPLOYMENT, "web", {"spec": {"template": {"spec": {"resourceClaims": claims}}}})

    @staticmethod
    def is_through(lab):
        held = lab.get(DEPLOYMENT, "web")
        status = held["status"]
        counts = [status.get(each, 0) for each in ("updatedReplicas", "readyReplicas", "replicas")]
        return status["observedGeneration"] == held["metadata"]["generation"] and counts == [2, 2, 2]

    @staticmethod
    def why(lab):
        conditions = lab.get(DEPLOYMENT, "web")["status"]["conditions"]
        return next(c["reason"] for c in conditions if c["type"] == "Progressing")

    def test_another_template_is_rolled_out_without_a_replica_less(self, web):
        old, least = names(web), []
        self.repoint(web, "2g")

        def is_done():
            least.append(self.ready(web))
            return self.is_through(web)

        until(is_done)
        until(lambda: len(web.list(POD)) == 2)
        assert 2 == min(least)
        assert set() == names(web) & old
        assert {"gpu-0-mig-2g20gb-14-2", "gpu-0-mig-2g20gb-14-4"} == {web.devices(pod) for pod in names(web)}
        until(lambda: len(web.list(CLAIM)) == 2)

    def test_a_surge_that_does_not_fit_waits_and_nothing_moves(self, web):
        old = names(web)
        self.repoint(web, "7g")
        (surge,) = until(lambda: names(web) - old)
        until(lambda: web.is_waiting(surge))
        until(lambda: self.why(web) == "ProgressDeadlineExceeded")
        assert (2, old | {surge}) == (self.ready(web), names(web))
        self.repoint(web, "1g")
        until(lambda: names(web) == old)

    def test_what_waits_has_a_claim_that_holds_nothing(self, web):
        old = names(web, CLAIM)
        self.repoint(web, "7g")
        (claim,) = until(lambda: names(web, CLAIM) - old)
        until(lambda: self.why(web) == "ProgressDeadlineExceeded")
        assert "allocation" not in web.get(CLAIM, claim).get("status", {})

    def test_a_template_that_comes_late_completes_the_rollout(self, web):
        self.repoint(web, "late")

        def said():
            events = [
                event["message"]
                for event in web.list(EVENT)
                if event["reason"] == "FailedResourceClaimCreation"
            ]
            return [message for message in events if "not found" in message]

        until(said)
        web.template("late", part("2g.20gb"))
        until(lambda: self.is_through(web))

    def test_a_template_that_goes_harms_nobody_who_runs(self, web):
        old = names(web)
        web.delete(CLAIM_TEMPLATE, "1g")
        assert (old, 2) == (names(web), self.ready(web))
        web.patch(DEPLOYMENT, "web", {"spec": {"replicas": 3}})
        (new,) = until(lambda: names(web) - old)
        until(lambda: any("not found" in event["message"] for event in web.list(EVENT)))
        assert not web.is_bound(new)


class TestLayout:
    def test_a_device_that_is_no_longer_published_is_given_away_again(self, lab):
        """Why a card is drained before its layout changes."""
        node = lab.node(H100_80GB)
        assert "gpu-0-mig-3g40gb-9-0" == lab.ask("p", part("3g.40gb"))
        slices = [lab.get(SLICE, name) for kind, name in lab.made if kind is SLICE]
        (cards,) = [body for body in slices if "devices" in body["spec"]]
        kept = [each for each in cards["spec"]["devices"] if each["name"] != "gpu-0-mig-3g40gb-9-0"]
        lab.patch(SLICE, cards["metadata"]["name"], {"spec": {"devices": kept}})
        assert node == lab.get(POD, "p")["spec"]["nodeName"]
        assert "gpu-0-mig-7g80gb-0-0" == until(lambda: lab.ask("q", part("7g.80gb")))
        assert "deletionTimestamp" not in lab.get(POD, "p")["metadata"]

    def test_nothing_is_given_from_a_pool_that_is_half_published(self, lab):
        def next_generation(node):
            bodies = copy.deepcopy(resource_slices(node, [H100_80GB]))
            bodies[0]["spec"]["pool"]["generation"] = 2
            return bodies

        lab.node(slices=next_generation)
        assert lab.ask("p", part("1g.10gb")) is None
        (name,) = [n for k, n in lab.made if k is SLICE and "devices" in lab.get(SLICE, n)["spec"]]
        lab.patch(SLICE, name, {"spec": {"pool": {"generation": 2}}})
        until(lambda: lab.is_bound("p"))

    def test_a_node_that_comes_takes_who_waits(self, lab):
        lab.node()
        assert lab.ask("p", part("1g.10gb")) is None
        lab.node(H100_80GB)
        until(lambda: lab.is_bound("p"))


class TestReservation:
    def allocate(self, lab, device, **more):
        """Write an allocation by hand, as a scheduler would."""
        node = lab.node(H100_80GB)
        lab.claim("c", part("3g.40gb"))
        result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": device}
        here = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation = {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
            **more,
        }
        lab.patch(CLAIM, "c", {"metadata": {"finalizers": [DELETE_PROTECTION]}})
        lab.patch(CLAIM, "c", {"status": {"allocation": allocation}}, "/status")

    def test_an_allocation_that_is_written_by_hand_holds_its_device(self, lab):
        self.allocate(lab, "gpu-0-mig-3g40gb-9-0", allocationTimestamp=timestamp(1_750_000_000))
        assert "gpu-0-mig-3g40gb-9-4" == lab.ask("other", part("3g.40gb"))
        lab.pod("p", claim="c")
        assert "gpu-0-mig-3g40gb-9-0" == lab.got("p")

    def test_an_allocation_can_be_cleared_but_not_changed(self, lab):
        self.allocate(lab, "gpu-0-mig-3g40gb-9-0", allocationTimestamp=timestamp(1_750_000_000))
        held = lab.get(CLAIM, "c")["status"]["allocation"]
        held["devices"]["results"][0]["device"] = "gpu-0-mig-3g40gb-9-4"
        with pytest.raises(RefusedError, match="field cannot be modified once set"):
            lab.patch(CLAIM, "c", {"status": {"allocation": held}}, "/status")
        lab.patch(CLAIM, "c", {"status": {"allocation": None}}, "/status")
        assert "gpu-0-mig-3g40gb-9-0" == lab.ask("p", part("3g.40gb"))

    def test_an_allocation_without_its_time_stops_the_pod(self, lab):
        """The scheduler would add the time, which nobody may do to an allocation."""
        self.allocate(lab, "gpu-0-mig-3g40gb-9-0")
        lab.pod("p", claim="c")
        until(
            lambda: any("field cannot be modified once set" in event["message"] for event in lab.list(EVENT))
        )
        assert not lab.is_bound("p")

    def test_a_driver_can_report_on_devices_that_are_allocated(self, lab):
        node = lab.node(H100_80GB)
        device = lab.ask("p", part("3g.40gb"))
        told = {"driver": "gpu.nvidia.com", "pool": node, "device": device, "data": {"uuid": "MIG-1"}}
        lab.patch(CLAIM, "p", {"status": {"devices": [told]}}, "/status")
        (kept,) = lab.get(CLAIM, "p")["status"]["devices"]
        assert told.items() <= kept.items()


class TestQuota:
    def test_devices_are_counted_by_class_and_the_pod_waits_for_its_claim(self, lab):
        lab.node(H100_80GB)
        limit = "mig.nvidia.com.deviceclass.resource.k8s.io/devices"
        lab.create(QUOTA, "mig", spec={"hard": {limit: "1"}})
        until(lambda: limit in lab.get(QUOTA, "mig").get("status", {}).get("hard", {}))
        lab.template("t", part("1g.10gb"))
        lab.pod("p", template="t")
        lab.got("p")
        lab.pod("q", template="t")
        until(lambda: any("exceeded quota" in event["message"] for event in lab.list(EVENT)))
        assert 1 == len(lab.list(CLAIM))

    def test_extended_resources_are_counted_by_name_and_the_pod_itself_is_refused(self, lab):
        limit = "requests.nvidia.com/gpu"
        lab.create(QUOTA, "gpus", spec={"hard": {limit: "1"}})
        until(lambda: limit in lab.get(QUOTA, "gpus").get("status", {}).get("hard", {}))
        resources = {"limits": {"nvidia.com/gpu": "2"}}
        with pytest.raises(RefusedError, match="exceeded quota"):
            lab.pod("p", containers=[{"name": "engine", "image": "engine", "resources": resources}])
