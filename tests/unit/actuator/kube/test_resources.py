"""Addresses are those of the API's conventions."""

import pytest

from actuator.kube.mirror import Scope
from actuator.kube.resources import CLAIMS, DEPLOYMENTS, PLANS, PODS, SLICES


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        ("/api/v1/namespaces/shop/pods", PODS.path("shop")),
        ("/apis/apps/v1/namespaces/shop/deployments/web/scale", DEPLOYMENTS.path("shop", "web", "scale")),
        ("/apis/resource.k8s.io/v1/resourceslices", SLICES.path()),
        ("/apis/resource.k8s.io/v1/resourceclaims", Scope(CLAIMS).path),
        ("/apis/foreslice.dev/v1alpha1/namespaces/shop/fractionplans/web-1", PLANS.path("shop", "web-1")),
    ],
)
def test_paths(expected, path):
    assert expected == path
