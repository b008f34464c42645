"""A GPU fleet under a virtual clock: nodes, tenants, traffic, engines and metrics, all from one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from actuator.objects.variants import NOWHERE, Spreading
from capacity.catalogue import MODELS, ModelSpec
from capacity.estimate import CapacityModel
from capacity.law import resident_tokens
from capacity.prior import kv_tokens, prior
from fleet.boards import H100_80GB, Board
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.standby import EngineState
from fleet.workload import Workload, WorkloadKey
from predictor.ports import WorkSeries
from simulator.account import Summary, summary
from simulator.agents import start_control_plane, start_nodes
from simulator.api import CLAIM_TEMPLATE, Json
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.containers import EngineContainers
from simulator.delays import ENGINE_INIT, Delays, LogNormal
from simulator.detail import Detail, detail
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.layouts import Managed, start_managers
from simulator.manifests import deployment, plugged_deployment, shape_template, whole_gpu_template
from simulator.metrics import SCRAPE_S, EmbeddedMetrics, Past
from simulator.node import NodeAgent
from simulator.observer import Observer
from simulator.offered import EPOCH_S, OfferedTraffic
from simulator.rivals.static import static_replicas
from simulator.sleep import Beds, Naps, SleepMode
from simulator.sleeping_pods import SleepingContainers
from simulator.store import ObjectStore
from simulator.traces import Floats
from simulator.traffic import DAY_S, MINUTE_S, Tenant
from simulator.truth import HiddenTruth

LIVE_S = 600
"""How long before the start engines are sent requests: the metrics' past, one pod each, is stale by then."""


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """What a world is made of.

    Attributes:
        tenants: Who sends what.
        start_day: Day of the traffic at whose midnight the world starts; the days before are history.
        nodes: Nodes, each with `gpus_per_node` cards and dynamic MIG.
        gpus_per_node: Cards of a node, at most 8.
        board: Kind of the cards.
        models: Models by what workloads call them.
        spreading: What fault domains are, and whose copies are spread over them.
        sleepers: Standby engines that may share a slice; 0 = engines have no sleep mode.
        naps: How long sleeping and waking take, `None` = as published.
        engine_init: How long engines take to load.
        crashing: MIG profiles on which no engine ever comes to serve.
        managed: MIG managers cut the cards, `None` = DRA's driver does as claims come (dynamic MIG).
        begins: Shape and replicas that tenants begin with; default: the whole cards that they were sized to.
    """

    tenants: tuple[Tenant, ...]
    start_day: int
    nodes: int = 2
    gpus_per_node: int = 8
    board: Board = H100_80GB
    models: Mapping[str, ModelSpec] = field(default_factory=lambda: MODELS, hash=False)
    spreading: Spreading = NOWHERE
    sleepers: int = 0
    naps: Naps | None = None
    engine_init: LogNormal = ENGINE_INIT
    crashing: frozenset[str] = frozenset()
    managed: Managed | None = None
    begins: Mapping[WorkloadKey, tuple[Shape, int]] = field(default_factory=dict, hash=False)

    @property
    def warm_up_s(self) -> float:
        """How long before the start the pods of the tenants are created: many load on a node at once."""
        return LIVE_S + 5 * self.engine_init.median_s


class World:
    """Everything that exists besides foreslice. The same spec and seed, told the same, do the same.

    Attributes:
        start_s: When the world is handed over, seconds since the epoch.
        end_s: When its traffic ends.
        clock: Its time.
        store: Its objects.
        cluster: Its objects as the service sees them.
        metrics: Its metrics.
        engines: Its engines.
        sleep: Sleep mode of those that share a claim.
        journal: What has happened.
        capacity: What its boards are believed to carry.
        replicas: Whole GPUs that each tenant was sized to, from the days before the start.
    """

    def __init__(self, spec: WorldSpec, seed: int) -> None:
        self.spec = spec
        self.start_s = EPOCH_S + spec.start_day * DAY_S
        self.clock = VirtualClock(self.start_s - spec.warm_up_s)
        self.store = ObjectStore(self.clock)
        self.cluster = EmbeddedCluster(self.store, spec.spreading)
        self.journal = Journal()
        self.capacity = CapacityModel([spec.board], spec.models)
        self._offered = OfferedTraffic(spec.tenants, seed)
        self.end_s = self._offered.end_s
        workloads = [tenant.workload for tenant in spec.tenants]
        laws = HiddenTruth(seed, {spec.board.id: spec.board}, spec.models)
        self.engines = Engines(workloads, self._offered, laws, self.start_s - LIVE_S)
        self.metrics = EmbeddedMetrics(self.engines, retention_s=max(1, spec.start_day) * DAY_S)
        self.sleep = SleepMode(
            self.clock, spec.naps or Naps(seed), on_turn=self._turned, in_service=self._in_service
        )
        self.replicas = {workload.key: self._static_replicas(workload) for workload in workloads}
        self._remember()
        self._start(Delays(seed, spec.engine_init))
        self.advance_to(self.start_s)

    def advance_to(self, at_s: float) -> None:
        """Let everything happen that is due up to and including `at_s`."""
        self.clock.run_until(at_s)
        self.engines.advance(at_s)

    def truth(self, workload: WorkloadKey) -> WorkSeries:
        """Return the work that a tenant has offered and will offer, for as long as there is traffic."""
        tenant = next(tenant for tenant in self.spec.tenants if tenant.workload.key == workload)
        work = self._work(tenant.workload, self._offered.start_s, self.end_s)
        return WorkSeries(workload, self._offered.start_s, work, np.zeros(len(work), dtype=np.bool_))

    def summary(self, until_s: int) -> Summary:
        """Return the figures from the start until a whole minute that has passed."""
        return summary(self.journal, self._offered_until(until_s), self.start_s, until_s)

    def detail(self, until_s: int) -> Detail:
        """Return more figures of the same time."""
        return detail(
            self.journal,
            self.engines.workloads,
            self._offered_until(until_s),
            self.spec.gpus_per_node,
            (self.start_s, until_s),
        )

    def _offered_until(self, until_s: int) -> dict[WorkloadKey, Floats]:
        return {
            tenant.workload.key: self._work(tenant.workload, self.start_s, until_s)
            for tenant in self.spec.tenants
        }

    def _start(self, delays: Delays) -> None:
        inner = EngineContainers(
            self.store, self.engines, self.clock, delays, self.journal, self.spec.crashing
        )
        beds = Beds({self.spec.board.id: self.spec.board}, self.spec.models, max(1, self.spec.sleepers))
        known = {workload.key: workload for workload in self.engines.workloads}
        containers = SleepingContainers(self.store, inner, self.sleep, beds, known)
        boards = [self.spec.board] * self.spec.gpus_per_node
        nodes = {f"node-{number}": boards for number in range(1, self.spec.nodes + 1)}
        if self.spec.managed is None:
            start_nodes(self.store, self.clock, nodes, containers, delays)
        else:
            for node in nodes:
                NodeAgent(self.store, self.clock, node, containers, delays)
            start_managers(self.store, self.clock, list(nodes), self.spec.board, self.spec.managed)
        start_control_plane(self.store, self.clock, delays)
        Observer(self.store, self.clock, self.journal)
        for namespace in sorted({tenant.workload.key.namespace for tenant in self.spec.tenants}):
            self.store.create(whole_gpu_template(namespace))
        for tenant in self.spec.tenants:
            self.store.create(self._deployment(tenant.workload))
        self.clock.at(self.start_s - LIVE_S, self._scrape)

    def _deployment(self, workload: Workload) -> Json:
        sized = Shape(self.spec.board.id), self.replicas[workload.key]
        if self.spec.managed is None:
            return deployment(workload, sized[1], has_sleep_mode=self.spec.sleepers > 0)
        shape, replicas = self.spec.begins.get(workload.key, sized)
        if not self.spec.managed.is_claimed:
            return plugged_deployment(workload, shape, replicas)
        template = shape_template(workload.key.namespace, self.spec.board, shape)
        if self.store.get(CLAIM_TEMPLATE, workload.key.namespace, template["metadata"]["name"]) is None:
            self.store.create(template)
        return deployment(workload, replicas, template=template["metadata"]["name"])

    def _turned(self, pod: str, state: EngineState) -> None:
        self.engines.advance(self.clock.now_s)
        self.engines.set_asleep(pod, is_asleep=state is EngineState.ASLEEP)

    def _in_service(self, pod: str) -> float:
        self.engines.advance(self.clock.now_s)
        return self.engines.on(pod)

    def _scrape(self) -> None:
        now_s = self.clock.now_s
        self.metrics.scrape(now_s)
        if now_s % MINUTE_S == 0:
            self.journal.tallies[now_s] = self.engines.tally.copy()
        self.clock.after(SCRAPE_S, self._scrape)

    def _work(self, workload: Workload, start_s: int, end_s: int) -> Floats:
        rates = self._offered.minutes(workload.key, start_s, end_s) / MINUTE_S
        return self.capacity.work(workload, rates, *self._offered.tokens(workload.key, start_s, end_s))

    def _static_replicas(self, workload: Workload) -> int:
        """Size for the days before, at the mix of the busiest minute."""
        work = self._work(workload, self._offered.start_s, self.start_s)
        prompt, output = self._offered.tokens(workload.key, self._offered.start_s, self.start_s)
        busiest = int(np.argmax(work))
        return static_replicas(
            workload, self.capacity, work, [Mix(float(prompt[busiest]), float(output[busiest]))]
        )

    def _remember(self) -> None:
        """Give the metrics a past: one engine on a whole card, as fast as expected, that served it all."""
        start_s, end_s = self._offered.start_s, self.start_s - LIVE_S
        for workload in self.engines.workloads:
            model, shape = self.capacity.model(workload), self.capacity.reference(workload)
            law, room = prior(model, self.spec.board, shape), kv_tokens(model, self.spec.board, shape)
            requests = self._offered.minutes(workload.key, start_s, end_s)
            prompt, output = self._offered.tokens(workload.key, start_s, end_s)
            alone = np.ones_like(requests)
            running = requests / MINUTE_S * law.residence_ms(prompt, output, alone) / 1000
            ttft_s = law.ttft_ms(prompt, output, alone) / 1000
            kv_use = running * resident_tokens(prompt, output) / room
            past = Past(start_s, requests, prompt, output, ttft_s, running, kv_use)
            self.metrics.remember(workload.key, past)
