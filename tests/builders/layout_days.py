"""Nodes under MIG managers whose nights are for many small engines and whose days are for few large ones."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from actuator.layouts.node import progress_of
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Mode, Slo, Workload, WorkloadKey
from foreslice.compose import Surroundings, make_loop
from foreslice.layout_rules import LayoutRules
from foreslice.repartition import Repartition
from foreslice.rules import Rules
from predictor.ladder import Ladder
from simulator.api import NODE
from simulator.layouts import EmbeddedNodes, Managed
from simulator.mig_manager import Fault
from simulator.traffic import Tenant
from simulator.world import World, WorldSpec

SEED, DAYS, HISTORY_S = 7, 4, 3 * 86400
TICK_S, BUCKET_S, LAG_S, PLAN_S = 20, 60, 20, 300
NIGHT, LARGE, DEEP = {"1g.10gb": 7}, {"3g.40gb": 1, "4g.40gb": 1}, {"7g.80gb": 1}
BY_NIGHT = ((NIGHT,) * 4, (NIGHT,) * 4, (LARGE, LARGE, DEEP, NIGHT))
BY_DAY = ((LARGE, LARGE, LARGE, DEEP), (LARGE, LARGE, LARGE, DEEP), (NIGHT, LARGE, DEEP, DEEP))

KEYS = tuple(WorkloadKey("tenants", name) for name in ("bulk", "chat", "deep"))
_SLO = Slo(LatencyTarget(0.95, 2.0), LatencyTarget(0.95, 0.100))


STEPS = 24
"""Steps of ten minutes of a day that is compressed to four hours: six of them make one of the calendar's."""


def course(night, day, edges, first):
    """Work by step: at night, on the way between two edges, by day, and on the way back between two more.

    The day of the calendar begins with step `first`.
    """
    levels = [night, night, day, day, night, night]
    return np.roll(np.interp(np.arange(STEPS), [0, *edges, STEPS], levels), -first)


def workloads():
    """The three, small engines first."""
    models = ("qwen2.5-3b-awq", "qwen2.5-14b-bf16", "qwen2.5-32b-bf16")
    return [Workload(key, model, _SLO, mode=Mode.FULL) for key, model in zip(KEYS, models, strict=True)]


def tenant(workload, work):
    """A workload whose offered work is this, day for day."""
    capacity = CapacityModel([H100_80GB])
    one = np.ones(1)
    per_request = capacity.work(workload, one, one * 500, one * 200)[0]
    rates = np.tile(work, 6 * DAYS) / per_request
    ones = np.ones_like(rates)
    return Tenant(workload, "daily", "made up", rates, 500 * ones, 200 * ones, ones)


def on(profile):
    """An instance of an H100."""
    return Shape("h100-80gb", profile)


@dataclass(frozen=True)
class Scene:
    """Who is there, shape and replicas that each begins with, and what the nodes' cards are cut into."""

    tenants: tuple
    begins: dict
    cuts: tuple


def three(is_day, first, spare):
    """Three workloads on three nodes, or more, that begin with step `first` of the day."""
    replicas = (6, 8, 3) if is_day else (40, 2, 1)
    courses = (
        course(6.0, 0.6, (4, 9, 18, 23), first),
        course(0.2, 2.0, (7, 11, 15, 19), first),
        course(0.2, 1.6, (7, 11, 15, 19), first),
    )
    shapes = map(on, ("1g.10gb", "3g.40gb", "7g.80gb"))
    return Scene(
        tuple(map(tenant, workloads(), courses)),
        dict(zip(KEYS, zip(shapes, replicas, strict=True), strict=True)),
        (*(BY_DAY if is_day else BY_NIGHT), *((NIGHT,) * 4,) * spare),
    )


TWOS = {"2g.20gb": 3, "1g.10gb": 1}
HOUSE = {
    "bulk": ("qwen2.5-3b-awq", "1g.10gb", 30, (4.0, 0.6), (4, 9, 18, 23)),
    "mail": ("qwen2.5-3b-awq", "1g.10gb", 15, (2.0, 0.4), (3, 8, 18, 23)),
    "tags": ("qwen2.5-7b-fp8", "2g.20gb", 6, (1.2, 0.4), (4, 9, 18, 23)),
    "chat": ("qwen2.5-14b-bf16", "3g.40gb", 2, (0.2, 1.6), (7, 11, 15, 19)),
    "code": ("qwen2.5-14b-fp8", "3g.40gb", 2, (0.3, 1.8), (6, 10, 15, 19)),
    "deep": ("qwen2.5-32b-bf16", "7g.80gb", 1, (0.2, 1.2), (7, 11, 15, 19)),
}
"""Model, shape and replicas at midnight, work by night and by day, and the edges between them."""


def house(first):
    """Six workloads of four sizes at night on five nodes, each of which has tenants of several."""
    tenants, begins = [], {}
    for name, (model, profile, replicas, levels, edges) in HOUSE.items():
        key = WorkloadKey("tenants", name)
        tenants.append(tenant(Workload(key, model, _SLO, mode=Mode.FULL), course(*levels, edges, first)))
        begins[key] = on(profile), replicas
    cuts = ((NIGHT, NIGHT, TWOS, LARGE),) * 2 + ((NIGHT, NIGHT, LARGE, DEEP),) * 3
    return Scene(tuple(tenants), begins, cuts)


def is_being_cut(node):
    """Whether the manager was asked for another layout that is not there yet."""
    progress = progress_of(node)
    return progress is not None and bool(progress.asked)


class Noted:
    """A door that notes of whom it evicts pods.

    Attributes:
        evicted: Workloads, in order.
    """

    def __init__(self, door):
        self._door = door
        self.evicted = []

    def __getattr__(self, name):
        return getattr(self._door, name)

    def evict(self, pod):
        self._door.evict(pod)
        self.evicted.append(pod["metadata"]["name"].partition("-")[0])


class Flaky:
    """A door whose every write fails twice: the first time nothing is done, the second time it is, unheard.

    Attributes:
        failed: Writes that failed, in order.
    """

    def __init__(self, door):
        self._door = door
        self._calls = Counter()
        self.failed = []

    def __getattr__(self, name):
        return getattr(self._door, name)

    def write_file(self, *args):
        self._fail("write_file", "", args)

    def mark(self, node, labels, notes, *, is_held):
        self._fail("mark", f" {sorted(labels)} {is_held}", (node, labels, notes), is_held=is_held)

    def evict(self, pod):
        self._fail("evict", "", (pod,))

    def _fail(self, verb, kind, args, **more):
        self._calls[verb + kind] += 1
        nth = self._calls[verb + kind]
        if nth > 1:
            getattr(self._door, verb)(*args, **more)
        if nth < 3:
            self.failed.append(verb + kind)
            raise UnavailableError("the process ends here")


class Days:
    """Three nodes of four cards, or more, under MIG managers, and the loop.

    Args:
        faults: What goes wrong with the changes of layouts, in their order.
        is_day: It begins at noon with nodes cut for the day, else at midnight with nodes cut for the night.
        acting: Whether layouts may be changed.
        first: Step of the day with which it begins; default: noon, else midnight.
        spare: Nodes more, cut for the night.
        scene: Others than the three.
        is_claimed: DRA's driver offers the cards and not a device plugin.
    """

    def __init__(
        self, faults=(), is_day=False, acting=True, first=None, spare=0, scene=None, is_claimed=False
    ):
        if scene is None:
            scene = three(is_day, (11 if is_day else 0) if first is None else first, spare)
        self.tenants = scene.tenants
        self.faults = list(faults)
        spec = WorldSpec(
            self.tenants,
            DAYS - 1,
            nodes=len(scene.cuts),
            gpus_per_node=4,
            managed=Managed(scene.cuts, fault=self.next_fault, is_claimed=is_claimed),
            begins=scene.begins,
        )
        self.world = World(spec, SEED)
        self.workloads = tuple(each.workload for each in self.tenants)
        self.door = EmbeddedNodes(self.world.store)
        self.ticks, self.cutting_s = [], 0
        self.rules = LayoutRules(acting=acting, dwell_s=1800.0)
        self.restart()

    def next_fault(self):
        return self.faults.pop(0) if self.faults else Fault.NONE

    def now_s(self):
        return self.world.clock.now_s

    def restart(self):
        """Forget everything that the process knew, as a new process does."""
        surroundings = Surroundings(
            clock=self,
            metrics=self.world.metrics,
            cluster=self.world.cluster,
            boards=(H100_80GB,),
            before_tick=lambda: None,
            alone=nullcontext(),
            layouts=Repartition(self.door, self.rules),
        )
        self.loop = make_loop(
            self.workloads, surroundings, Timing(), lambda w: Ladder(w.key), HISTORY_S, Rules(acting=True)
        )
        self.loop.forecast()
        self.loop.plan()

    def forget(self):
        """Forget what was known of layouts, as a new process does; what nodes say of themselves stays."""
        self.loop.layouts = Repartition(self.door, self.rules)
        self.loop.plan()

    def offer(self, node):
        """What a node offers, by profile."""
        if devices := self.door.published(node).devices_of(node):
            return dict(Counter(device.profile for device in devices))
        held = self.world.store.get(NODE, None, node)["status"]["allocatable"]
        return {n.removeprefix("nvidia.com/mig-"): int(c) for n, c in held.items() if "mig-" in n and int(c)}

    def nodes(self):
        """What each node offers."""
        names = (node["metadata"]["name"] for node in self.world.store.list(NODE))
        return {name: self.offer(name) for name in names}

    def summary(self):
        return self.world.summary(int(self.world.clock.now_s) // 60 * 60)

    def run(self, minutes, after_tick=lambda days: None):
        """Turn for so long."""
        start_s = int(self.world.clock.now_s)
        for at_s in range(start_s, start_s + 60 * minutes + 1, TICK_S):
            self.world.advance_to(at_s)
            self.ticks.append(self.loop.tick())
            after_tick(self)
            self.cutting_s += TICK_S * sum(map(is_being_cut, self.world.store.list(NODE)))
            if at_s % BUCKET_S == LAG_S:
                self.loop.forecast()
            if at_s % PLAN_S == LAG_S:
                self.loop.plan()
        return self
