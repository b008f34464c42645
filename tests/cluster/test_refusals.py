"""What the API server would refuse is known before anything is touched."""

import pytest

from actuator.kube.resources import CLAIM_TEMPLATES
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import QUOTA, until
from tests.cluster.shop import SHOP
from tests.contract.test_cluster_contract import HALF, WEB, change, deployment
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

CHAT = WorkloadKey(SHOP, "chat")
QUOTAS = f"/api/v1/namespaces/{SHOP}/{QUOTA.plural}"


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        yield opened


@pytest.fixture
def quota(shop, cluster):
    """No second Deployment may be created."""
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}}
    shop.server.request("POST", QUOTAS, {**body, "spec": {"hard": {"count/deployments.apps": "1"}}})
    until(lambda: shop.server.request("GET", f"{QUOTAS}/one").get("status", {}).get("used"))
    yield
    shop.server.request("DELETE", f"{QUOTAS}/one")


def test_a_copy_over_the_quota_is_refused_and_leaves_no_template(shop, cluster, quota):
    with pytest.raises(RefusedError, match="exceeded quota: one"):
        cluster.create_variant(WEB, "web-half", HALF)
    assert ["web-gpu"] == [body["metadata"]["name"] for body in shop.list(CLAIM_TEMPLATES)]


PART = {"capacity": {"requests": {"memory": "10Gi"}}}
CONFIG = {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"kind": "GpuConfig"}}}
APART = {"requests": ["gpu"], "distinctAttribute": "gpu.nvidia.com/uuid"}
NOT_HANDLED = {
    "part of an instance": (
        {"requests": [{"name": "gpu", "exactly": request("mig.nvidia.com", "3g.40gb", **PART)["exactly"]}]},
        "name capacity of one whole card, or ask for another profile",
    ),
    "driver config": ({"config": [CONFIG]}, "carries driver config, which may not suit another shape"),
    "cards that differ": ({"constraints": [APART]}, "by other than matchAttribute"),
}


@pytest.mark.parametrize("case", NOT_HANDLED)
def test_what_is_not_handled_is_refused_with_the_reason_and_nothing_is_written(shop, cluster, case):
    devices, reason = NOT_HANDLED[case]
    template, body = deployment("chat", 0)
    template["spec"]["spec"]["devices"] |= devices
    for each in (template, body):
        shop.create(cluster, each)
    until(lambda: reason in cluster.view([CHAT]).refused.get(CHAT, ""))
    with pytest.raises(RefusedError, match=reason):
        cluster.create_variant(CHAT, "chat-half", HALF)
    assert {"web-gpu", "chat-gpu"} == {body["metadata"]["name"] for body in shop.list(CLAIM_TEMPLATES)}


def test_a_rehearsal_says_so_too(cluster, quota):
    plan, template, copy = cluster.rehearse(change(), change().steps)
    assert ("", "") == (plan.objection, template.objection)
    assert "exceeded quota: one" in copy.objection
