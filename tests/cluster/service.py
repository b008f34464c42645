"""`foreslice run` on the shop, as the service account of deploy/rbac."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from actuator.kube.resources import LEASES
from fleet.errors import ConflictError
from tests.cluster.lab import until
from tests.cluster.permissions import bind, install, token_of, unbind

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
RECORDED = "file, path: rows.csv"
NOBODY = 'prometheus, url: "http://127.0.0.1:9"'
ROWS = """timestamp,series,namespace,pod,model_name,value
60,vllm:request_success_total,shop,web-0,web,1
120,vllm:request_success_total,shop,web-0,web,5
"""


@contextmanager
def folder_of(plane, shop, folder, opened=None):
    """Fill a folder with what a service of the shop needs, which has Deployment `web` or is as `opened`."""
    for name in ("observe", "act"):
        install(shop.server, name)
    body = json.loads(plane.kubeconfig.read_text())
    body["users"][0]["user"] = {"token": until(lambda: token_of(shop.server))}
    (folder / "kubeconfig").write_text(json.dumps(body))
    (folder / "rows.csv").write_text(ROWS)
    try:
        for role in ROLES:
            bind(shop.server, role)
        with opened or shop.open():
            yield folder
    finally:
        for role in ROLES:
            unbind(shop.server, role)
        shop.server.request("DELETE", LEASES.path("foreslice"))


def settings(folder, acting, source=RECORDED):
    """Write a settings file and return its path."""
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


def holder(shop):
    """Return who leads, "" for nobody any more, `None` for nobody yet."""
    try:
        return shop.server.request("GET", LEASE)["spec"].get("holderIdentity")
    except ConflictError:
        return None


def says(process, text):
    """Wait until a service says something."""
    said = []
    for line in process.stderr:
        said.append(line)
        if text in line:
            return
    raise AssertionError(f"it has ended and never said {text!r}: {said}")
