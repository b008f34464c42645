"""Workloads that settings select by labels, on a real API server."""

import pytest

from actuator.kube.apiserver import MERGE
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS
from foreslice.selection import load_settled
from tests.cluster.conftest import NEWEST
from tests.cluster.service import RECORDED, folder_of, says, service
from tests.cluster.shop import SHOP
from tests.contract.test_cluster_contract import deployment

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
SETTINGS = f"""
version: v1
metrics: {{source: {RECORDED}}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig}}
loop: {{tick: 1s}}
http: {{port: 0}}
workloads:
  - {{selector: {{team: chat}}, namespace: shop, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
"""


@pytest.fixture
def folder(plane, shop, tmp_path):
    with folder_of(plane, shop, tmp_path) as made:
        yield made


def label(shop, name):
    body = {"metadata": {"labels": {"team": "chat"}}}
    shop.server.request("PATCH", DEPLOYMENTS.path(SHOP, name), body, None, MERGE)


def test_a_deployment_that_gets_the_labels_is_taken_up_by_a_service_that_runs(shop, folder):
    path = folder / "foreslice.yaml"
    path.write_text(SETTINGS)
    rows = folder / "rows.csv"
    rows.write_text(f"{rows.read_text()}60,vllm:request_success_total,shop,other-0,other,1\n")
    assert () == load_settled(path).workloads
    label(shop, "web")
    assert ["web"] == [workload.name for workload in load_settled(path).workloads]

    with service(path) as process:
        says(process, '"started"')
        for resource, body in zip((CLAIM_TEMPLATES, DEPLOYMENTS), deployment("other", 0), strict=True):
            shop.server.request("POST", resource.path(SHOP), body)
        label(shop, "other")
        says(process, '"workloads": 2, "event": "settings taken up"')
