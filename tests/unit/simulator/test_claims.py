from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD
from simulator.pods import DELETE_PROTECTION

MINUTE_S = 60
TEN_MINUTES_S = 600


def status(town, name="web"):
    return town.store.get(DEPLOYMENT, "shop", name)["status"]


def make_claim(town, name):
    """Create a ResourceClaim by hand, asking what Deployment `other` asks."""
    town.serve("other", 0)
    template = town.store.get(CLAIM_TEMPLATE, "shop", "other-gpu")
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    town.store.create(
        {**kind, "metadata": {"namespace": "shop", "name": name}, "spec": template["spec"]["spec"]}
    )


def run(town, name, claim):
    """Create a bare pod on a claim."""
    claims = [{"name": "gpu", "resourceClaimName": claim}]
    spec = {"containers": [{"name": "c"}], "resourceClaims": claims}
    metadata = {"namespace": "shop", "name": name}
    town.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def users(town, claim):
    held = town.store.get(CLAIM, "shop", claim)
    return [user["name"] for user in held["status"].get("reservedFor", [])]


def test_a_pod_gets_a_claim_of_its_own_from_the_template(town):
    town = town()
    town.serve("web", 2)
    town.wait(0.5)
    template = town.store.get(CLAIM_TEMPLATE, "shop", "web-gpu")
    for pod in town.pods():
        ((name, claim_name),) = [
            (s["name"], s["resourceClaimName"]) for s in pod["status"]["resourceClaimStatuses"]
        ]
        claim = town.store.get(CLAIM, "shop", claim_name)
        assert "gpu" == name
        assert claim_name.startswith(f"{pod['metadata']['name']}-gpu-")
        assert template["spec"]["spec"] == claim["spec"]
        assert {"resource.kubernetes.io/pod-claim-name": "gpu"} == claim["metadata"]["annotations"]
        assert pod["metadata"]["uid"] == claim["metadata"]["ownerReferences"][0]["uid"]
    assert 2 == len(town.store.list(CLAIM))


def test_a_pod_waits_for_its_template(town):
    town = town()
    town.serve("web", 1)
    template = town.store.get(CLAIM_TEMPLATE, "shop", "web-gpu")
    town.store.delete(CLAIM_TEMPLATE, "shop", "web-gpu")
    town.wait(MINUTE_S)
    assert [] == list(town.store.list(CLAIM))
    metadata = {"name": "web-gpu", "namespace": "shop"}
    town.store.create({**template, "metadata": metadata})
    town.wait(TEN_MINUTES_S)
    assert 1 == status(town)["readyReplicas"]


def test_of_two_claims_the_one_whose_template_exists_is_made(town):
    town = town()
    wanted = [
        {"name": "missing", "resourceClaimTemplateName": "missing"},
        {"name": "gpu", "resourceClaimTemplateName": "web-gpu"},
    ]
    town.serve("web", 1, resourceClaims=wanted)
    town.wait(MINUTE_S)
    (pod,) = town.pods()
    assert ["gpu"] == [entry["name"] for entry in pod["status"]["resourceClaimStatuses"]]
    assert 1 == len(town.store.list(CLAIM))


def test_a_claim_is_protected_exactly_while_it_is_allocated(town):
    town = town()
    town.serve("web", 1)
    town.wait(0.01)
    (claim,) = town.store.list(CLAIM)
    assert "finalizers" not in claim["metadata"]
    town.wait(MINUTE_S)
    (claim,) = town.store.list(CLAIM)
    assert [DELETE_PROTECTION] == claim["metadata"]["finalizers"]


def test_a_claim_in_use_outlives_its_deletion_until_the_pod_is_gone(town):
    town = town()
    town.serve("web", 1)
    town.wait(TEN_MINUTES_S)
    (claim,) = town.store.list(CLAIM)
    town.store.delete(CLAIM, "shop", claim["metadata"]["name"])
    town.wait(MINUTE_S)
    assert ["gpu-0-mig-3g40gb-9-0"] == town.devices()
    town.scale("web", 0)
    town.wait(MINUTE_S)
    assert [] == list(town.store.list(CLAIM))


def test_a_claim_made_by_hand_is_freed_but_stays(town):
    town = town()
    make_claim(town, "kept")
    run(town, "p", "kept")
    town.wait(TEN_MINUTES_S)
    assert ["gpu-0-mig-3g40gb-9-0"] == town.devices()
    town.store.delete(POD, "shop", "p")
    town.wait(MINUTE_S)
    claim = town.store.get(CLAIM, "shop", "kept")
    assert ({}, []) == (claim["status"], claim["metadata"]["finalizers"])


def test_a_shared_claim_is_held_until_its_last_pod_is_gone(town):
    town = town()
    make_claim(town, "kept")
    for name in ("p", "q"):
        run(town, name, "kept")
    town.wait(TEN_MINUTES_S)
    town.store.delete(POD, "shop", "p")
    town.wait(MINUTE_S)
    assert ["q"] == users(town, "kept")
    assert 1 == len(town.devices())
    town.store.delete(POD, "shop", "q")
    town.wait(MINUTE_S)
    assert ([], []) == (users(town, "kept"), town.devices())


def test_a_pod_that_takes_the_name_of_another_does_not_take_its_reservation(town):
    town = town()
    make_claim(town, "kept")
    run(town, "p", "kept")
    town.wait(TEN_MINUTES_S)
    town.store.delete(POD, "shop", "p", grace_s=0)
    run(town, "p", "kept")
    town.wait(TEN_MINUTES_S)
    uids = [user["uid"] for user in town.store.get(CLAIM, "shop", "kept")["status"]["reservedFor"]]
    assert [pod["metadata"]["uid"] for pod in town.pods()] == uids


def test_a_pod_that_is_leaving_gets_no_claim_any_more(town):
    town = town()
    town.serve("web", 0)
    spec = {
        "containers": [{"name": "c"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "web-gpu"}],
    }
    metadata = {"namespace": "shop", "name": "p", "finalizers": ["example.org/hold"]}
    town.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    town.store.delete(POD, "shop", "p")
    town.wait(MINUTE_S)
    assert [] == list(town.store.list(CLAIM))


def test_half_made_work_is_finished_not_repeated(town):
    """The claim was made, but the controller stopped before it could write so in the pod's status."""
    town = town()
    town.serve("web", 1)
    town.wait(0.01)
    (pod,) = town.pods()
    town.store.replace_status({**pod, "status": {"phase": "Pending"}})
    town.wait(TEN_MINUTES_S)
    assert (1, 1) == (len(town.store.list(CLAIM)), status(town)["readyReplicas"])
