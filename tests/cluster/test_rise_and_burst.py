"""A daily rise and bursts that nobody foresaw, in one run of the loop on a real control plane.

The control plane is real; nodes, cards, engines, their HTTP endpoints, requests and the days before are
simulated, and time passes `FASTER` times as fast for all of them. The rise is of a workload that the pool
does not insure: own capacity has to be there before it. Two others share one slice of the pool, on which
first one has to be woken, and once that sleeps again the other.
"""

from contextlib import closing, nullcontext
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.standby import KubePoolObjects
from actuator.manifest import STANDBY_LABEL, labels_of
from actuator.standby.course import Rhythm, Verb
from actuator.standby.engines import sleeping_engines
from actuator.standby.http import HttpDoors
from actuator.standby.keeper import Keeper
from actuator.standby.objects import ObjectDormitory
from actuator.standby.parting import part
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.ledgers.beds import Bed
from fleet.shape import Shape
from fleet.standby import EngineState
from fleet.workload import Limits, Mode, Tier
from foreslice.compose import Surroundings, make_loop
from foreslice.rules import Rules
from foreslice.standby.made import share_of
from foreslice.standby.pool import Standby
from foreslice.standby.terms import PoolTerms
from predictor.ladder import Ladder
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.containers import EngineContainers
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.metrics import Past
from simulator.pods import is_ready
from simulator.sleep import Beds, Naps, SleepMode, Stage
from simulator.sleeping_pods import SleepingContainers
from tests.builders.delays import Always
from tests.builders.engines import MIX, Laws, workload
from tests.cluster.conftest import NEWEST, Agents
from tests.cluster.lab import until
from tests.cluster.shop import always, install_plans
from tests.cluster.test_standby import Engines as Endpoints
from tests.cluster.test_standby import deploy
from tests.cluster.turning import Clock, Metrics, Turns
from tests.fakes.manifests import request

pytestmark = [pytest.mark.parametrize("plane", [NEWEST], indirect=True), pytest.mark.timeout(600)]

FASTER = 3.0
ANT, BEE, CAT = range(3)
NAMES = ("ant", "bee", "cat")
SLICE = "foreslice-standby-1"
WHOLE = Shape(H100_80GB.id)
TERMS = PoolTerms(WHOLE, 1, 2, 500.0, 80.0, 0.98, 1.0, 120.0, frozenset({Tier.BALANCED}))
TIMING = Timing(tick_s=2.0, lead_s=60.0, regrow_s=60.0, quiet_s=50.0, dwell_s=50.0)
LOW, HIGH, BURST = 0.3, 1.3, 8.0
"""Work in whole cards, of which one is reckoned to carry 0.83. A burst is that much for `LASTS_S`: demand is
read as the mean of a minute, which it brings to little more than one card carries."""
LASTS_S = 5
RISE_IN_S = 180
DAY_S, HISTORY_S, HOUR_S, MINUTE_S = 86_400, 73 * 3_600, 3_600, 60
WITHIN_S = 300


class Day:
    """Requests by second (`simulator.engine.Demand`), and what they were by minute before."""

    def __init__(self, workloads, begins_s):
        model = CapacityModel([H100_80GB])
        self._full = np.array([model.sustained(one, model.reference(one), MIX) for one in workloads])
        self.begins_s = begins_s
        self.rise_s = begins_s + RISE_IN_S
        self.bursts = {}

    def works(self, times):
        """Work in whole cards at these times, without today's bursts, shape (times, 3)."""
        works = np.full((len(times), 3), LOW)
        works[(times - self.rise_s) % DAY_S < HOUR_S, ANT] = HIGH
        for row, minute in ((BEE, 10), (CAT, 30)):  # every hour of the past, never both
            works[(self.begins_s - times) // MINUTE_S % 60 // 10 == minute // 10, row] = HIGH
        works[times >= self.begins_s, BEE:] = LOW
        return works

    def seconds(self, from_s, count):
        times = from_s + np.arange(count)
        works = self.works(times)
        for row, at_s in self.bursts.items():
            works[(times >= at_s) & (times < at_s + LASTS_S), row] = BURST
        return works * self._full

    def mixes(self, _at_s):
        return (MIX,) * 3

    def past(self, row):
        """What one engine would have counted that served it all until now."""
        start_s = (self.begins_s - HISTORY_S) // MINUTE_S * MINUTE_S
        times = np.arange(start_s, self.begins_s - MINUTE_S, MINUTE_S)
        ones = np.ones(len(times))
        requests = self.works(times)[:, row] * self._full[row] * MINUTE_S
        return Past(start_s, requests, 300 * ones, 60 * ones, 0.1 * ones, 4 * ones, 0.02 * ones)


class Town:
    """Three workloads with a card each, room for one more replica and one slice of the pool, and a loop.

    Attributes:
        awake: How many engines were not asleep on the slice, by second.
        done: What was done on it.
        grown_s: When a second replica of the first was seen Ready, infinite before.
    """

    def __init__(self, lab, agents, server):
        self.lab, self.clock, self.server = lab, agents.clock, server
        self.workloads = tuple(
            replace(
                workload(name, namespace=lab.name),
                tier=Tier.STRICT if name == "ant" else Tier.BALANCED,
                limits=Limits(1, 2 if name == "ant" else 1),
                mode=Mode.SCALE_UP_ONLY,
            )
            for name in NAMES
        )
        self.day = Day(self.workloads, int(self.clock.now_s))
        self.engines = Engines(self.workloads, self.day, Laws(), self.day.begins_s)
        self.metrics = Metrics(self.engines)
        for row, one in enumerate(self.workloads):
            self.metrics.remember(one.key, self.day.past(row))
        self.mode = SleepMode(self.clock, Naps(1), on_turn=self._turned, in_service=self.engines.on)
        delays = Always(prepare_s=0.5, image_s=0.5, engine_init_s=4.0)
        inner = EngineContainers(agents.api, self.engines, self.clock, delays, Journal())
        beds = Beds({H100_80GB.id: H100_80GB}, sleepers=TERMS.sleepers)
        known = {one.key: one for one in self.workloads}
        containers = SleepingContainers(agents.api, inner, self.mode, beds, known)
        lab.agents_node(agents, [H100_80GB] * 6, containers, delays)
        lab.template("whole", request("gpu.nvidia.com", None))
        for name in NAMES:
            deploy(lab, name, replicas=1)
        self.awake, self.done, self.grown_s = [], [], inf
        self.clock.after(0, self._advance)
        until(lambda: sum(map(is_ready, lab.list(POD))) == len(NAMES))
        self._lost_before = self._lost()
        self.endpoints = Endpoints(self.mode, self.clock)
        self.doors = HttpDoors(sleeping_engines()["vllm"], lambda one: f"{self.endpoints.url}/{one.pod}")
        self.dormitory = ObjectDormitory(
            KubePoolObjects(server, always), [H100_80GB], sleeping_engines()["vllm"], share_of(TERMS)
        )
        self.cluster = KubeCluster(server, [lab.name], always)
        keeper = Keeper(self.dormitory, self.doors, Rhythm(settle_s=4.0, awake_s=4.0))
        pool = Standby(TERMS, keeper, self.workloads, lambda _: Bed(70.0, 15.0))
        around = Surroundings(
            Clock(self.clock), self.metrics, self.cluster, (H100_80GB,), lambda: None, nullcontext()
        )
        rules = Rules(acting=True, standby=pool)
        self.loop = make_loop(self.workloads, around, TIMING, lambda w: Ladder(w.key), HISTORY_S, rules)
        self._turns = Turns(self.loop, self.clock, TIMING.tick_s)

    def turn_until(self, is_so):
        """Turn the loop as the service does, until something is so."""

        def turned():
            self._turns.turn()
            self.done += self.loop.standby()
            if self.lab.get(DEPLOYMENT, "ant")["status"].get("readyReplicas", 0) > 1:
                self.grown_s = min(self.grown_s, self.clock.now_s)
            return is_so()

        until(turned, WITHIN_S, every_s=0.25)

    def is_at_rest(self):
        """Whether both sleep on the slice."""
        (pool,) = self.dormitory.slices(self.lab.name) or (None,)
        return pool is not None and pool.is_at_rest and len(pool.sleepers) == TERMS.sleepers

    @property
    def lost(self):
        """Requests that nobody served since all have served."""
        return self._lost() - self._lost_before

    def wake(self, row):
        """Let requests of one workload burst, and return how long its slice was held before it served."""
        self.day.bursts[row] = int(self.clock.now_s) + 2
        self.turn_until(lambda: self.lab.is_ready(f"{NAMES[row]}-{SLICE}"))
        return next(done.held_s for done in reversed(self.done) if done.act.verb is Verb.OPEN)

    def close(self):
        self.cluster.close()
        self.doors.close()
        self.endpoints.close()

    def _lost(self):
        return float(self.engines.tally.refused.sum() + self.engines.tally.cut.sum())

    def _turned(self, pod, state):
        self.engines.set_asleep(pod, is_asleep=state is EngineState.ASLEEP)

    def _advance(self):
        self.metrics.scrape(self.clock.now_s)
        stages = (self.mode.stage(f"{name}-{SLICE}") for name in NAMES)
        self.awake.append(sum(stage not in {None, Stage.ASLEEP} for stage in stages))
        self.clock.after(1.0, self._advance)


@pytest.fixture
def hasty(server):
    """Agents for whom time passes faster."""
    with closing(Agents(server, FASTER)) as started:
        yield started


@pytest.fixture
def town(lab, hasty, server):
    """The scene before the rise and the bursts."""
    install_plans(server)
    with closing(Town(lab, hasty, server)) as made:
        yield made


def test_own_capacity_meets_the_rise_and_sleepers_one_after_the_other_the_bursts(town, lab):
    town.turn_until(town.is_at_rest)
    held_s = [town.wake(BEE)]
    town.turn_until(lambda: town.is_at_rest() and town.clock.now_s > town.day.rise_s)
    held_s.append(town.wake(CAT))
    assert 10.0 >= max(held_s)
    assert town.grown_s < town.day.rise_s
    assert ([], 1) == (town.mode.collisions, max(town.awake))
    assert [f"bee-{SLICE}", f"cat-{SLICE}"] == [pod for what, pod in town.endpoints.told if what == "wake_up"]
    assert 0.0 == town.lost

    keys = [one.key for one in town.workloads]
    until(lambda: not list(part(town.dormitory, lab.name, keys, town.clock.now_s)))
    until(lambda: not any(_is_of_pool(body) for kind in (POD, CLAIM) for body in lab.list(kind)))
    assert {*NAMES} == {body["metadata"]["name"] for body in lab.list(DEPLOYMENT)}


def _is_of_pool(body):
    return STANDBY_LABEL in labels_of(body)
