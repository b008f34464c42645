"""A namespace whose engines serve and are scraped, with a service of its own that looks after them."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from fleet.boards import H100_80GB
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import NAME_LABEL
from simulator.pods import is_ready
from simulator.series import exposition
from tests.builders.engines import Laws, workload
from tests.cluster.lab import LABEL, WITHIN_S, Lab, until
from tests.cluster.permissions import bind, lead_in, token_of
from tests.fakes.manifests import request
from tests.leash import leashed

WORKLOAD = "chat"
CARDS = 3
LOAD_S = 25.0
ROLES = ("foreslice-observe-workloads", "foreslice-act")
FORESLICE = Path(sys.executable).with_name("foreslice")
SETTINGS = """\
version: v1
metrics: {{source: prometheus, url: "{url}"}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig, lease_namespace: {namespace}}}
acting: true
loop: {{history: {history}}}
http: {{port: 0}}
workloads:
  - name: chat
    namespace: {namespace}
    model: qwen2.5-7b-bf16
    slo: {{ttft: {{p95: 1s}}, itl: {{p95: 50ms}}}}
    mode: scale-up-only
"""


class Loading:
    """Delays of engines that load quickly (`simulator.delays.Delays`)."""

    def prepare_s(self, pod):
        return 1.0

    def image_s(self, pod):
        return 1.0

    def engine_init_s(self, pod):
        return LOAD_S


class Town:
    """A namespace, its node of three H100, and the engines of its one workload.

    Attributes:
        pages: What each engine answers to a scrape now, by pod.
        seen: The cluster's own account, (time in s, cards that pods hold, pods that are Ready) by sample.
    """

    def __init__(self, server, agents, name, days):
        self._agents = agents
        self.lab = Lab(server, name)
        self.pages = {}
        self.seen = []
        tenant = workload(WORKLOAD, namespace=name)
        self._engines = Engines([tenant], days, Laws(), int(agents.clock.now_s))
        containers = EngineContainers(agents.api, self._engines, agents.clock, Loading(), Journal())
        node = f"{name}-n0"
        agents.add_nodes({node: [H100_80GB] * CARDS}, containers, Loading())
        self.lab.patch(NODE, node, {"metadata": {"labels": {LABEL: name}}})
        self.lab.made.append((NODE, node))
        agents.clock.after(0, self._advance)
        for role in ROLES:
            bind(server, role, name)
        lead_in(server, name)
        template = self.lab.template("whole", request("gpu.nvidia.com", None))
        self.lab.deployment(WORKLOAD, template, 1, labels={NAME_LABEL: WORKLOAD})

    @property
    def name(self):
        """Its namespace."""
        return self.lab.name

    def wait(self):
        """Return once its first engine serves."""
        until(lambda: self.pages and self.lab.get(DEPLOYMENT, WORKLOAD)["status"].get("readyReplicas"))

    def look(self, at_s):
        """Note what the cluster says of its pods."""
        claims = self.lab.list(CLAIM)
        ready = sum(is_ready(pod) for pod in self.lab.list(POD))
        self.seen.append((at_s, sum(map(_cards, claims)), ready))

    @contextmanager
    def service(self, plane, url, history, directory):
        """Run `foreslice run` for it, as the service account of deploy/rbac; SIGTERM ends it."""
        directory.mkdir()
        body = json.loads(plane.kubeconfig.read_text())
        body["users"][0]["user"] = {"token": token_of(self.lab.server)}
        (directory / "kubeconfig").write_text(json.dumps(body))
        settings = directory / "foreslice.yaml"
        settings.write_text(SETTINGS.format(url=url, namespace=self.name, history=history))
        with (directory / "log").open("wb") as log:
            command = leashed(FORESLICE, "run", "--config", settings)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, process_group=0)
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            process.wait(WITHIN_S)
        finally:
            process.kill()
            process.wait()

    def _advance(self):
        self._engines.advance(self._agents.clock.now_s)
        counts, pace, names = self._engines.counts, self._engines.pace, self._engines.names
        self.pages = {names[at]: exposition(counts, pace, at, WORKLOAD) for at in self._engines.up}
        self._agents.clock.after(1, self._advance)


def _cards(claim):
    """Return the share of a card that a claim holds, in memory slices."""
    allocation = claim.get("status", {}).get("allocation")
    names = [result["device"] for result in allocation["devices"]["results"]] if allocation else []
    return sum(_share(name) for name in names)


def _share(device):
    if "-mig-" not in device:
        return 1.0
    profile = device.split("-mig-")[1].partition("-")[0]
    slices = {each.name.replace(".", ""): each.memory_slices for each in H100_80GB.profiles}
    return slices[profile] / H100_80GB.grid
