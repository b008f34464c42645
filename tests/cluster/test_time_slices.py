"""A node on a real API server gets time slices; the simulated device plugin is a client of it."""

import json
import time
from contextlib import suppress
from threading import Event

import pytest
from typer.testing import CliRunner

from actuator.kube.nodes import PluginDoor
from actuator.slicing.hands import turn
from actuator.slicing.node import CONFIG_LABEL
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from foreslice.cli import app
from foreslice.clock import WallClock
from simulator.api import CONFIG_MAP, NODE, POD
from simulator.slicing_plugin import PluginTimes, SlicingPlugin
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.slicing import PEOPLES

TIMES = PluginTimes(again_s=0.3, start_s=0.3, labels_s=0.3)

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


class Site:
    """A node of two whole H100, its device plugin, and the command."""

    def __init__(self, lab, agents, plane, folder):
        self.lab = lab
        self.node = lab.node(slices=lambda _: [])
        lab.patch(NODE, self.node, {"metadata": {"labels": {CONFIG_LABEL: "whole"}}})
        lab.create(CONFIG_MAP, "plugin", data=PEOPLES)
        self.config = folder / "settings.yaml"
        self.config.write_text(
            "version: v1\nmetrics: {source: prometheus, url: http://127.0.0.1:9}\n"
            f"cluster: {{kind: kubernetes, kubeconfig: {plane.kubeconfig}}}\n"
            "workloads: [{name: chat, namespace: s, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}]\n"
        )
        is_made = Event()

        def start():
            SlicingPlugin(agents.api, agents.clock, self.node, H100_80GB, 2, self.files, TIMES)
            is_made.set()

        agents.clock.after(0, start)
        is_made.wait()
        until(lambda: self.offer == "2" and "nvidia.com/gpu.count" in self.body["metadata"]["labels"])

    def files(self):
        return self.lab.get(CONFIG_MAP, "plugin")["data"]

    @property
    def body(self):
        return self.lab.get(NODE, self.node)

    @property
    def offer(self):
        return self.body["status"].get("allocatable", {}).get("nvidia.com/gpu")

    def pod(self, name, memory):
        args = [f"--gpu-memory-utilization={memory}"]
        container = {"name": "c", "image": "i", "args": args}
        container["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
        selector = {"kubernetes.io/hostname": self.node}
        tolerations = [{"operator": "Exists"}]
        spec = {"containers": [container], "nodeSelector": selector, "tolerations": tolerations}
        self.lab.create(POD, name, spec=spec)

    def turns(self, replicas):
        """Turn until nothing is left to do, and return the acts."""
        door, acts = PluginDoor(self.lab.server, self.lab.name, "plugin", lambda: None), []
        while "nothing" not in acts:
            with suppress(ConflictError):
                acts.append(turn(door, self.node, replicas, WallClock().now_s()).act)
            time.sleep(0.05)
        return acts

    def run(self, replicas, *more):
        options = ["--config", str(self.config), "--node", self.node, "--plugin", f"{self.lab.name}/plugin"]
        return CliRunner().invoke(app, ["layout", "slice", *options, "--replicas", str(replicas), *more])


def test_cards_are_sliced_and_made_whole_again_and_tenants_go_first(lab, agents, plane, tmp_path):
    site = Site(lab, agents, plane, tmp_path)
    said = site.run(4)
    assert (4, True, "2") == (said.exit_code, said.stdout.startswith(f"next: {site.node}: hold"), site.offer)

    done = site.run(4, "--yes", "--output", "json")

    assert (0, "8") == (done.exit_code, site.offer)
    assert ["hold", "write", "label"] == [step["act"] for step in json.loads(done.stdout)["steps"]][:3]
    assert PEOPLES.items() <= site.files().items()
    for number in range(2):
        site.pod(f"p{number}", 0.2)
    until(lambda: all(site.lab.is_bound(f"p{number}") for number in range(2)))
    assert 1 == site.turns(1).count("evict")
    assert [None, None] == [site.lab.get(POD, f"p{number}") for number in range(2)]
    assert ("2", []) == (site.offer, site.body["spec"].get("taints", []))
