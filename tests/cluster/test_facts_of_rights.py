"""Facts of what a service account may do to claims, as Kubernetes 1.37 has them."""

from contextlib import closing

import pytest

from actuator.kube.apiserver import MERGE
from actuator.kube.connect import connect
from fleet.boards import H100_80GB
from fleet.errors import RefusedError
from simulator.api import CLAIM, timestamp
from simulator.pods import DELETE_PROTECTION
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


def may(verb, resource):
    return {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": [verb]}


@pytest.fixture
def claim(lab):
    """A claim as it must be for an allocation to be written by hand, and that allocation."""
    node = lab.node(H100_80GB)
    lab.claim("c", request(profile="3g.40gb"))
    lab.patch(CLAIM, "c", {"metadata": {"finalizers": [DELETE_PROTECTION]}})
    result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": "gpu-0-mig-3g40gb-9-4"}
    return {"allocation": {"devices": {"results": [result]}, "allocationTimestamp": timestamp(1_750_000_000)}}


@pytest.fixture
def as_account(lab, plane):
    """A function that writes a claim's status as an account with these rights."""

    def write(status, *rules):
        kubeconfig = plane.kubeconfig_of(f"{lab.name}-writer", lab.account("writer", *rules))
        with closing(connect(kubeconfig)) as server:
            return server.request("PATCH", lab.path(CLAIM, "c") + "/status", {"status": status}, None, MERGE)

    return write


def test_an_account_without_rights_is_refused_by_name(as_account, claim, lab):
    with pytest.raises(RefusedError, match=f"may not patch resourceclaims/status.*:{lab.name}:writer"):
        as_account(claim)


def test_the_status_of_a_claim_is_not_enough_to_allocate_it(as_account, claim):
    with pytest.raises(RefusedError, match=r'requires resource="resourceclaims/binding"'):
        as_account(claim, may("patch", "resourceclaims/status"))


def test_with_the_binding_an_account_allocates(as_account, claim, lab):
    binding = may("patch", "resourceclaims/binding"), may("update", "resourceclaims/binding")
    as_account(claim, may("patch", "resourceclaims/status"), *binding)
    lab.pod("p", claim="c")
    until(lambda: lab.is_bound("p"))
    assert "gpu-0-mig-3g40gb-9-4" == lab.devices("p")
