"""Replicas are applied without force first, and never by force over what would write them again."""

import pytest

from actuator.kube.errors import OwnedError
from actuator.kube.scale import apply_field, scaled, scaling
from fleet.errors import ConflictError, RefusedError

SCALE = {"metadata": {"resourceVersion": "8"}, "spec": {"replicas": 2}}


class Applied:
    """Notes how often it was forced, and has others keep the field until it is."""

    def __init__(self, error=None):
        self.error = error
        self.forced = []

    def __call__(self, *, force):
        self.forced.append(force)
        if self.error is not None and not force:
            raise self.error
        return SCALE


def owned(*, once=(), lasting=()):
    return OwnedError("Apply failed", once, lasting)


def test_where_nobody_else_keeps_the_field_nothing_is_forced():
    apply = Applied()
    assert SCALE == apply_field(apply, "Deployment shop/web", "spec.replicas", is_autoscaled=True)
    assert [False] == apply.forced


def test_over_who_wrote_it_once_it_is_forced():
    apply = Applied(owned(once=("kubectl", "helm")))
    assert SCALE == apply_field(apply, "Deployment shop/web", "spec.replicas", is_autoscaled=True)
    assert [False, True] == apply.forced


@pytest.mark.parametrize(
    ("error", "who"),
    [
        (owned(lasting=("argocd-controller",)), "argocd-controller"),
        (owned(once=("kubectl",), lasting=("flux", "argo")), "argo and flux"),
        (owned(once=("kubectl", "kube-controller-manager")), "a HorizontalPodAutoscaler"),
    ],
)
def test_what_would_write_it_again_is_named_and_not_fought(error, who):
    apply = Applied(error)
    with pytest.raises(RefusedError) as said:
        apply_field(apply, "Deployment shop/web", "spec.replicas", is_autoscaled=True)
    assert (
        f"Deployment shop/web: spec.replicas is kept by {who}; "
        "take it out of what that applies, or set mode to advise"
    ) == str(said.value)
    assert [False] == apply.forced


def test_an_older_version_is_a_conflict_and_never_forced():
    apply = Applied(ConflictError("the object has been modified"))
    with pytest.raises(ConflictError, match="modified"):
        apply_field(apply, "Deployment shop/web", "spec.replicas", is_autoscaled=True)
    assert [False] == apply.forced


@pytest.mark.parametrize(("expects", "versions"), [("7", {"resourceVersion": "7"}), (None, {})])
def test_only_replicas_are_applied_on_the_version_that_is_expected(expects, versions):
    assert {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"namespace": "shop", "name": "web", **versions},
        "spec": {"replicas": 2},
    } == scaling("shop", "web", 2, expects)


@pytest.mark.parametrize(
    ("spec", "expected", "generation"), [({"replicas": 2}, 2, 4), ({}, 0, 4), ({"replicas": 1}, 1, 3)]
)
def test_a_deployment_is_as_its_scale_says_a_generation_later_if_it_is_news(spec, expected, generation):
    web = {
        "metadata": {"name": "web", "resourceVersion": "7", "generation": 3},
        "spec": {"replicas": 1, "paused": True},
    }
    assert {
        "metadata": {"name": "web", "resourceVersion": "8", "generation": generation},
        "spec": {"replicas": expected, "paused": True},
    } == scaled(web, {**SCALE, "spec": spec})
