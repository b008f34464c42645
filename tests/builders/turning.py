"""The service's own loop over a small simulated fleet, for hours of virtual time."""

from contextlib import nullcontext
from dataclasses import replace

from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.cards import CardShares
from fleet.errors import UnavailableError
from fleet.workload import Mode
from foreslice.compose import Surroundings, make_loop
from foreslice.rules import Rules
from predictor.ladder import Ladder
from simulator.tenants import shipped_tenants
from simulator.world import World, WorldSpec

SEED = 1
TICK_S, BUCKET_S, LAG_S = 10, 60, 20
HISTORY_S = 86400


class Outages:
    """A port that does not answer while it is down."""

    def __init__(self, port):
        self._port = port
        self.is_down = False

    def __getattr__(self, verb):
        call = getattr(self._port, verb)

        def asked(*args, **named):
            if self.is_down:
                raise UnavailableError("no answer")
            return call(*args, **named)

        return asked


class Turning:
    """A world, and the loop that turns over it.

    Args:
        mode: How far the loop may go with every workload.
        tenants: How many of the shipped tenants.
        acting: Whether anything may be written.
        day: Day of the shipped traffic to start on.
        nodes: Nodes of eight cards.
        crashing: MIG profiles on which no engine starts.

    Attributes:
        done: Every step that was written, with the need of its workload: (at_s, result, need).
        ahead_s: How much later the service's own clock says that it is.
        ticks: Every tick, in order.
    """

    def __init__(self, mode=Mode.FULL, tenants=2, acting=True, day=10, nodes=1, crashing=()):
        drawn = shipped_tenants(CapacityModel([H100_80GB]), SEED)[:tenants]
        spec = WorldSpec(drawn, start_day=day, nodes=nodes, crashing=frozenset(crashing))
        self.world = World(spec, SEED)
        self.workloads = tuple(replace(tenant.workload, mode=mode) for tenant in drawn)
        self.keys = [workload.key for workload in self.workloads]
        self.metrics, self.cluster = Outages(self.world.metrics), Outages(self.world.cluster)
        self.ticks = []
        self.ahead_s = 0
        self._acting = acting
        self.restart()

    def now_s(self):
        return self.world.clock.now_s + self.ahead_s

    def restart(self):
        """Forget everything that the process knew, as a new process does."""
        surroundings = Surroundings(
            clock=self,
            metrics=self.metrics,
            cluster=self.cluster,
            boards=(H100_80GB,),
            before_tick=lambda: None,
            alone=nullcontext(),
        )
        self.loop = make_loop(
            self.workloads, surroundings, Timing(), lambda w: Ladder(w.key), HISTORY_S, Rules(self._acting)
        )
        self._learn()

    def run(self, minutes, before_tick=lambda turning, number: None, after_tick=lambda turning, tick: None):
        """Turn for so long; both callbacks see every tick, the first by its number."""
        start_s = int(self.world.clock.now_s)
        for number, at_s in enumerate(range(start_s, start_s + 60 * minutes + 1, TICK_S)):
            self.world.advance_to(at_s)
            before_tick(self, number)
            tick = self.loop.tick()
            self.ticks.append(tick)
            after_tick(self, tick)
            if at_s % BUCKET_S == LAG_S:
                self._learn()
        return self

    def wanted(self):
        """Replicas asked for by workload and variant."""
        fleet = self.world.cluster.view(self.keys)
        return {(s.key.name, v.name): v.wanted for s in fleet.standings for v in s.variants}

    def cards_wanted(self):
        """Cards that the replicas asked for take, by workload."""
        fleet = self.world.cluster.view(self.keys)
        cards = CardShares(fleet.boards())
        return {s.key.name: cards.total([s.wanted]) for s in fleet.standings}

    def summary(self):
        return self.world.summary(int(self.world.clock.now_s) // 60 * 60)

    def _learn(self):
        self.loop.forecast()
        self.loop.plan()
