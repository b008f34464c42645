"""What a replayed day costs in the embedded cluster: its agents, and a view of it at every tick."""

from itertools import cycle

from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import H100_80GB
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.agents import start_control_plane, start_nodes
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.delays import Delays
from simulator.store import ObjectStore

TICK_S = 10
TICKS = 86400 // TICK_S
TICKS_PER_CHANGE = 60
KEYS = [WorkloadKey("shop", f"w{nth}") for nth in range(8)]
SHAPE = Shape("h100-80gb", "1g.10gb")


class Containers:
    def start(self, pod, shape):
        pass

    def load_s(self, pod):
        return 60.0

    def drain_s(self, pod):
        return 5.0

    def stop(self, pod):
        pass


def deployment(key, template):
    claims = [{"name": "gpu", "resourceClaimTemplateName": template}]
    pods = {"metadata": {"labels": {"app": key.name}}, "spec": {"containers": [], "resourceClaims": claims}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": key.name}}, "template": pods}
    metadata = {"namespace": key.namespace, "name": key.name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def day():
    """Scale eight workloads between one and six replicas, some 300 pods started or ended in all."""
    clock = VirtualClock(1_750_000_000.0)
    store = ObjectStore(clock)
    start_nodes(store, clock, {f"n{nth}": [H100_80GB] * 8 for nth in range(2)}, Containers(), Delays(1))
    start_control_plane(store, clock, Delays(1))
    template = claim_template("shop", H100_80GB, SHAPE, Ask("gpu", request_of(H100_80GB, SHAPE)))
    store.create(template)
    for key in KEYS:
        store.create(deployment(key, template["metadata"]["name"]))
    cluster = EmbeddedCluster(store)
    asked = zip(cycle(KEYS), cycle([3, 5, 6, 4, 1]), strict=False)
    for tick in range(TICKS):
        if tick % TICKS_PER_CHANGE == 0:
            key, replicas = next(asked)
            cluster.scale(key, key.name, replicas, expects=None)
        clock.run_until(clock.now_s + TICK_S)
        cluster.view(KEYS)
    return cluster.view(KEYS)


def test_a_day_with_three_hundred_pod_changes(benchmark):
    fleet = benchmark.pedantic(day, rounds=3)
    assert len(KEYS) == len(fleet.standings)
