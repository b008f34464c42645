"""How a workload stands: evidence counts, labels and status fields alone do not."""

import pytest

from actuator.objects.allocations import allocated, allocated_ids
from actuator.objects.slices import SliceReader
from actuator.objects.standings import Observer
from actuator.objects.variants import Makings, variant_objects
from fleet.errors import RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.fakes.manifests import claim, claim_spec, deployment, h100_slices, pod, request, template

KEY = WorkloadKey("llm", "llama")
LARGE, SMALL = Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")
INVENTORY = SliceReader().read(h100_slices(gpus=2))
BASE_TEMPLATE = template("mig-3g")
SMALL_TEMPLATE, SMALL_COPY = variant_objects(
    deployment(), Makings({"mig-3g": BASE_TEMPLATE}, [INVENTORY.gpus[0].board]), "llama-1g-10gb", SMALL
)
SMALL_COPY["metadata"]["resourceVersion"] = "9"
LARGE_DEVICE, SMALL_DEVICE = "gpu-0-mig-3g40gb-9-4", "gpu-0-mig-1g10gb-19-0"


def standing(
    deployments=None,
    pods=(),
    claims=(),
    templates=(BASE_TEMPLATE, SMALL_TEMPLATE),
    key=KEY,
    inventory=INVENTORY,
):
    deployments = [deployment()] if deployments is None else deployments
    return Observer(inventory, deployments, templates, pods, claims).standing(key)


def base_replica(body, *claims):
    [replica] = standing(pods=[body], claims=claims).variants[0].replicas
    return replica


def test_a_deployment_is_the_base_with_the_shape_that_its_claim_asks():
    [variant] = standing([deployment(replicas=3)]).variants

    assert ("llama", LARGE, 3, "7", True, ()) == (
        variant.name,
        variant.shape,
        variant.wanted,
        variant.version,
        variant.is_base,
        variant.replicas,
    )


def test_a_workload_without_deployment_has_no_standing():
    assert standing(key=WorkloadKey("llm", "mistral")) is None
    assert standing(key=WorkloadKey("other", "llama")) is None


def test_replicas_that_are_not_written_are_one():
    body = deployment()
    del body["spec"]["replicas"]

    assert 1 == standing([body]).variants[0].wanted


def test_a_ready_replica_is_ready_on_the_device_that_was_allocated():
    replica = base_replica(pod("p"), claim("p-gpus", LARGE_DEVICE))

    assert (True, False, LARGE) == (replica.is_ready, replica.is_leaving, replica.shape)
    assert LARGE_DEVICE == replica.device.name
    assert 1767225600.0 == replica.created_at_s


NOT_READY = {
    "the pod is not Ready": (pod("p", ready=False), [claim("p-gpus", LARGE_DEVICE)]),
    "nothing is allocated": (pod("p"), [claim("p-gpus")]),
    "the claim is gone": (pod("p"), []),
    "a smaller device was allocated": (pod("p"), [claim("p-gpus", SMALL_DEVICE)]),
    "a whole card was allocated": (pod("p"), [claim("p-gpus", "gpu-1")]),
    "the device is not published": (pod("p"), [claim("p-gpus", "gpu-7")]),
    "the pool is not published": (pod("p"), [claim("p-gpus", LARGE_DEVICE, pool="node-9")]),
    "another driver allocated": (pod("p"), [claim("p-gpus", LARGE_DEVICE, driver="nic.example.com")]),
    "only admin access was given": (pod("p"), [claim("p-gpus", LARGE_DEVICE, adminAccess=True)]),
    "the claim is another namespace's": (pod("p"), [claim("p-gpus", LARGE_DEVICE, namespace="other")]),
}


@pytest.mark.parametrize(("body", "claims"), NOT_READY.values(), ids=NOT_READY)
def test_ready_needs_the_pod_the_allocation_and_the_right_shape(body, claims):
    assert not base_replica(body, *claims).is_ready


@pytest.mark.parametrize(
    ("shape", "device"),
    [
        (LARGE, LARGE_DEVICE),
        (SMALL, SMALL_DEVICE),
        (Shape("h100-80gb"), "gpu-1"),
        (LARGE, None),
        (LARGE, "gpu-7"),
    ],
)
def test_the_shape_of_a_replica_is_what_it_runs_on_else_what_it_asked_for(shape, device):
    assert shape == base_replica(pod("p"), claim("p-gpus", device)).shape


def test_a_pending_replica_has_no_device():
    assert base_replica(pod("p", ready=False), claim("p-gpus")).device is None


def test_a_replica_on_a_device_that_is_not_published_has_one_all_the_same():
    """It is bound to a node: what it holds is unknown, that it holds something is not."""
    device = base_replica(pod("p"), claim("p-gpus", "gpu-7")).device

    assert ("node-h100-dynamic", "gpu-7") == device.id


def test_a_pod_that_is_being_deleted_is_leaving():
    assert base_replica(pod("p", leaving=True), claim("p-gpus", LARGE_DEVICE)).is_leaving


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_no_replica(phase):
    assert () == standing(pods=[pod("p", phase=phase)]).variants[0].replicas


def test_a_pod_without_status_is_a_pending_replica():
    body = pod("p")
    del body["status"]

    replica = base_replica(body)

    assert (False, None) == (replica.is_ready, replica.device)


def test_the_claim_of_another_name_is_not_looked_at():
    """A pod may hold a network card beside its GPU."""
    body = pod("p")
    body["status"]["resourceClaimStatuses"].insert(0, {"name": "nic", "resourceClaimName": "p-nic"})

    replica = base_replica(
        body, claim("p-nic", "eth0", driver="nic.example.com"), claim("p-gpus", LARGE_DEVICE)
    )

    assert replica.is_ready


def test_variants_come_after_the_base_with_their_own_pods():
    found = standing(
        [SMALL_COPY, deployment(replicas=1)],
        [pod("a"), pod("b", variant="llama-1g-10gb"), pod("c", variant="llama-1g-10gb", ready=False)],
        [claim("a-gpus", LARGE_DEVICE), claim("b-gpus", SMALL_DEVICE)],
    )

    assert [("llama", LARGE, True), ("llama-1g-10gb", SMALL, False)] == [
        (v.name, v.shape, v.is_base) for v in found.variants
    ]
    assert [["a"], ["b", "c"]] == [[r.pod for r in v.replicas] for v in found.variants]
    assert Configuration({LARGE: 1, SMALL: 1}) == found.ready
    assert Configuration({LARGE: 1}) == found.wanted


def test_pods_are_found_by_selector_whoever_made_them():
    """A pod that an operator runs by hand under the Service serves too."""
    body = pod("by-hand")
    body["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "x", "uid": "y"}]

    assert "by-hand" == base_replica(body).pod


def test_pods_that_match_no_selector_are_nobody_s():
    assert () == standing(pods=[pod("p", app="mistral"), pod("q", namespace="other")]).variants[0].replicas


def test_a_pod_marked_for_a_variant_that_does_not_exist_counts_for_the_base():
    """The base's selector takes it, and labels are anybody's to write."""
    replica = base_replica(pod("p", variant="no-such-variant"), claim("p-gpus", LARGE_DEVICE))

    assert ("llama", True) == (replica.variant, replica.is_ready)


def test_a_variant_s_pod_is_not_ready_on_the_base_s_shape():
    found = standing(
        [deployment(), SMALL_COPY], [pod("b", variant="llama-1g-10gb")], [claim("b-gpus", LARGE_DEVICE)]
    )

    [replica] = found.variants[1].replicas
    assert (False, LARGE) == (replica.is_ready, replica.shape)


def test_a_foreign_deployment_beside_the_base_is_not_looked_at():
    assert 1 == len(standing([deployment(), deployment("mistral", "no-such-template")]).variants)


@pytest.mark.parametrize(
    ("reason", "templates"),
    [
        ("Deployment llama: exactly one claim template must ask for a GPU, found 0", []),
        (
            "Deployment llama: .* no card of the fleet offers",
            [template("mig-3g", claim_spec(request(profile="9g.90gb")))],
        ),
        ("Deployment llama: .* select a profile", [template("mig-3g", claim_spec(request(profile=None)))]),
    ],
)
def test_a_workload_that_cannot_be_handled_is_refused_with_the_reason(reason, templates):
    with pytest.raises(RefusedError, match=reason):
        standing(templates=templates)


def naming(*names, own=True):
    """A Deployment whose pods name these claims, beside one of their own or with none."""
    body = deployment()
    pods = body["spec"]["template"]["spec"]
    named = [{"name": f"c{at}", "resourceClaimName": name} for at, name in enumerate(names)]
    pods["resourceClaims"] = [*(pods["resourceClaims"] if own else []), *named]
    return body


@pytest.mark.parametrize("own", [True, False], ids=["beside a claim of their own", "alone"])
def test_pods_that_name_one_claim_for_a_gpu_are_refused_with_what_to_write_instead(own):
    """However many there are, all have the same devices, which no shape of one replica says."""
    nic = claim("nic") | {"spec": claim_spec(request("rdma.example.com", None))}
    said = (
        "Deployment llama: its pods share claim of-all: more replicas are more engines on the same devices, "
        "not more capacity; a claim of its own for each takes resourceClaimTemplateName"
    )
    with pytest.raises(RefusedError) as refused:
        standing([naming("nic", "of-all", own=own)], claims=[nic, claim("of-all", LARGE_DEVICE)])
    assert said == str(refused.value)


@pytest.mark.parametrize(
    "others",
    [
        [claim("shared") | {"spec": claim_spec(request("rdma.example.com", None))}],
        [claim("shared", LARGE_DEVICE, namespace="other")],
        [],
    ],
    ids=["of a network card", "of another namespace", "that is not there"],
)
def test_a_named_claim_for_no_gpu_is_nothing_to_us(others):
    body = pod("p")
    [variant] = standing([naming("shared")], [body], [claim("p-gpus", LARGE_DEVICE), *others]).variants
    assert (LARGE, 1) == (variant.shape, variant.ready)


def test_without_any_card_no_shape_is_known():
    with pytest.raises(RefusedError, match="no card of the fleet offers"):
        standing(inventory=SliceReader().read([]))


def test_a_user_who_wrote_the_second_deployment_by_hand_has_two_workloads():
    """Only copies that the base owns are its variants."""
    second = deployment("llama-small", "mig-3g")

    assert 1 == len(standing([deployment(), second]).variants)
    assert 1 == len(standing([deployment(), second], key=WorkloadKey("llm", "llama-small")).variants)


def test_allocated_devices_of_everybody_count_each_once():
    claims = [
        claim("ours", LARGE_DEVICE),
        claim("theirs", "gpu-1", namespace="other"),
        claim("pending"),
        claim("watcher", "gpu-1", adminAccess=True),
        claim("same-card-again", "gpu-1", shareID="x"),
        claim("gone", "gpu-9"),
        claim("nic", "eth0", driver="nic.example.com"),
    ]

    assert [LARGE_DEVICE, "gpu-1"] == [device.name for device in allocated(claims, INVENTORY)]


@pytest.mark.parametrize("status", [{}, {"allocation": None}, {"allocation": {"devices": {}}}])
def test_a_claim_without_results_holds_nothing(status):
    assert [] == allocated_ids({"status": status})
    assert [] == allocated_ids({})


def of_template(body, name):
    body["spec"] = {"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": name}]}
    return body


def of_shape(body, profile):
    body["spec"] = claim_spec(request(profile=profile))
    return body


def test_during_a_rollout_each_pod_is_judged_by_what_its_own_claim_asked_for():
    """The Deployment has gone from 1g to 3g; of both kinds one got what it asked for, one did not."""
    pods = [of_template(pod(name), "mig-1g") for name in ("old", "old-odd")]
    pods += [of_template(pod(name), "mig-3g") for name in ("new", "new-odd")]
    claims = [
        of_shape(claim("old-gpus", SMALL_DEVICE), "1g.10gb"),
        of_shape(claim("old-odd-gpus", LARGE_DEVICE), "1g.10gb"),
        claim("new-gpus", LARGE_DEVICE),
        claim("new-odd-gpus", SMALL_DEVICE),
    ]
    [variant] = standing(pods=pods, claims=claims).variants
    seen = {r.pod: (r.shape, r.is_ready, r.is_old) for r in variant.replicas}
    assert {
        "old": (SMALL, True, True),
        "old-odd": (LARGE, False, True),
        "new": (LARGE, True, False),
        "new-odd": (SMALL, False, False),
    } == seen
    assert LARGE == variant.shape


def test_a_pod_that_still_waits_is_of_the_shape_that_its_own_claim_asks_for():
    body = of_template(pod("p", ready=False), "mig-1g")
    assert SMALL == base_replica(body, of_shape(claim("p-gpus"), "1g.10gb")).shape
    assert LARGE == base_replica(body).shape


def test_an_old_claim_that_says_nothing_we_understand_is_no_evidence():
    body = of_template(pod("p"), "mig-1g")
    replica = base_replica(body, of_shape(claim("p-gpus", SMALL_DEVICE), None))
    assert (False, True) == (replica.is_ready, replica.is_old)
