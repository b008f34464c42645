"""Ticks and plans of layouts over 200 nodes of eight cards under MIG managers, with 2,000 pods."""

import time
from collections import defaultdict
from contextlib import closing, nullcontext, suppress
from dataclasses import replace

import pytest
import yaml

from actuator.kube.apiserver import MERGE
from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from actuator.kube.nodes import NodeDoor
from actuator.layouts.named import entries_of
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.errors import UnavailableError
from fleet.workload import Limits, Mode, WorkloadKey
from foreslice.clock import WallClock
from foreslice.compose import Surroundings, make_loop
from foreslice.layout_rules import LayoutRules
from foreslice.repartition import Repartition
from foreslice.rules import Rules
from predictor.ladder import Ladder
from simulator.api import CONFIG_MAP, POD
from simulator.layouts import CONFIG_MAP_NAME, FILE
from simulator.manifests import NAME_LABEL
from tests.builders.layout_days import DEEP, LARGE, NIGHT, on, workloads
from tests.cluster.conftest import NEWEST
from tests.cluster.kwoknodes import kwok_nodes, run_replicas
from tests.cluster.lab import Lab, until
from tests.cluster.large import resident_mib, say
from tests.cluster.permissions import as_service_account, bind, install
from tests.cluster.shop import always, install_plans
from tests.fakes.metrics import OUTPUT, PROMPT, FakeMetrics

NODES = 200
CUTS = (*(NIGHT,) * 4, *(LARGE,) * 2, *(DEEP,) * 2)
GROUPS = ((16, "1g.10gb", 0.12), (2, "3g.40gb", 1.4), (2, "7g.80gb", 0.4))
"""Workloads of a kind, what they run on, and their work for each of their replicas; the second kind needs
more than is cut."""
REPLICAS = 100
HISTORY_S = 3600
ROUNDS = 3

pytestmark = [
    pytest.mark.parametrize("plane", [NEWEST], indirect=True),
    pytest.mark.benchmark(timer=time.process_time),
]


lasts = pytest.mark.timeout(1800)


class Fleet:
    """The nodes and pods, and a loop over them that writes nothing."""

    def __init__(self, lab, server):
        clock, capacity = WallClock(), CapacityModel([H100_80GB])
        lab.create(CONFIG_MAP, CONFIG_MAP_NAME, data={FILE: layouts_file()})
        asked, works = [], {}
        for kind, (count, profile, work) in zip(workloads(), GROUPS, strict=True):
            for number in range(count):
                key = WorkloadKey(lab.name, f"{kind.key.name}-{number}")
                one = replace(
                    kind, key=key, limits=Limits(1, 1000), mechanism="device-plugin", mode=Mode.FULL
                )
                asked.append((one, on(profile), REPLICAS))
                works[one] = work * REPLICAS
        kwok_nodes(lab, NODES, "now", CUTS)
        pods = defaultdict(list)
        for pod in run_replicas(lab, asked):
            pods[WorkloadKey(lab.name, pod["metadata"]["labels"][NAME_LABEL])].append(pod["metadata"]["name"])
        start_s = int(clock.now_s()) // 60 * 60 - HISTORY_S
        mix = Mix(PROMPT, OUTPUT)
        rates = {
            one.key: [work * capacity.sustained(one, capacity.reference(one), mix)]
            for one, work in works.items()
        }
        self.lab, self.server = lab, server
        self.cluster = KubeCluster(server, [lab.name], always)
        self.touched = next(iter(pods[asked[0][0].key]))
        door = NodeDoor(server, lab.name, CONFIG_MAP_NAME, always)
        surroundings = Surroundings(
            clock=clock,
            metrics=FakeMetrics(start_s, rates, pods),
            cluster=self.cluster,
            boards=(H100_80GB,),
            before_tick=lambda: None,
            alone=nullcontext(),
            layouts=Repartition(door, LayoutRules()),
        )
        self.loop = make_loop(
            tuple(works), surroundings, Timing(), lambda w: Ladder(w.key), HISTORY_S, Rules(acting=False)
        )
        self.loop.forecast()
        self.loop.plan()

    def touch(self):
        """Change one pod, and nothing that matters of it."""
        note = {"metadata": {"annotations": {"touched": str(time.monotonic())}}}
        self.lab.server.request("PATCH", self.lab.path(POD, self.touched), note, content_type=MERGE)

    def calls(self, job):
        """Do a job, and return what it asks of the API server but watches, each with how often."""
        before = self.server.calls.copy()
        job()
        found = self.server.calls - before
        return {" ".join(each): n for each, n in found.items() if each[0] != "watch"}


def layouts_file():
    return yaml.safe_dump({"version": "v1", "mig-configs": {"now": entries_of(CUTS)}})


@pytest.fixture(scope="module")
def fleet(plane):
    with closing(connect(plane.kubeconfig)) as admin:
        lab = Lab(admin, "many")
        install_plans(admin)
        for name in ("observe", "layouts"):
            install(admin, name)
        for role in ("foreslice-observe-workloads", "foreslice-observe-layouts"):
            bind(admin, role, lab.name)
        try:
            with closing(as_service_account(plane, admin)) as server:
                made = Fleet(lab, server)
                with closing(made.cluster):
                    yield made
        finally:
            with suppress(UnavailableError):  # so many pods take longer to go than an answer is waited for
                lab.close()


@lasts
def test_unchanged_tick(benchmark, fleet, capsys):
    ticked = benchmark(fleet.loop.tick)
    asked = fleet.calls(fleet.loop.tick)
    assert NODES * len(CUTS) == len(ticked.fleet.gpus)
    assert REPLICAS * sum(count for count, *_ in GROUPS) == sum(
        s.ready.replicas for s in ticked.fleet.standings
    )
    with capsys.disabled():
        say(f"the process holds {resident_mib():.0f} MiB; an unchanged tick asks {asked}")


@lasts
def test_tick_after_a_pod_changed(benchmark, fleet):
    def change():
        version = fleet.cluster.version()
        fleet.touch()
        until(lambda: fleet.cluster.version() != version)

    assert benchmark.pedantic(fleet.loop.tick, setup=change, rounds=3 * ROUNDS).fleet


@lasts
def test_plan_in_which_layouts_have_to_change(benchmark, fleet, capsys):
    benchmark.pedantic(fleet.loop.plan, rounds=ROUNDS)
    asked = fleet.calls(fleet.loop.plan)
    said = [line for line in fleet.loop.tick().conditions if "should be cut otherwise" in line]
    assert said
    with capsys.disabled():
        say(f"{len(said)} nodes should be cut otherwise; a plan asks {asked}")
