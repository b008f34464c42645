"""A loop over one workload whose demand is scripted, and a cluster that stands still."""

from dataclasses import replace

import numpy as np

from allocator.need import Timing
from allocator.target import Target
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.workload import Mode, Way
from foreslice.notches import Learnt
from foreslice.outlook import Observatory
from foreslice.rules import Rules
from foreslice.standby.terms import PoolView
from foreslice.tick import Loop, Tick
from predictor.ladder import Ladder
from tests.builders.deciding import workload
from tests.builders.fleet import fleet, key, running, standing
from tests.fakes.metrics import OUTPUT, PROMPT, FakeMetrics
from tests.fakes.still_cluster import StillCluster

START_S = 1_700_000_040
"""A whole minute."""

NOON = 180
"""Minute of the scripts at which the first tick comes."""

CAPACITY = CapacityModel([H100_80GB])
DOWN = "demand now is not read: the metrics source does not answer"


def telling_all():
    """A tick of which every metric tells something, if only that there is nothing."""
    target = Target({}, {}, 0, 0.0, 0.0, (), {})
    return Tick(START_S, fleet=fleet(1), target=target, leads=True, pool=PoolView())


def rate_of(work, of):
    """Requests/s that are this much work of a workload."""
    return work * CAPACITY.sustained(of, CAPACITY.reference(of), Mix(PROMPT, OUTPUT))


class Clock:
    def __init__(self, now_s):
        self._now_s = now_s

    def now_s(self):
        return self._now_s

    def at(self, minute):
        self._now_s = START_S + 60 * minute


class Scene:
    """A loop over one workload whose work is scripted by minute, and who stands as `stands` says."""

    def __init__(
        self,
        work,
        stands="1 x whole",
        *,
        mode=Mode.FULL,
        acting=True,
        cards=8,
        scraped=True,
        way=Way.OWN,
        owner=None,
        **rules,
    ):
        self.workload = workload(mode=mode, way=way)
        stood = replace(standing("chat", stands), **(owner or {}))
        self.cluster = StillCluster(running(fleet(cards), stood))
        ready = [r.pod for v in self.cluster.fleet.standings[0].variants for r in v.replicas]
        rates = np.asarray([rate_of(x, self.workload) for x in work])
        pods = {key("chat"): tuple(ready) if scraped else tuple(ready[:-1])}
        self.metrics = FakeMetrics(START_S, {key("chat"): rates}, pods)
        self.clock = Clock(START_S + 60 * NOON)
        self.learnt = Learnt()
        self.loop = self.loop_on(self.cluster, acting, **rules)

    def loop_on(self, cluster, acting=True, **rules):
        boards, rules = (H100_80GB,), Rules(acting, **rules)
        observatory = Observatory(
            (self.workload,), self.metrics, CAPACITY, boards, lambda w: Ladder(w.key), 86400
        )
        return Loop(
            (self.workload,),
            Timing(),
            self.clock,
            self.metrics,
            observatory,
            cluster,
            rules,
            self.learnt,
        )

    def learn(self):
        self.loop.forecast()
        self.loop.plan()
        return self

    def tick(self, minute=NOON):
        self.clock.at(minute)
        return self.loop.tick()

    @property
    def written(self):
        """Replicas asked for by variant, as last written."""
        return {variant: replicas for _, variant, replicas in self.cluster.writes if replicas is not None}


def steady(work, minutes=400):
    return [work] * minutes


def need(tick):
    return tick.needs[key("chat")]


def carried(tick):
    """Work that the decided goal carries."""
    (decision,) = tick.decisions
    return tick.outlooks[key("chat")].offers.carried(decision.goal)
