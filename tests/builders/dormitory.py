"""Workloads with a card each, and slices of a pool on which their standby engines sleep."""

import numpy as np

from fleet.boards import H100_80GB
from fleet.shape import Shape
from fleet.standby import EngineState
from simulator.agents import start_control_plane, start_nodes
from simulator.api import POD
from simulator.clock import VirtualClock
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import deployment, whole_gpu_template
from simulator.pods import is_ready
from simulator.sleep import Beds, Naps, SleepMode
from simulator.sleeping_pods import SleepingContainers
from simulator.store import ObjectStore
from tests.builders.delays import Always
from tests.builders.engines import Laws, Offered, workload

WHOLE = Shape("h100-80gb")
NAMES = ("ant", "bee", "cat")
LASTS_S = 2400
RATE_PER_S = 3.0


class Dormitory:
    """Three workloads with one whole card each under steady requests, and room for two slices of a pool.

    Attributes:
        mode: Sleep mode of the engines that share a claim.
        engines: All engines, and the router's account of what they served.
    """

    def __init__(self, naps=None, host_gib=float("inf"), sleepers=3, **takes):
        self.clock = VirtualClock(0.0)
        self.store = ObjectStore(self.clock)
        self.workloads = [workload(name) for name in NAMES]
        offered = np.zeros((LASTS_S, len(NAMES)))
        offered[60:] = RATE_PER_S
        self.engines = Engines(self.workloads, Offered(offered), Laws(), 0)
        self.mode = SleepMode(self.clock, naps or Naps(1), host_gib, self._turned, self._holds)
        inner = EngineContainers(self.store, self.engines, self.clock, Always(), Journal())
        beds = Beds({H100_80GB.id: H100_80GB}, sleepers=sleepers, **takes)
        known = {each.key: each for each in self.workloads}
        containers = SleepingContainers(self.store, inner, self.mode, beds, known)
        start_nodes(self.store, self.clock, {"n0": [H100_80GB] * 5}, containers, Always())
        start_control_plane(self.store, self.clock, Always())
        self.store.create(whole_gpu_template("shop"))
        for each in self.workloads:
            self.store.create(deployment(each, 1, has_sleep_mode=True))
        self.wait(60.0)

    def _turned(self, pod, state):
        self.engines.advance(self.clock.now_s)
        self.engines.set_asleep(pod, is_asleep=state is EngineState.ASLEEP)

    def _holds(self, pod):
        self.engines.advance(self.clock.now_s)
        return self.engines.on(pod)

    @property
    def now_s(self):
        return self.clock.now_s

    def wait(self, seconds):
        """Let time pass."""
        self.clock.run_until(self.clock.now_s + seconds)
        self.engines.advance(self.clock.now_s)

    def pod(self, name):
        return self.store.get(POD, "shop", name)

    def is_ready(self, name):
        """Whether a pod is there and requests are sent to it."""
        body = self.pod(name)
        return body is not None and is_ready(body)

    def lost(self):
        """Requests that nobody served."""
        return float(self.engines.tally.refused.sum() + self.engines.tally.cut.sum())
