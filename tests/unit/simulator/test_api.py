import pytest

from simulator.api import (
    BINDING,
    CLAIM,
    CLAIM_TEMPLATE,
    DEPLOYMENT,
    FRACTION_PLAN,
    KINDS,
    NODE,
    POD,
    SLICE,
    kind_of,
    timestamp,
)
from simulator.errors import NotModelledError


@pytest.mark.parametrize(
    ("api_version", "name", "kind"),
    [
        ("v1", "Node", NODE),
        ("v1", "Pod", POD),
        ("v1", "Binding", BINDING),
        ("apps/v1", "Deployment", DEPLOYMENT),
        ("resource.k8s.io/v1", "ResourceClaim", CLAIM),
        ("resource.k8s.io/v1", "ResourceClaimTemplate", CLAIM_TEMPLATE),
        ("resource.k8s.io/v1", "ResourceSlice", SLICE),
        ("foreslice.dev/v1alpha1", "FractionPlan", FRACTION_PLAN),
    ],
)
def test_an_object_says_its_kind(api_version, name, kind):
    assert kind is kind_of({"apiVersion": api_version, "kind": name})


@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "apps/v1", "kind": "Pod"},
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim"},
        {},
    ],
    ids=["group", "version", "nothing"],
)
def test_other_groups_and_versions_are_not_modelled(body):
    with pytest.raises(NotModelledError, match="objects of kind"):
        kind_of(body)


def test_addresses_are_plural_in_lower_case():
    assert {True} == {kind.plural.startswith(kind.name.lower()) for kind in KINDS.values()}


@pytest.mark.parametrize(
    ("at_s", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1_750_000_000.0, "2025-06-15T15:06:40Z"),
        (1_750_000_000.999, "2025-06-15T15:06:40Z"),
    ],
)
def test_times_are_whole_seconds_in_utc(at_s, text):
    assert text == timestamp(at_s)
