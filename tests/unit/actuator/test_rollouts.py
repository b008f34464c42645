"""Whether a Deployment's template may be changed, and how far a rollout of it is."""

import pytest

from actuator.objects.rollouts import INSTEAD_OF, rollout_of
from fleet.rollout import NONE
from tests.fakes.manifests import deployment, template

DONE = {"replicas": 4, "updatedReplicas": 4, "availableReplicas": 4, "observedGeneration": 3}
FIRST = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
CLAIM = {"f:name": {}, "f:resourceClaimTemplateName": {}}


def body(status=DONE, replicas=4, managers=(), **spec):
    """A Deployment whose rollouts make new pods first; a manager is (name, operation)."""
    made = deployment(replicas=replicas, generation=3)
    made["spec"] |= {"strategy": FIRST, **spec}
    field = {"f:template": {"f:spec": {"f:resourceClaims": {'k:{"name":"gpus"}': CLAIM}}}}
    made["metadata"]["managedFields"] = [
        {"manager": name, "operation": operation, "fieldsV1": {"f:spec": field}}
        for name, operation in managers
    ]
    return {**made, "status": status}


def rollout(of, *templates):
    return rollout_of(of, "gpus", {each["metadata"]["name"]: each for each in templates})


def ours(instead_of="mig-3g", **labels):
    made = template("llama-1g")
    made["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": "foreslice", **labels},
        "annotations": {INSTEAD_OF: instead_of},
    }
    return made


def strategy(**rolling):
    return {"strategy": {"rollingUpdate": rolling}}


FREE = {
    "new pods first": body(),
    "a person wrote it": body(managers=[("kubectl-client-side-apply", "Update"), ("helm", "Update")]),
    "we applied it": body(managers=[("foreslice", "Apply")]),
    "the usual strategy, of few replicas": body(replicas=3, strategy={}),
    "a part that comes to none": body(replicas=4, **strategy(maxUnavailable="24%")),
}
TIED = {
    "the usual strategy": (body(strategy={}), "may take 1 of its replicas away"),
    "a quarter of four": (body(**strategy(maxUnavailable="25%", maxSurge=1)), "may take 1 of its replicas"),
    "half of four": (body(**strategy(maxUnavailable="50%")), "may take 2 of its replicas"),
    "neither": (body(**strategy(maxUnavailable="10%", maxSurge=0)), "maxUnavailable to 0 and maxSurge to 1"),
    "all at once": (body(strategy={"type": "Recreate"}), "set strategy.type to RollingUpdate"),
    "paused": (body(paused=True), "kubectl rollout resume deployment/llama"),
    "Argo CD": (
        body(managers=[("argocd-controller", "Update")]),
        "is kept by argocd-controller: take it out",
    ),
    "applied": (body(managers=[("helm", "Apply"), ("kubectl", "Apply")]), "is kept by helm and kubectl"),
}


@pytest.mark.parametrize("of", FREE.values(), ids=FREE)
def test_a_template_may_be_changed_where_nothing_is_taken_away_and_nobody_writes_it_again(of):
    assert not rollout(of).obstacle


@pytest.mark.parametrize(("of", "why"), TIED.values(), ids=TIED)
def test_else_it_may_not_and_what_to_do_is_said(of, why):
    assert why in rollout(of).obstacle


def test_who_applies_another_claim_keeps_nothing_of_this_one():
    made = body(managers=[("helm", "Apply")])
    claims = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    claims["f:resourceClaims"] = {'k:{"name":"disk"}': CLAIM, 'k:{"name":"gpus"}': {"f:name": {}}}
    assert not rollout(made).obstacle


@pytest.mark.parametrize(
    ("is_running", "status"),
    [
        (False, DONE),
        (True, {**DONE, "observedGeneration": 2}),
        (True, {**DONE, "updatedReplicas": 3}),
        (True, {**DONE, "replicas": 5}),
        (True, {**DONE, "availableReplicas": 3}),
        (True, {}),
    ],
    ids=str,
)
def test_a_rollout_runs_until_all_pods_are_of_the_newest_template_and_serve(is_running, status):
    assert is_running is rollout(body(status)).is_running


def test_what_its_controller_has_given_up_is_told():
    said = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    assert "ProgressDeadlineExceeded" == rollout(body({**DONE, "conditions": [said]})).stuck
    said |= {"message": "it has timed out"}
    assert "it has timed out" == rollout(body({**DONE, "conditions": [said]})).stuck
    said |= {"status": "True"}
    assert "" == rollout(body({**DONE, "conditions": [said]})).stuck


def test_a_template_of_ours_says_whose_place_it_takes():
    found = rollout({**body(), **deployment(template_name="llama-1g")}, ours())
    assert ("llama-1g", "mig-3g", True) == (found.template, found.owners, found.is_switched)


def test_the_annotation_of_anybody_elses_template_says_nothing():
    theirs = ours()
    del theirs["metadata"]["labels"]
    found = rollout(deployment(template_name="llama-1g"), theirs)
    assert ("llama-1g", False) == (found.owners, found.is_switched)


def test_the_version_to_write_on_and_how_long_pods_are_watched_are_told():
    found = rollout(body(minReadySeconds=600))
    assert ("7", 600.0) == (found.version, found.min_ready_s)


def test_what_is_no_deployment_is_not_rolled_out_by_us():
    assert NONE == rollout({**body(), "kind": "StatefulSet"})
