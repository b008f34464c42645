"""`foreslice sharing` against an API server and a Prometheus on loopback, given as on a command line."""

import json

import pytest
from typer.testing import CliRunner

from fleet.errors import InputError
from foreslice.cli import app
from tests.fakes.doors import doors
from tests.fakes.manifests import h100_slices
from tests.unit.foreslice.sharing.test_sharing import claim, pod

CORE, DRA = "/api/v1", "/apis/resource.k8s.io/v1"


@pytest.fixture
def there():
    """A card of which pod `chat` has an instance, measured by DCGM exporter."""
    with doors() as made:
        made.lists = {
            f"{CORE}/pods": [pod("chat")],
            f"{CORE}/nodes": [],
            f"{DRA}/resourceclaims": [claim("gpu-0-mig-3g40gb-9-0", "chat")],
            f"{DRA}/resourceslices": h100_slices("node-a"),
        }
        about = {"UUID": "GPU-node-a-0", "GPU_I_ID": "2", "GPU_I_PROFILE": "3g.40gb", "namespace": "llm"}
        made.series = [{"__name__": "DCGM_FI_DEV_FB_USED", "pod": "chat", **about}]
        yield made


def run(*arguments):
    """Run the command, and return what it prints; what it raises goes to the caller."""
    ran = CliRunner().invoke(
        app, ["sharing", *map(str, arguments), "--output", "json"], catch_exceptions=False
    )
    return json.loads(ran.stdout)


def test_grants_come_from_the_cluster_and_use_from_prometheus(there, tmp_path):
    told = run("--kubeconfig", there.kubeconfig(tmp_path / "kubeconfig"), "--prometheus", there.url)
    [card] = told["cards"]
    [tenant] = card["tenants"]
    assert ("GPU-node-a-0", "node-a", "h100-80gb", ["dra"], 0.5) == (
        card["card"],
        card["node"],
        card["product"],
        card["mechanisms"],
        card["memory_granted"],
    )
    assert ("llm/chat", "instance", 2**20, "DCGM exporter") == (
        tenant["tenant"],
        tenant["has_alone"],
        tenant["used"]["memory_bytes"],
        tenant["used"]["source"],
    )
    assert [] == told["notes"]


def test_without_a_prometheus_nothing_is_measured(there, tmp_path):
    [card] = run("--kubeconfig", there.kubeconfig(tmp_path / "kubeconfig"))["cards"]
    assert (None, None) == (card["tenants"][0]["used"], card["memory_used_bytes"])


def test_what_was_refused_is_noted(there, tmp_path):
    there.refused.add(f"{CORE}/nodes")
    told = run("--kubeconfig", there.kubeconfig(tmp_path / "kubeconfig"))
    assert [True] == [note.startswith("may not list nodes") for note in told["notes"]]
    assert 1 == len(told["cards"])


def test_without_pods_there_is_nothing_to_tell(there, tmp_path):
    there.refused.add(f"{CORE}/pods")
    with pytest.raises(InputError, match="may not list pods"):
        run("--kubeconfig", there.kubeconfig(tmp_path / "kubeconfig"))


def test_files_are_read_instead_and_nobody_is_asked(there, tmp_path):
    objects = tmp_path / "objects.json"
    items = [pod("chat"), claim("gpu-0-mig-3g40gb-9-0", "chat")]
    slices = [
        {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1", **body}
        for body in h100_slices("node-a")
    ]
    objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items + slices}))
    [card] = run("--objects", objects, "--prometheus", there.url)["cards"]
    assert "llm/chat" == card["tenants"][0]["tenant"]
    assert [] == there.asked
