"""Simulated engines in the pods of a real cluster: routed to when Ready, drained before they end."""

from threading import Event

import numpy as np
import pytest

from fleet.boards import H100_80GB
from simulator.api import DEPLOYMENT, POD
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import NAME_LABEL
from tests.builders.delays import AT_ONCE
from tests.builders.engines import MIX, Laws, workload
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import WITHIN_S, until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

REQUESTS_PER_S = 4.0
WEB = "web"


class Steady:
    """The same requests in every second."""

    def seconds(self, from_s, count):
        return np.full((count, 1), REQUESTS_PER_S)

    def mixes(self, at_s):
        return (MIX,)


class Town:
    """A node of two H100 whose pods run engines, advanced every second."""

    def __init__(self, lab, agents):
        self._agents = agents
        self.journal = Journal()
        tenant = workload(WEB, namespace=lab.name)
        self.engines = Engines([tenant], Steady(), Laws(), int(agents.clock.now_s))
        containers = EngineContainers(agents.api, self.engines, agents.clock, AT_ONCE, self.journal)
        lab.agents_node(agents, [H100_80GB] * 2, containers, AT_ONCE)
        self._pump()

    def tally(self):
        """What has become of the requests so far, as the loop's thread sees it."""
        done, answer = Event(), []
        self._agents.clock.after(0, lambda: (answer.append(self.engines.tally.copy()), done.set()))
        assert done.wait(WITHIN_S)
        return answer[0]

    def _pump(self):
        self.engines.advance(self._agents.clock.now_s)
        self._agents.clock.after(1, self._pump)


@pytest.fixture
def town(lab, agents):
    made = Town(lab, agents)
    lab.template("whole", request("gpu.nvidia.com", None))
    lab.deployment(WEB, "whole", 2, labels={NAME_LABEL: WEB})
    until(lambda: lab.get(DEPLOYMENT, WEB).get("status", {}).get("readyReplicas") == 2)
    return made


def test_requests_are_served_once_a_pod_is_ready(town):
    until(lambda: town.tally().completed[0] > 0)
    before = town.tally()
    until(lambda: town.tally().since(before).offered[0] >= 5 * REQUESTS_PER_S)
    seen = town.tally().since(before)
    assert (0.0, 0.0) == (seen.refused[0], seen.cut[0])
    assert 2 == len(list(town.journal.servings))


def test_a_pod_that_is_scaled_away_ends_what_it_serves(town, lab):
    until(lambda: town.tally().completed[0] > 0)
    before = town.tally()
    lab.patch(DEPLOYMENT, WEB, {"spec": {"replicas": 1}})
    until(lambda: len(lab.list(POD)) == 1)
    seen = town.tally().since(before)
    assert (0.0, 0.0) == (seen.refused[0], seen.cut[0])
    assert 1 == sum(serving.until_s < np.inf for serving in town.journal.servings)
    assert 1 == len(town.engines.names)
