"""A rise is met by the Deployment that a workload's owner made for slices, which is given back after it.

The control plane is real; nodes, cards, engines, requests and the days before are simulated, and time passes
`FASTER` times as fast for all of them.
"""

from contextlib import closing, nullcontext
from dataclasses import replace

import numpy as np
import pytest

from actuator.kube.cluster import KubeCluster
from actuator.objects.beside import Beside
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.workload import Limits, Mode, Router
from foreslice.compose import Surroundings, make_loop
from foreslice.rules import Rules
from predictor.ladder import Ladder
from simulator.api import CLAIM_TEMPLATE, DEPLOYMENT, POD
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import NAME_LABEL
from simulator.metrics import Past
from simulator.pods import is_ready
from simulator.truth import HiddenTruth
from tests.builders.delays import Always
from tests.builders.engines import MIX, workload
from tests.cluster.conftest import NEWEST, Agents
from tests.cluster.lab import until
from tests.cluster.service import RECORDED, folder_of, says, service
from tests.cluster.shop import always, install_plans
from tests.cluster.turning import Clock, Metrics, Turns
from tests.fakes.manifests import request

pytestmark = [pytest.mark.parametrize("plane", [NEWEST], indirect=True), pytest.mark.timeout(600)]

FASTER = 3.0
TIMING = Timing(
    tick_s=2.0, lead_s=60.0, regrow_s=60.0, quiet_s=50.0, dwell_s=50.0, trial_s=30.0, shape_dwell_s=300.0
)
LOW, HIGH = 0.6, 1.1
"""Work in whole cards, of which one is reckoned to carry 0.83 and half of one half of that."""
RISE_IN_S, LASTS_S = 120, 120
DAY_S, HISTORY_S, MINUTE_S = 86_400, 73 * 3_600, 60
GRACE_S = 600
WITHIN_S = 300


class Day:
    """Requests by second (`simulator.engine.Demand`), and what they were by minute before."""

    def __init__(self, one, begins_s):
        model = CapacityModel([H100_80GB])
        self._full = model.sustained(one, model.reference(one), MIX)
        self.begins_s = begins_s
        self.rise_s = begins_s + RISE_IN_S

    def works(self, times):
        return np.where((times - self.rise_s) % DAY_S < LASTS_S, HIGH, LOW)

    def seconds(self, from_s, count):
        works = self.works(from_s + np.arange(count))
        return np.stack([works, 0.0 * works], axis=1) * self._full

    def mixes(self, _at_s):
        return (MIX,) * 2

    def past(self):
        """What one engine would have counted that served it all until now."""
        start_s = (self.begins_s - HISTORY_S) // MINUTE_S * MINUTE_S
        times = np.arange(start_s, self.begins_s - MINUTE_S, MINUTE_S)
        ones = np.ones(len(times))
        requests = self.works(times) * self._full * MINUTE_S
        return Past(start_s, requests, 300 * ones, 60 * ones, 0.1 * ones, 4 * ones, 0.02 * ones)


class Town:
    """Workload `chat` on a whole card, its owner's `chat-half` at zero, and a loop.

    Of the other card a foreign workload, to which nothing is sent, has one half: no whole one has room.

    Attributes:
        asked: What was asked for, by Deployment, in the order in which it was seen.
        grown_s: When a pod of `chat-half` was first seen Ready.
    """

    def __init__(self, lab, agents, server):
        self.lab, self.clock = lab, agents.clock
        self.workload = replace(
            workload("chat", namespace=lab.name),
            limits=Limits(1, 4),
            mode=Mode.FULL,
            router=Router.LEAST_LOADED,
        )
        self.day = Day(self.workload, int(self.clock.now_s))
        served = [self.workload, workload("other", namespace=lab.name)]
        self.engines = Engines(served, self.day, HiddenTruth(1, {H100_80GB.id: H100_80GB}), self.day.begins_s)
        self.metrics = Metrics(self.engines)
        self.metrics.remember(self.workload.key, self.day.past())
        containers = EngineContainers(
            agents.api,
            self.engines,
            self.clock,
            Always(prepare_s=0.5, image_s=0.5, engine_init_s=4.0),
            Journal(),
        )
        lab.agents_node(agents, [H100_80GB] * 2, containers, Always(prepare_s=0.5, image_s=0.5))
        lab.template("whole", request("gpu.nvidia.com", None))
        lab.template("half", request("mig.nvidia.com", "3g.40gb"))
        self._deploy("chat", "whole", 1)
        until(lambda: sum(map(is_ready, lab.list(POD))) == 1)
        self._deploy("other", "half", 1, of="other")
        self.as_made = self._deploy("chat-half", "half", 0)
        self.asked, self.grown_s = [], None
        self.clock.after(0, self._advance)
        until(lambda: sum(map(is_ready, lab.list(POD))) == 2)
        self._lost_before = self._lost()
        beside = Beside({self.workload.key: ("chat-half",)})
        self.cluster = KubeCluster(server, [lab.name], always, beside=beside)
        around = Surroundings(
            Clock(self.clock), self.metrics, self.cluster, (H100_80GB,), lambda: None, nullcontext()
        )
        self.loop = make_loop(
            (self.workload,), around, TIMING, lambda w: Ladder(w.key), HISTORY_S, Rules(acting=True)
        )
        self._turns = Turns(self.loop, self.clock, TIMING.tick_s)
        self.note()

    def note(self):
        """Note what is asked for, where that is news."""
        asked = {body["metadata"]["name"]: body["spec"]["replicas"] for body in self.lab.list(DEPLOYMENT)}
        if [asked] != self.asked[-1:]:
            self.asked.append(asked)

    def turn_until(self, is_so):
        """Turn the loop as the service does, until something is so."""

        def turned():
            self._turns.turn()
            self.note()
            if self.grown_s is None and self.half["status"].get("readyReplicas"):
                self.grown_s = self.clock.now_s
            return is_so()

        until(turned, WITHIN_S, every_s=0.25)

    @property
    def half(self):
        """The owner's second Deployment as it is."""
        return self.lab.get(DEPLOYMENT, "chat-half")

    @property
    def lost(self):
        """Requests that nobody served since all have served."""
        return self._lost() - self._lost_before

    def close(self):
        self.cluster.close()

    def _deploy(self, name, shape, replicas, of="chat"):
        labels = {NAME_LABEL: of, "shape": shape}
        return self.lab.deployment(name, shape, replicas, labels=labels, grace_s=GRACE_S)

    def _lost(self):
        return float(self.engines.tally.refused.sum() + self.engines.tally.cut.sum())

    def _advance(self):
        self.engines.advance(self.clock.now_s)
        self.metrics.scrape(self.clock.now_s)
        self.clock.after(1.0, self._advance)


@pytest.fixture
def town(lab, server):
    """The scene before the rise."""
    install_plans(server)
    with closing(Agents(server, FASTER)) as hasty, closing(Town(lab, hasty, server)) as made:
        yield made


def test_a_rise_is_met_by_the_owners_own_slices_and_they_are_given_back(town, lab):
    town.turn_until(lambda: town.grown_s is not None and town.clock.now_s > town.day.rise_s)
    town.turn_until(lambda: town.half["spec"]["replicas"] == 0)
    town.turn_until(lambda: sum(map(is_ready, lab.list(POD))) == 2)

    assert town.grown_s < town.day.rise_s < town.day.rise_s + LASTS_S < town.clock.now_s
    assert {"chat": 1, "chat-half": 0, "other": 1} == town.asked[0] == town.asked[-1]
    assert {1} == {asked["chat"] for asked in town.asked}
    assert 0.0 == town.lost
    assert {**town.as_made["spec"], "replicas": 0} == town.half["spec"]
    assert {"chat", "chat-half", "other"} == {body["metadata"]["name"] for body in lab.list(DEPLOYMENT)}
    assert {"whole", "half"} == {body["metadata"]["name"] for body in lab.list(CLAIM_TEMPLATE)}


SETTINGS = f"""
version: v1
metrics: {{source: {RECORDED}}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig}}
loop: {{tick: 1s}}
http: {{port: 0}}
workloads:
  - {{name: web, namespace: shop, model: qwen2.5-7b-bf16, variants: [web-small], slo: {{ttft: {{p95: 1s}}}}}}
"""


def test_one_that_is_not_there_is_a_condition_of_the_service(plane, shop, tmp_path):
    with folder_of(plane, shop, tmp_path) as folder:
        path = folder / "foreslice.yaml"
        path.write_text(SETTINGS)
        with service(path) as process:
            says(
                process, "shop/web: variants: Deployment web-small does not exist: create it, or take it out"
            )
