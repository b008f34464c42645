"""A node on a real API server gets time slices; the simulated device plugin is a client of it."""

import json
import time
from contextlib import closing, suppress
from threading import Event

import pytest
from typer.testing import CliRunner

from actuator.kube.cluster import KubeCluster
from actuator.kube.nodes import PluginDoor
from actuator.mechanisms.device_plugin import PRODUCT_LABEL
from actuator.mechanisms.engine_memory import UTILISATION
from actuator.slicing.hands import turn
from actuator.slicing.node import CONFIG_LABEL
from allocator.room import room_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from foreslice.cli import app
from foreslice.clock import WallClock
from simulator.api import CONFIG_MAP, DEPLOYMENT, NODE, POD
from simulator.slicing_plugin import PluginTimes, SlicingPlugin
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import LABEL, until
from tests.fakes.slicing import PEOPLES

WHOLE, QUARTER = Shape("h100-80gb"), Shape("h100-80gb", "25/100")
TIMES = PluginTimes(again_s=0.3, start_s=0.3, labels_s=0.3)

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


class Site:
    """A node of two whole H100, its device plugin, and the command."""

    def __init__(self, lab, agents, plane, folder):
        self.lab = lab
        lab.create(CONFIG_MAP, "plugin", data=PEOPLES)
        self.agents = agents
        self.node = self.plugged("whole", "2")
        self.config = folder / "settings.yaml"
        self.config.write_text(
            "version: v1\nmetrics: {source: prometheus, url: http://127.0.0.1:9}\n"
            f"cluster: {{kind: kubernetes, kubeconfig: {plane.kubeconfig}}}\n"
            "workloads: [{name: chat, namespace: s, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}]\n"
        )

    def plugged(self, config, offer):
        """Add a node whose plugin has a config, and return its name once it offers that."""
        name = self.lab.node(slices=lambda _: [])
        self.lab.patch(NODE, name, {"metadata": {"labels": {CONFIG_LABEL: config}}})
        is_made = Event()

        def start():
            SlicingPlugin(self.agents.api, self.agents.clock, name, H100_80GB, 2, self.files, TIMES)
            is_made.set()

        self.agents.clock.after(0, start)
        is_made.wait()
        until(lambda: offered(self.lab.get(NODE, name)) == offer)
        until(lambda: "nvidia.com/gpu.count" in self.lab.get(NODE, name)["metadata"]["labels"])
        return name

    def files(self):
        return self.lab.get(CONFIG_MAP, "plugin")["data"]

    @property
    def body(self):
        return self.lab.get(NODE, self.node)

    @property
    def offer(self):
        return offered(self.body)

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


def offered(node):
    return node["status"].get("allocatable", {}).get("nvidia.com/gpu")


def engine(lab, name, memory, product):
    """A Deployment of one replica that asks for a card, or a slice of one, and is told how much it takes."""
    container = {"name": "engine", "image": "engine", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    container["args"] = [f"--gpu-memory-utilization=$({UTILISATION})"]
    container["env"] = [{"name": UTILISATION, "value": memory}]
    pod_spec = {"nodeSelector": {LABEL: lab.name, PRODUCT_LABEL: product}, "containers": [container]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec}
    lab.create(DEPLOYMENT, name, spec={"selector": {"matchLabels": {"app": name}}, "template": template})
    return WorkloadKey(lab.name, name)


def test_a_copy_joins_another_workload_on_time_slices_and_gets_no_more_than_there_are(
    lab, agents, plane, tmp_path
):
    site = Site(lab, agents, plane, tmp_path)
    sliced = site.plugged("quarters", "8")
    chat = engine(lab, "chat", "0.2", "NVIDIA-H100-80GB-HBM3-SHARED")
    code = engine(lab, "code", "0.9", "NVIDIA-H100-80GB-HBM3")
    with closing(KubeCluster(lab.server, [lab.name], lambda: 1)) as cluster:

        def ready(key):
            standing = cluster.view([chat, code]).standing(key)
            return dict(standing.ready.counts) if standing else {}

        until(lambda: (ready(chat), ready(code)) == ({QUARTER: 1}, {WHOLE: 1}))
        room, _ = room_of(cluster.view([chat, code])).fill(QUARTER, 99)
        assert 7 == room
        cluster.create_variant(code, "code-quarter", QUARTER)
        cluster.scale(code, "code-quarter", room + 1, expects=None)
        until(lambda: ready(code) == {WHOLE: 1, QUARTER: room})
        placed = [r for _, _, r, d in cluster.view([chat, code]).placed() if d.node == sliced]
        assert 8 == len(placed)
        assert 1 == sum(not lab.is_bound(pod["metadata"]["name"]) for pod in lab.list(POD))
        (engine_of_copy,) = lab.get(DEPLOYMENT, "code-quarter")["spec"]["template"]["spec"]["containers"]
        assert [{"name": UTILISATION, "value": "0.225"}] == engine_of_copy["env"]


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
