"""`foreslice run` as a process on a real control plane, with the permissions of deploy/rbac and no others."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from actuator.kube.resources import LEASES, PLANS
from fleet.errors import ConflictError
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.permissions import bind, install, token_of, unbind
from tests.cluster.shop import shop_of
from tests.contract.test_cluster_contract import deployment

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
FORESLICE = [str(Path(sys.executable).with_name("foreslice")), "run"]
LEASE = LEASES.path("foreslice", "foreslice")
ROLES = ("foreslice-observe-workloads", "foreslice-act")
SETTINGS = """
version: v1
metrics: {source: %s}
cluster: {kind: kubernetes, kubeconfig: kubeconfig}
acting: %s
loop: {tick: 1s}
http: {port: 0}
workloads:
  - {name: web, namespace: shop, model: qwen2.5-7b-bf16, mode: full, slo: {ttft: {p95: 1s}}}
"""
ROWS = """timestamp,series,namespace,pod,model_name,value
60,vllm:request_success_total,shop,web-0,web,1
120,vllm:request_success_total,shop,web-0,web,5
"""


@pytest.fixture(scope="module")
def shop(plane):
    with shop_of(plane) as made:
        for name in ("observe", "act"):
            install(made.server, name)
        yield made


@pytest.fixture
def folder(plane, shop, tmp_path):
    """Settings for a shop with Deployment `web`, and a kubeconfig of our service account."""
    body = json.loads(plane.kubeconfig.read_text())
    body["users"][0]["user"] = {"token": until(lambda: token_of(shop.server))}
    (tmp_path / "kubeconfig").write_text(json.dumps(body))
    (tmp_path / "rows.csv").write_text(ROWS)
    try:
        for role in ROLES:
            bind(shop.server, role)
        with shop.cluster() as cluster:
            for made in deployment("web", replicas=1):
                shop.create(cluster, made)
            shop.settle(cluster)
        yield tmp_path
    finally:
        for role in ROLES:
            unbind(shop.server, role)
        shop.clear()
        shop.server.request("DELETE", LEASES.path("foreslice"))


RECORDED = "file, path: rows.csv"
NOBODY = 'prometheus, url: "http://127.0.0.1:9"'


def settings(folder, acting, source=RECORDED):
    path = folder / "foreslice.yaml"
    path.write_text(SETTINGS % (source, acting))
    return path


@contextmanager
def service(path):
    """Run the service; it is stopped in the end."""
    with subprocess.Popen(
        [*FORESLICE, "-c", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def once(path):
    return subprocess.run(
        [*FORESLICE, "-c", str(path), "--once", "-o", "json"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "HOME": str(path.parent)},
    )


def holder(shop):
    try:
        return shop.server.request("GET", LEASE)["spec"].get("holderIdentity")
    except ConflictError:
        return None


def test_it_sees_the_cluster_and_writes_nothing_unless_it_may_act(shop, folder):
    held_before = holder(shop)  # by nobody any more, if another test has led here
    ran = once(settings(folder, "false"))
    assert (0, "") == (ran.returncode, ran.stderr)
    seen = json.loads(ran.stdout)
    assert "web" in json.dumps(seen)
    assert ([], held_before) == (shop.list(PLANS), holder(shop))


def test_an_api_server_that_does_not_answer_is_one_line_and_code_3(folder):
    path = settings(folder, "false")
    body = json.loads((folder / "kubeconfig").read_text())
    body["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:9"}
    (folder / "kubeconfig").write_text(json.dumps(body))
    ran = once(path)
    assert (3, "", 1) == (ran.returncode, ran.stdout, len(ran.stderr.splitlines()))
    assert "refused" in ran.stderr


def test_a_missing_permission_is_one_line_with_its_rule_and_code_3(shop, folder):
    unbind(shop.server, ROLES[0])
    try:
        ran = once(settings(folder, "false"))
    finally:
        bind(shop.server, ROLES[0])
    assert (3, 1) == (ran.returncode, len(ran.stderr.splitlines()))
    assert "may not list deployments in namespace shop: grant {apiGroups: " in ran.stderr


def test_a_kubeconfig_that_is_not_there_is_one_line_and_code_2(folder):
    (folder / "kubeconfig").unlink()
    ran = once(settings(folder, "false"))
    assert (2, 1) == (ran.returncode, len(ran.stderr.splitlines()))


def test_sigterm_hands_the_lead_over_within_two_seconds(shop, folder):
    path = settings(folder, "true", NOBODY)
    with service(path) as first:
        until(lambda: holder(shop))
        leader = holder(shop)
        with service(path) as second:
            until(lambda: any("another process leads" in line for line in iter(second.stderr.readline, "")))
            first.send_signal(signal.SIGTERM)
            told_s = time.monotonic()
            until(lambda: holder(shop) not in (leader, "", None), every_s=0.05)
            assert time.monotonic() - told_s < 2.0
            assert 0 == first.wait(10)
            assert 2 == shop.server.request("GET", LEASE)["spec"]["leaseTransitions"]
