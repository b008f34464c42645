"""Copies of a user's Deployment with another shape."""

import copy

import pytest

from actuator.mechanisms.dra import ask_of
from actuator.objects.variants import (
    PREFERRED,
    TOGETHER,
    Makings,
    base_hash,
    gpu_claim,
    is_spread_over,
    is_variant_of,
    variant_name,
    variant_objects,
)
from fleet.boards import A100_80GB, H100_80GB
from fleet.devices import DeviceRequest
from fleet.errors import RefusedError
from fleet.shape import Shape
from tests.fakes.manifests import claim_spec, deployment, request, template

SMALL = Shape("h100-80gb", "1g.10gb")
TEMPLATES = {
    "mig-3g": template("mig-3g"),
    "whole": template("whole", claim_spec(request("gpu.nvidia.com", None))),
    "nic": template("nic", claim_spec(request("nic.example.com", None))),
    "two": template("two", claim_spec(request(count=2))),
}


def made(base=None, shape=SMALL, name="llama-1g-10gb", boards=(H100_80GB,)):
    return variant_objects(base or deployment(), Makings(TEMPLATES, boards), name, shape)


def with_claims(*claims, **fields):
    body = deployment(**fields)
    body["spec"]["template"]["spec"]["resourceClaims"] = list(claims)
    return body


def from_template(name, template_name):
    return {"name": name, "resourceClaimTemplateName": template_name}


@pytest.mark.parametrize(
    ("name", "base", "home", "shape"),
    [
        ("llama-3g-40gb", "llama", Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")),
        ("llama-1g-10gb-me", "llama", Shape("h100-80gb"), Shape("h100-80gb", "1g.10gb+me")),
        ("qwen2-5-7b-1g-10gb", "qwen2.5-7b", SMALL, Shape("h100-80gb", "1g.10gb")),
        ("llama-whole", "llama", SMALL, Shape("h100-80gb")),
        ("llama-a100-80gb-1g-10gb", "llama", SMALL, Shape("a100-80gb", "1g.10gb")),
    ],
)
def test_names_say_base_and_profile_and_the_board_only_where_it_is_another(name, base, home, shape):
    assert name == variant_name(base, home, shape)


def test_long_names_are_cut_and_stay_apart():
    names = {variant_name("x" * 60, SMALL, Shape("h100-80gb", profile)) for profile in ("1g.10gb", "1g.20gb")}

    assert {63} == {len(name) for name in names}
    assert 2 == len(names)


def test_pods_carry_all_labels_of_the_base_s_pods_and_one_more():
    """Services and PodDisruptionBudgets of the user select them too."""
    _, variant = made()

    labels = variant["spec"]["template"]["metadata"]["labels"]
    assert {"app": "llama", "team": "search", "foreslice.dev/variant": "llama-1g-10gb"} == labels


def test_the_selector_takes_the_variant_s_pods_only():
    _, variant = made()

    assert {"app": "llama", "foreslice.dev/variant": "llama-1g-10gb"} == variant["spec"]["selector"][
        "matchLabels"
    ]


def test_expressions_of_the_base_s_selector_are_kept():
    base = deployment()
    expressions = [{"key": "team", "operator": "In", "values": ["search"]}]
    base["spec"]["selector"] = {"matchExpressions": expressions}

    _, variant = made(base)

    assert {
        "matchExpressions": expressions,
        "matchLabels": {"foreslice.dev/variant": "llama-1g-10gb"},
    } == variant["spec"]["selector"]


def test_its_pods_would_rather_be_where_copies_are_beside_what_the_user_prefers():
    term = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
    base = deployment()
    base["spec"]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"kept": True},
        "podAffinity": {PREFERRED: [term], "kept": True},
    }

    _, variant = made(base)
    _, plain = made()

    affinity = {"podAffinity": {PREFERRED: [term, TOGETHER], "kept": True}, "nodeAffinity": {"kept": True}}
    assert affinity == variant["spec"]["template"]["spec"]["affinity"]
    assert {"podAffinity": {PREFERRED: [TOGETHER]}} == plain["spec"]["template"]["spec"]["affinity"]


ZONE = "topology.kubernetes.io/zone"
OWN = {"labelSelector": {"matchLabels": {"app": "llama"}}, "topologyKey": ZONE}


class TestSpreading:
    def spec(self, base=None):
        _, variant = variant_objects(
            base or deployment(), Makings(TEMPLATES, (H100_80GB,), spread_over=ZONE), "llama-1g", SMALL
        )
        return variant["spec"]["template"]["spec"]

    def test_its_pods_are_apart_from_all_of_their_workload_before_they_are_beside_copies(self):
        affinity = self.spec()["affinity"]
        assert {"weight": 100, "podAffinityTerm": OWN} == affinity["podAntiAffinity"][PREFERRED][0]
        assert [{**TOGETHER, "weight": 1}] == affinity["podAffinity"][PREFERRED]

    def test_no_place_is_refused_them(self):
        [constraint] = self.spec()["topologySpreadConstraints"]
        assert {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **OWN} == constraint
        assert is_spread_over(self.spec(), ZONE)
        assert not is_spread_over(self.spec(), "rack")

    def test_what_the_user_says_of_this_label_stays_and_of_others_too(self):
        said = [{"topologyKey": "rack", "maxSkew": 2}, {"topologyKey": ZONE, "maxSkew": 3}]
        for kept, made in ((said[:1], 2), (said, 2)):
            base = deployment()
            base["spec"]["template"]["spec"]["topologySpreadConstraints"] = kept
            spread = self.spec(base)["topologySpreadConstraints"]
            assert (kept, made) == (spread[: len(kept)], len(spread))
            assert kept is base["spec"]["template"]["spec"]["topologySpreadConstraints"]


def test_only_the_gpu_claim_points_to_another_template():
    base = with_claims(from_template("nic", "nic"), from_template("gpus", "mig-3g"))

    claim_template, variant = made(base)

    claims = variant["spec"]["template"]["spec"]["resourceClaims"]
    assert [from_template("nic", "nic"), from_template("gpus", claim_template["metadata"]["name"])] == claims


def test_the_template_asks_for_the_shape_under_the_request_name_of_the_user():
    claim_template, _ = made()

    ask = ask_of(claim_template["spec"]["spec"])
    assert ("gpu", DeviceRequest("mig", "1g.10gb", H100_80GB.product_names)) == (ask.name, ask.request)


def test_a_variant_starts_at_zero_replicas_and_is_otherwise_the_base():
    base = deployment(replicas=5)
    base["spec"].update(minReadySeconds=7, strategy={"type": "RollingUpdate"})

    _, variant = made(base)

    assert 0 == variant["spec"]["replicas"]
    assert (7, {"type": "RollingUpdate"}) == (variant["spec"]["minReadySeconds"], variant["spec"]["strategy"])
    assert base["spec"]["template"]["spec"]["containers"] == variant["spec"]["template"]["spec"]["containers"]


def test_it_is_owned_by_the_base_and_by_nothing_else():
    """It goes when its base goes, and stays when foreslice and its plans are gone."""
    _, variant = made()

    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama", "uid": "uid-llama"}
    assert [owner] == variant["metadata"]["ownerReferences"]


def test_labels_and_annotations_of_the_base_object_are_not_copied():
    """A chart or a GitOps tool would take the copy for its own and prune it."""
    base = deployment(
        labels={"app.kubernetes.io/managed-by": "Helm"}, annotations={"meta.helm.sh/release-name": "llama"}
    )

    _, variant = made(base)

    assert {
        "app.kubernetes.io/managed-by": "foreslice",
        "foreslice.dev/variant": "llama-1g-10gb",
    } == variant["metadata"]["labels"]
    assert {"foreslice.dev/base-template-hash": base_hash(base)} == variant["metadata"]["annotations"]


def test_the_hash_changes_with_the_base_s_pod_template_only():
    base, scaled, upgraded = deployment(), deployment(replicas=9), deployment()
    upgraded["spec"]["template"]["spec"]["containers"][0]["image"] = "vllm:2"

    assert base_hash(base) == base_hash(scaled)
    assert base_hash(base) != base_hash(upgraded)


def test_the_base_is_left_as_it_is():
    base = deployment()
    before = copy.deepcopy(base)

    made(base)

    assert before == base


def test_status_is_not_copied():
    base = deployment()
    base["status"] = {"replicas": 1}

    _, variant = made(base)

    assert "status" not in variant


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        ("StatefulSet llama: only Deployments", {**deployment(), "kind": "StatefulSet"}),
        ("Deployment llama: exactly one claim template must ask for a GPU, found 0", with_claims()),
        ("must ask for a GPU, found 0", with_claims(from_template("nic", "nic"))),
        ("must ask for a GPU, found 0", with_claims(from_template("gpus", "no-such-template"))),
        ("must ask for a GPU, found 0", with_claims({"name": "gpus", "resourceClaimName": "shared"})),
        (
            "must ask for a GPU, found 2",
            with_claims(from_template("a", "mig-3g"), from_template("b", "whole")),
        ),
        (
            "Deployment llama: the claim must ask for exactly one device",
            with_claims(from_template("a", "two")),
        ),
    ],
)
def test_what_cannot_have_variants_is_refused_in_one_line(reason, body):
    with pytest.raises(RefusedError, match=reason) as refused:
        variant_objects(body, Makings(TEMPLATES, (H100_80GB,)), "x", SMALL)

    assert "\n" not in str(refused.value)


def test_a_pod_template_without_claims_is_refused():
    body = deployment()
    del body["spec"]["template"]["spec"]["resourceClaims"]

    with pytest.raises(RefusedError, match="found 0"):
        gpu_claim(body, TEMPLATES)


def test_a_shape_of_a_board_that_the_fleet_does_not_have_is_refused():
    with pytest.raises(RefusedError, match="Deployment llama: no card of the fleet is a h100-80gb"):
        made(boards=(A100_80GB,))


def test_gpu_claim_finds_the_claim_among_others():
    body = with_claims(from_template("nic", "nic"), from_template("accelerator", "whole"))

    name, ask = gpu_claim(body, TEMPLATES)

    assert ("accelerator", DeviceRequest("gpu")) == (name, ask.request)


def test_a_made_variant_is_recognised():
    base = deployment()
    _, variant = made(base)

    assert is_variant_of(variant, base)
    assert not is_variant_of(base, base)


def unmarked(variant):
    del variant["metadata"]["labels"]["foreslice.dev/variant"]


def orphaned(variant):
    variant["metadata"]["ownerReferences"] = []


def adopted(variant):
    variant["metadata"]["ownerReferences"][0]["uid"] = "uid-of-another"


def wide(variant):
    del variant["spec"]["selector"]["matchLabels"]["foreslice.dev/variant"]


@pytest.mark.parametrize("change", [unmarked, orphaned, adopted, wide])
def test_a_deployment_that_only_looks_like_a_variant_is_none(change):
    """Labels are anybody's to write: mark, selector and owner must all agree."""
    base = deployment()
    _, variant = made(base)

    change(variant)

    assert not is_variant_of(variant, base)
