"""A node on a real API server is brought to another layout; the simulated MIG manager is a client of it."""

import json
import time
from collections import Counter
from contextlib import closing
from threading import Event

import pytest
from typer.testing import CliRunner

from actuator.kube.nodes import NodeDoor
from actuator.layouts.hands import turn
from actuator.layouts.node import CONFIG_LABEL, TAINT
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from foreslice.cli import app
from foreslice.clock import WallClock
from simulator.api import CONFIG_MAP, NODE, POD
from simulator.layouts import CONFIG_MAP_NAME
from simulator.mig_manager import Fault, MigManager, Times
from simulator.offering import ByDriver, ByPlugin
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import PDB, until
from tests.cluster.permissions import as_service_account, bind, granted, install
from tests.fakes.layouts import FILE, NIGHT, wish
from tests.fakes.manifests import request

TIMES = Times(operands_s=0.3, apply_s=0.3, devices_s=0.3)
DAY = {"mig-1g.10gb": "7", "mig-3g.40gb": "3", "mig-4g.40gb": "1", "mig-7g.80gb": "1"}

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


class Site:
    """A node of four H100 in the layout `night`, its MIG manager, and what offers its cards.

    Who turns it reads a clock that passes `faster` times as fast as the wall's.
    """

    def __init__(self, lab, agents, faults=(), offering=ByPlugin, faster=1):
        self.lab, self.faults = lab, list(faults)
        self.clock, self.faster = WallClock(), faster
        self.began_s = self.clock.now_s()
        self.node = lab.node(slices=lambda _: [])
        labels = {
            "nvidia.com/gpu.product": H100_80GB.product_names[0].replace(" ", "-"),
            CONFIG_LABEL: "night",
            f"{CONFIG_LABEL}.state": "success",
        }
        lab.patch(NODE, self.node, {"metadata": {"labels": labels}})
        lab.create(CONFIG_MAP, CONFIG_MAP_NAME, data={"config.yaml": FILE})
        self.door = self.door_of(lab.server)
        cards = [(H100_80GB, cut) for cut in NIGHT]
        is_made = Event()

        def start():
            offers = offering(agents.api, self.node)
            MigManager(agents.api, agents.clock, self.node, cards, self.file, TIMES, self.next_fault, offers)
            is_made.set()

        agents.clock.after(0, start)
        is_made.wait()
        until(lambda: "14" in {self.offer.get("mig-1g.10gb"), self.published.get("mig-1g.10gb")})

    def door_of(self, server):
        return NodeDoor(server, self.lab.name, CONFIG_MAP_NAME, lambda: None)

    def file(self):
        return self.lab.get(CONFIG_MAP, CONFIG_MAP_NAME)["data"]["config.yaml"]

    @property
    def now_s(self):
        return self.began_s + self.faster * (self.clock.now_s() - self.began_s)

    def next_fault(self):
        return self.faults.pop(0) if self.faults else Fault.NONE

    @property
    def body(self):
        return self.lab.get(NODE, self.node)

    @property
    def offer(self):
        held = self.body["status"].get("allocatable", {})
        return {
            n.removeprefix("nvidia.com/"): amount
            for n, amount in held.items()
            if n.startswith("nvidia.com/") and amount != "0"
        }

    @property
    def published(self):
        """What DRA's driver offers, in the words of the device plugin."""
        counts = Counter(device.profile for device in self.door.published(self.node).devices_of(self.node))
        return {f"mig-{profile}": str(count) for profile, count in counts.items()}

    @property
    def is_held(self):
        return any(taint["key"] == TAINT["key"] for taint in self.body["spec"].get("taints", []))

    def run(self, name, **annotations):
        """Have a pod run that takes an instance."""
        limits = {"nvidia.com/mig-1g.10gb": "1"}
        container = {"name": "c", "image": "i", "resources": {"limits": limits}}
        metadata = {"labels": {"app": name}, "annotations": annotations}
        self.lab.create(POD, name, metadata=metadata, spec={"nodeName": self.node, "containers": [container]})
        until(lambda: self.lab.get(POD, name)["status"].get("phase") == "Running")

    def until(self, act):
        """Turn until something is done; a node that was changed meanwhile is looked at again."""
        while True:
            try:
                step = turn(self.door, self.node, wish(), self.now_s)
            except ConflictError:
                continue
            if step.act == act:
                return step
            time.sleep(0.05)


@pytest.fixture
def ours(plane, site):
    """The API server as our service account sees it, with the rights of layouts and no others."""
    for name in ("observe", "layouts", "cut"):
        install(site.lab.server, name)
    for role in ("foreslice-observe-layouts", "foreslice-cut-file"):
        bind(site.lab.server, role, site.lab.name)
    with closing(as_service_account(plane, site.lab.server)) as server:
        yield server


@pytest.fixture
def site(lab, agents):
    return Site(lab, agents)


def test_a_node_gets_another_layout_and_its_pod_is_evicted(site):
    site.run("small")
    metadata = {**site.lab.get(POD, "small")["metadata"], "uid": "one-of-before"}
    with pytest.raises(ConflictError, match="UID in the precondition"):
        site.door.evict({"metadata": metadata})
    site.until("nothing")

    assert DAY == site.offer
    assert site.lab.get(POD, "small") is None
    assert not site.is_held
    assert "foreslice.dev/layout" not in site.body["metadata"].get("annotations", {})
    assert FILE.splitlines()[-2:] == site.file().splitlines()[-2:]


def test_slices_are_the_evidence_where_the_cards_are_claimed(lab, agents, plane):
    """By the rights of layouts and cut alone: what observe grants lists slices and claims."""
    site = Site(lab, agents, [Fault.HOLLOW], ByDriver, faster=20)  # slices are waited for for minutes
    for name in ("observe", "layouts", "cut"):
        install(lab.server, name)
    for role in ("foreslice-observe-layouts", "foreslice-cut-file"):
        bind(lab.server, role, lab.name)
    for name, profile in (("small", "1g.10gb"), ("large", "7g.80gb")):
        lab.pod(name, template=lab.template(name, request(profile=profile)))
        lab.got(name)
    with closing(as_service_account(plane, lab.server)) as server:
        site.door = site.door_of(server)
        step = site.until("evict")
        site.until("nothing")

    assert {f"{lab.name}/large", f"{lab.name}/small"} == set(step.pods)
    assert DAY == site.published
    assert {} == site.offer
    assert not site.is_held


def test_a_budget_keeps_its_pod_and_the_label_waits(site):
    site.lab.create(PDB, "b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "small"}}})
    site.run("small")
    step = site.until("wait")

    assert "disruption budget" in step.because
    assert "night" == site.body["metadata"]["labels"][CONFIG_LABEL]
    assert site.lab.get(POD, "small") is not None


def test_the_command_says_the_next_step_and_does_it_when_told(site, plane, tmp_path):
    config = tmp_path / "settings.yaml"
    config.write_text(
        "version: v1\nmetrics: {source: prometheus, url: http://127.0.0.1:9}\n"
        f"cluster: {{kind: kubernetes, kubeconfig: {plane.kubeconfig}}}\n"
        "workloads: [{name: chat, namespace: serving, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}]\n"
    )
    options = [
        "--config",
        str(config),
        "--node",
        site.node,
        "--manager",
        f"{site.lab.name}/{CONFIG_MAP_NAME}",
    ]
    cut = ["--cut", "0: 3g.40gb + 4g.40gb; 1: 7 x 1g.10gb; 2: 7g.80gb; 3: 2 x 3g.40gb"]
    said = CliRunner().invoke(app, ["layout", "apply", *options, *cut])

    assert (4, True) == (said.exit_code, said.stdout.startswith(f"next: {site.node}: hold"))
    assert "night" == site.body["metadata"]["labels"][CONFIG_LABEL]
    done = CliRunner().invoke(app, ["layout", "apply", *options, *cut, "--yes", "--output", "json"])
    assert 0 == done.exit_code
    assert ["hold", "write", "label"] == [step["act"] for step in json.loads(done.stdout)["steps"]][:3]
    assert DAY == site.offer


def test_a_change_asks_for_all_that_layouts_and_cut_grant_and_nothing_else(site, ours):
    site.run("small")
    site.door = site.door_of(ours)
    site.until("nothing")

    assert DAY == site.offer
    assert granted("layouts", "cut") == ours.asked - granted("observe")
