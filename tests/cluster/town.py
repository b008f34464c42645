"""Namespaces whose engines serve and are scraped, each with a service of its own that looks after them."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from fleet.boards import H100_80GB
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import NAME_LABEL
from simulator.pods import is_ready
from simulator.series import exposition
from simulator.truth import HiddenTruth
from tests.builders.delays import Always
from tests.builders.engines import Laws, workload
from tests.cluster.compressed import SEED, shipped
from tests.cluster.days import Days
from tests.cluster.lab import PDB, WITHIN_S, Lab, until
from tests.cluster.permissions import bind, lead_in, token_of
from tests.cluster.verdict import SLICES
from tests.fakes.manifests import request
from tests.leash import leashed

WORKLOAD = "chat"
CARDS = 3
LOAD_S = 25.0
GRACE_S = 600
"""Requests last longer than the moment that is enough where nothing serves."""
ROLES = ("foreslice-observe-workloads", "foreslice-act")
FORESLICE = Path(sys.executable).with_name("foreslice")
SETTINGS = """\
version: v1
metrics: {{source: prometheus, url: "{url}"}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig, lease_namespace: {namespace}}}
acting: true
loop: {loop}
http: {{port: 0}}
workloads:
"""
SERVED = """\
  - name: {name}
    namespace: {namespace}
    model: {model}
    slo: {{ttft: {{p95: {ttft_ms:.0f}ms}}, itl: {{p95: {itl_ms:.0f}ms}}}}
    tier: {tier}
    mode: {mode}
"""


TWELFTH = (
    "{tick: 2s, plan: 25s, lead: 30s, quiet: 50s, dwell: 50s, trial: 50s, shape_dwell: 5m, history: 73h}"
)
"""Settings of a loop on days that pass twelve times as fast: whatever lasts is a twelfth, too."""

START_WITHIN_S = 300
"""Many engines that start together on a node are slow."""


class Town:
    """A namespace, its nodes of H100, and the engines of its workloads.

    Args:
        server: A connection as administrator.
        agents: What acts on the control plane.
        name: The namespace.
        demand: Requests, of the workloads in their order, and what was scraped of them before.
        workloads: Who serves, each with one whole card in the beginning.
        laws: How fast engines are.
        nodes: Nodes.
        cards: Cards in each.
        mode: How far the service may go.
        loop: Settings of its loop.

    Attributes:
        roles: What its service account may do in the namespace.
        more: Settings beside those of workloads.
        is_cut_anew: Whether what workloads began with may not fit what cards have been cut into.
        templates: Names of the ResourceClaimTemplates that the owners made.
        pages: What each engine answers to a scrape now, by pod.
        seen: The cluster's own account, (time in s, cards that pods hold, pods that are Ready) by sample.
        tallies: What became of all requests, by second.
    """

    roles = ROLES
    more = ""
    is_cut_anew = False

    def __init__(
        self,
        server,
        agents,
        name,
        demand,
        workloads,
        *,
        laws,
        nodes=1,
        cards=CARDS,
        mode="scale-up-only",
        loop,
    ):
        self._agents = agents
        self.demand = demand
        self._mode, self._loop = mode, loop
        self.lab = Lab(server, name)
        self.templates = set()
        self.pages = {}
        self.seen = []
        self.tallies = {}
        self.workloads = tuple(workloads)
        self._engines = Engines(self.workloads, demand, laws, int(agents.clock.now_s))
        delays = Always(prepare_s=1.0, image_s=1.0, engine_init_s=LOAD_S)
        containers = EngineContainers(agents.api, self._engines, agents.clock, delays, Journal())
        self.nodes = [f"{name}-n{number}" for number in range(nodes)]
        self.cards = cards
        self.begin_nodes(agents, containers, delays)
        for node in self.nodes:
            self.lab.adopt(node)
        agents.clock.after(0, self._advance)
        for role in self.roles:
            bind(server, role, name)
        lead_in(server, name)
        self.begin_workloads()
        for one in self.workloads:
            selector = {"matchLabels": {NAME_LABEL: one.key.name}}
            self.lab.create(PDB, one.key.name, spec={"minAvailable": 1, "selector": selector})

    def begin_nodes(self, agents, containers, delays):
        """Register the nodes, with cards as DRA's driver publishes them."""
        agents.add_nodes({node: [H100_80GB] * self.cards for node in self.nodes}, containers, delays)

    def template(self, name, asked):
        """Create an owner's ResourceClaimTemplate, and return its name."""
        self.templates.add(name)
        return self.lab.template(name, asked)

    def begin_workloads(self):
        """Create the Deployments."""
        template = self.template("whole", request("gpu.nvidia.com", None))
        for one in self.workloads:
            labels = {NAME_LABEL: one.key.name}
            self.lab.deployment(one.key.name, template, 1, labels=labels, grace_s=GRACE_S)

    @property
    def name(self):
        """Its namespace."""
        return self.lab.name

    def wait(self):
        """Return once an engine of each workload serves."""
        for one in self.workloads:
            until(lambda: self._is_up(one.key.name), within_s=START_WITHIN_S)  # noqa: B023
        until(lambda: len(self.pages) == len(self.lab.list(POD)))

    def past(self, end_s):
        """Yield what was scraped here until a time."""
        return self.demand.past(self.name, end_s)

    def look(self, at_s):
        """Note what the cluster says of its pods."""
        ready = sum(is_ready(pod) for pod in self.lab.list(POD))
        self.seen.append((at_s, self.held(), ready))

    def held(self):
        """Return the cards that pods hold, in memory slices."""
        return sum(map(_cards, self.lab.list(CLAIM)))

    @contextmanager
    def service(self, plane, url, directory):
        """Run `foreslice run` for it, as the service account of deploy/rbac; SIGTERM ends it."""
        directory.mkdir()
        body = json.loads(plane.kubeconfig.read_text())
        body["users"][0]["user"] = {"token": token_of(self.lab.server)}
        (directory / "kubeconfig").write_text(json.dumps(body))
        settings = directory / "foreslice.yaml"
        head = SETTINGS.format(url=url, namespace=self.name, loop=self._loop)
        settings.write_text(head + "".join(map(self.served, self.workloads)) + self.more)
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

    def served(self, one):
        """Return the settings of a workload."""
        return SERVED.format(
            name=one.key.name,
            namespace=self.name,
            model=one.model,
            ttft_ms=one.slo.ttft.limit_s * 1000,
            itl_ms=one.slo.itl.limit_s * 1000,
            tier=one.tier,
            mode=self._mode,
        )

    def _is_up(self, name):
        body = self.lab.get(DEPLOYMENT, name)
        return body["status"].get("readyReplicas") == body["spec"]["replicas"]

    def _advance(self):
        engines = self._engines
        engines.advance(self._agents.clock.now_s)
        self.tallies[engines.now_s] = engines.tally.copy()
        self.pages = {
            engines.names[at]: exposition(engines.counts, engines.pace, at, engines.owners[at].key.name)
            for at in engines.up
        }
        self._agents.clock.after(1, self._advance)


def chat(history, *, was_flat=False):
    """Return what makes a town of one workload, whose days before were as today, or flat."""

    def make(server, agents, name, rise_s):
        demand, tenant = Days(rise_s, was_flat=was_flat), workload(WORKLOAD, namespace=name)
        return Town(server, agents, name, demand, [tenant], laws=Laws(), loop=f"{{history: {history}}}")

    return make


def compressed(server, agents, name, steepest_s):
    """Make a town of eight nodes of eight cards and seven tenants, on a day twelve times as fast."""
    demand = shipped(steepest_s, name)
    return Town(
        server,
        agents,
        name,
        demand,
        demand.workloads,
        laws=HiddenTruth(SEED, {H100_80GB.id: H100_80GB}),
        nodes=8,
        cards=8,
        mode="full",
        loop=TWELFTH,
    )


def _cards(claim):
    """Return the share of a card that a claim holds, in memory slices."""
    allocation = claim.get("status", {}).get("allocation")
    names = [result["device"] for result in allocation["devices"]["results"]] if allocation else []
    return sum(_share(name) for name in names)


def _share(device):
    if "-mig-" not in device:
        return 1.0
    return share_of(device.split("-mig-")[1].partition("-")[0])


def share_of(profile):
    """Return the share of a card that an instance is, in memory slices; its name has a dot or none."""
    return SLICES[profile.replace(".", "")] / H100_80GB.grid
