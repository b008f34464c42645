"""Facts of scheduling with claims that the actuator stands on, as Kubernetes 1.37 has them.

Every test is named after one fact. Cards are H100 with dynamic MIG, as our driver publishes them.
"""

from collections import Counter

import pytest

from fleet.boards import H100_80GB
from fleet.errors import RefusedError
from simulator.api import CLAIM, CLAIM_TEMPLATE, POD
from simulator.pods import DELETE_PROTECTION, POD_CLAIM_NAME
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import PRIORITY, until
from tests.fakes.manifests import cel, request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

WHOLE = request("gpu.nvidia.com", None)
CARD = "gpu.nvidia.com/parentUUID"


def part(profile, name="gpu", **more):
    return request(profile=profile, name=name, **more)


class TestAllocation:
    def test_a_pods_claim_is_made_from_its_template_allocated_and_reserved_for_it(self, lab):
        node = lab.node(H100_80GB)
        pod = lab.pod("p", template=lab.template("t", part("1g.10gb")))
        assert "gpu-0-mig-1g10gb-19-0" == lab.got("p")
        claim = lab.claim_of("p")
        metadata, allocation = claim["metadata"], claim["status"]["allocation"]
        assert ("p-r-", "r") == (metadata["generateName"], metadata["annotations"][POD_CLAIM_NAME])
        assert [("Pod", pod["metadata"]["uid"])] == [
            (owner["kind"], owner["uid"]) for owner in metadata["ownerReferences"]
        ]
        assert [DELETE_PROTECTION] == metadata["finalizers"]
        assert "allocationTimestamp" in allocation
        here = {"key": "metadata.name", "operator": "In", "values": [node]}
        assert [{"matchFields": [here]}] == allocation["nodeSelector"]["nodeSelectorTerms"]
        user = {"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}
        assert [user] == claim["status"]["reservedFor"]

    def test_the_first_device_that_fits_is_taken_in_published_order(self, lab):
        lab.node(H100_80GB)
        got = [lab.ask(f"p{number}", part("1g.10gb")) for number in range(7)]
        assert [f"gpu-0-mig-1g10gb-19-{start}" for start in range(7)] == got

    def test_a_pod_that_does_not_fit_waits_and_is_bound_when_room_is_freed(self, lab):
        lab.node(H100_80GB)
        for number in range(7):
            lab.ask(f"p{number}", part("1g.10gb"))
        assert [None, None] == [lab.ask("eighth", part("1g.10gb")), lab.ask("whole", WHOLE)]
        lab.delete(POD, "p3")
        until(lambda: lab.is_bound("eighth"))
        assert "gpu-0-mig-1g10gb-19-3" == lab.devices("eighth")
        assert not lab.is_bound("whole")

    def test_pods_are_spread_over_nodes_and_never_packed(self, lab):
        nodes = {lab.node(H100_80GB, H100_80GB) for _ in range(3)}
        lab.deployment("web", lab.template("t", part("1g.10gb")), 6)
        pods = until(lambda: [pod["metadata"]["name"] for pod in lab.list(POD)][5:] and lab.list(POD))
        names = [pod["metadata"]["name"] for pod in pods]
        until(lambda: all(map(lab.is_bound, names)))
        assert dict.fromkeys(nodes, 2) == Counter(lab.get(POD, name)["spec"]["nodeName"] for name in names)
        assert {"gpu-0-mig-1g10gb-19-0", "gpu-0-mig-1g10gb-19-1"} == {lab.devices(name) for name in names}

    def test_a_pod_that_has_succeeded_gives_its_device_back(self, lab):
        lab.node(H100_80GB)
        assert ["gpu-0", None] == [lab.ask("p", WHOLE), lab.ask("q", WHOLE)]
        lab.patch(POD, "p", {"status": {"phase": "Succeeded"}}, "/status")
        until(lambda: lab.is_bound("q"))

    def test_a_higher_priority_takes_no_device_from_a_lower_one(self, lab):
        lab.node(H100_80GB)
        for name, value in (("low", -10), ("high", 1000)):
            lab.create(PRIORITY, f"{lab.name}-{name}", value=value)
        lab.pod("holder", claim=lab.claim("holder", WHOLE), priorityClassName=f"{lab.name}-low")
        assert "gpu-0" == lab.got("holder")
        lab.pod("urgent", claim=lab.claim("urgent", WHOLE), priorityClassName=f"{lab.name}-high")
        assert lab.got("urgent") is None
        until(lambda: lab.is_waiting("urgent", "Preemption is not helpful"))
        assert "deletionTimestamp" not in lab.get(POD, "holder")["metadata"]

    def test_an_attribute_that_a_device_lacks_stops_the_pod_unless_it_is_guarded(self, lab):
        lab.node(H100_80GB)
        uuid = "device.attributes['gpu.nvidia.com'].uuid == 'GPU-x'"
        lab.pod("bare", claim=lab.claim("bare", request(profile=None, selectors=[cel(uuid)])))
        until(lambda: lab.is_waiting("bare", "no such key: uuid"))
        guarded = f"'uuid' in device.attributes['gpu.nvidia.com'] && {uuid}"
        assert lab.ask("guarded", request(profile=None, selectors=[cel(guarded)])) is None


class TestChoice:
    @pytest.fixture
    def ladder(self):
        """Whole card, else two halves wherever they are."""
        whole = {"name": "whole", **WHOLE["exactly"]}
        halves = {"name": "halves", **part("3g.40gb")["exactly"], "count": 2}
        return {"name": "g", "firstAvailable": [whole, halves]}

    def test_the_first_alternative_that_fits_is_taken(self, lab, ladder):
        lab.node(H100_80GB)
        lab.ask("p", ladder)
        assert [("g/whole", "gpu-0")] == [(r["request"], r["device"]) for r in lab.results("p")]

    def test_the_next_alternative_is_taken_where_the_first_does_not_fit(self, lab, ladder):
        lab.node(H100_80GB, H100_80GB)
        spread = {"constraints": [{"distinctAttribute": CARD}]}
        lab.ask("ones", part("1g.10gb", "a"), part("1g.10gb", "b"), **spread)
        lab.ask("p", ladder)
        assert [("g/halves", "gpu-0-mig-3g40gb-9-4"), ("g/halves", "gpu-1-mig-3g40gb-9-4")] == [
            (r["request"], r["device"]) for r in lab.results("p")
        ]

    def test_a_pod_waits_if_no_alternative_fits(self, lab, ladder):
        lab.node(H100_80GB)
        lab.ask("one", part("1g.10gb"))
        assert lab.ask("p", ladder) is None

    def test_one_card_can_be_asked_for_by_an_attribute_that_devices_share(self, lab):
        lab.node(H100_80GB, H100_80GB)
        together = {"constraints": [{"matchAttribute": CARD}]}
        assert ["gpu-0-mig-3g40gb-9-0", "gpu-0-mig-1g10gb-19-4"] == lab.ask(
            "p", part("3g.40gb", "a"), part("1g.10gb", "b"), **together
        )
        halves = (part("3g.40gb", "a"), part("3g.40gb", "b"))
        assert ["gpu-1-mig-3g40gb-9-0", "gpu-1-mig-3g40gb-9-4"] == lab.ask("q", *halves, **together)
        assert lab.ask("r", *halves, **together) is None

    def test_different_cards_can_be_asked_for_by_an_attribute_that_devices_do_not_share(self, lab):
        lab.node(H100_80GB, H100_80GB)
        apart = {"constraints": [{"distinctAttribute": CARD}]}
        assert ["gpu-0-mig-1g10gb-19-0", "gpu-1-mig-1g10gb-19-0"] == lab.ask(
            "p", part("1g.10gb", "a"), part("1g.10gb", "b"), **apart
        )


class TestSharedClaim:
    @pytest.fixture
    def shared(self, lab):
        """Three pods on one claim that was made by hand."""
        lab.node(H100_80GB)
        lab.node(H100_80GB)
        lab.claim("c", part("3g.40gb"))
        for name in ("p", "q", "r"):
            lab.pod(name, claim="c")
        until(lambda: all(map(lab.is_bound, ("p", "q", "r"))))
        return lab

    def test_its_pods_run_on_one_node_and_are_all_listed(self, shared):
        assert 1 == len({shared.get(POD, name)["spec"]["nodeName"] for name in ("p", "q", "r")})
        users = shared.get(CLAIM, "c")["status"]["reservedFor"]
        assert ["p", "q", "r"] == sorted(user["name"] for user in users)

    def test_it_is_deallocated_with_its_last_pod_and_stays(self, shared):
        for name in ("p", "q"):
            shared.delete(POD, name, grace_s=0)
        until(lambda: len(shared.get(CLAIM, "c")["status"]["reservedFor"]) == 1)
        assert "allocation" in shared.get(CLAIM, "c")["status"]
        shared.delete(POD, "r", grace_s=0)
        until(lambda: not shared.get(CLAIM, "c")["metadata"].get("finalizers"))
        assert "allocation" not in shared.get(CLAIM, "c")["status"]

    def test_deleted_while_in_use_it_stays_for_its_pods_and_takes_no_new_one(self, shared):
        shared.delete(CLAIM, "c")
        assert "deletionTimestamp" in shared.get(CLAIM, "c")["metadata"]
        shared.pod("late", claim="c")
        assert shared.ask("later", part("1g.10gb"))
        assert not shared.is_bound("late")
        for name in ("p", "q", "r"):
            shared.delete(POD, name, grace_s=0)
        until(lambda: shared.get(CLAIM, "c") is None)

    def test_a_claim_from_a_template_goes_with_its_pod(self, lab):
        lab.node(H100_80GB)
        lab.pod("p", template=lab.template("t", part("1g.10gb")))
        lab.got("p")
        name = lab.claim_of("p")["metadata"]["name"]
        lab.delete(POD, "p")
        until(lambda: lab.get(CLAIM, name) is None)


class TestImmutability:
    @pytest.mark.parametrize("kind", [CLAIM, CLAIM_TEMPLATE], ids=lambda kind: kind.name)
    def test_a_spec_is_for_life_and_labels_are_not(self, lab, kind):
        (lab.claim if kind is CLAIM else lab.template)("c", part("1g.10gb"))
        devices = {"devices": {"requests": [part("2g.20gb")]}}
        with pytest.raises(RefusedError, match=r"spec: Invalid value: (.|\n)*field is immutable"):
            lab.patch(kind, "c", {"spec": devices if kind is CLAIM else {"spec": devices}})
        labelled = lab.patch(kind, "c", {"metadata": {"labels": {"team": "search"}}})
        assert {"team": "search"} == labelled["metadata"]["labels"]

    def test_what_a_pod_claims_is_for_life(self, lab):
        lab.node(H100_80GB)
        lab.ask("p", part("1g.10gb"))
        claims = [{"name": "r", "resourceClaimName": "other"}]
        with pytest.raises(RefusedError, match="pod updates may not change fields"):
            lab.patch(POD, "p", {"spec": {"resourceClaims": claims}})

    def test_a_selector_that_does_not_compile_is_refused_even_in_a_dry_run(self, lab):
        wrong = request(profile=None, selectors=[cel("device.name == 'gpu-0'")])
        with pytest.raises(RefusedError, match="compilation failed"):
            lab.claim("c", wrong)


class TestUnusual:
    def test_an_extended_resource_becomes_a_claim_that_the_scheduler_makes(self, lab):
        lab.node(H100_80GB)
        limits = {"limits": {"nvidia.com/gpu": "1"}}
        lab.pod("p", containers=[{"name": "engine", "image": "engine", "resources": limits}])
        until(lambda: lab.is_bound("p"))
        (claim,) = lab.list(CLAIM)
        assert claim["metadata"]["name"].startswith("p-extended-resources-")
        assert "true" == claim["metadata"]["annotations"]["resource.kubernetes.io/extended-resource-claim"]
        assert ["gpu-0"] == [r["device"] for r in claim["status"]["allocation"]["devices"]["results"]]
        status = lab.get(POD, "p")["status"]["extendedResourceClaimStatus"]
        assert claim["metadata"]["name"] == status["resourceClaimName"]
        assert [("engine", "container-0-request-0")] == [
            (mapping["containerName"], mapping["requestName"]) for mapping in status["requestMappings"]
        ]

    def test_any_class_is_an_extended_resource_under_its_implicit_name(self, lab):
        lab.node(H100_80GB)
        limits = {"limits": {"deviceclass.resource.kubernetes.io/mig.nvidia.com": "1"}}
        lab.pod("p", containers=[{"name": "engine", "image": "engine", "resources": limits}])
        until(lambda: lab.is_bound("p"))

    def test_admin_access_needs_a_label_on_the_namespace(self, lab):
        asked = request("gpu.nvidia.com", None, adminAccess=True)
        with pytest.raises(RefusedError, match="admin access to devices requires"):
            lab.claim("c", asked)
        lab.label_namespace({"resource.kubernetes.io/admin-access": "true"})
        lab.claim("c", asked)

    def test_admin_access_does_not_see_a_card_of_which_a_part_is_in_use(self, lab):
        """So nothing that watches cards can use it beside dynamic MIG."""
        lab.node(H100_80GB)
        lab.label_namespace({"resource.kubernetes.io/admin-access": "true"})
        lab.ask("p", part("1g.10gb"))
        assert lab.ask("watcher", request("gpu.nvidia.com", None, adminAccess=True)) is None

    def test_admin_access_takes_nothing_from_others(self, lab):
        lab.node(H100_80GB)
        lab.label_namespace({"resource.kubernetes.io/admin-access": "true"})
        assert "gpu-0" == lab.ask("watcher", request("gpu.nvidia.com", None, adminAccess=True))
        assert "gpu-0" == lab.ask("p", WHOLE)
