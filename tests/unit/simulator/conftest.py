"""A small embedded cluster, and engines that note what happens to them."""

import pytest

from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import H100_80GB
from fleet.shape import Shape
from simulator.agents import start_control_plane, start_nodes
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.clock import VirtualClock
from simulator.delays import Delays
from simulator.store import ObjectStore
from tests.builders.objects import binding, node, pod

START_S = 1_750_000_000.0
H100_3G = Shape("h100-80gb", "3g.40gb")


def workload(namespace, name, replicas, board, shape, pod_spec):
    """Return a claim template for the shape, `<name>-gpu`, and a Deployment whose pods claim it."""
    template = claim_template(namespace, board, shape, Ask("gpu", request_of(board, shape)))
    template["metadata"] = {"namespace": namespace, "name": f"{name}-gpu"}
    spec = {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": f"{name}-gpu"}],
        "containers": [{"name": "engine", "image": "vllm/vllm-openai"}],
        **pod_spec,
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }
    return template, deployment


class Notes:
    """Containers that load and drain in fixed times and write down each call with its time."""

    def __init__(self, clock, load_s=60.0, drain_s=4.0):
        self._clock = clock
        self._load_s = load_s
        self._drain_s = drain_s
        self.calls = []

    def start(self, pod, shape):
        self.calls.append((self._clock.now_s - START_S, "start", str(shape)))

    def load_s(self, pod):
        return self._load_s

    def drain_s(self, pod):
        return self._drain_s

    def stop(self, pod):
        self.calls.append((self._clock.now_s - START_S, "stop", pod["metadata"]["name"]))


class Town:
    """Clock, store and all agents; `serve` is what the owner of a workload does."""

    def __init__(self, nodes, **containers):
        self.start_s = START_S
        self.clock = VirtualClock(START_S)
        self.store = ObjectStore(self.clock)
        self.containers = Notes(self.clock, **containers)
        for name, boards in nodes.items():
            self.add_node(name, boards)
        start_control_plane(self.store, self.clock, Delays(7))

    def add_node(self, name, boards):
        start_nodes(self.store, self.clock, {name: boards}, self.containers, Delays(7))

    def serve(self, name, replicas, shape=H100_3G, board=H100_80GB, **pod_spec):
        for body in workload("shop", name, replicas, board, shape, pod_spec):
            self.store.create(body)

    def scale(self, name, replicas):
        held = self.store.get(DEPLOYMENT, "shop", name)
        self.store.replace({**held, "spec": {**held["spec"], "replicas": replicas}})

    def wait(self, seconds):
        self.clock.run_until(self.clock.now_s + seconds)

    def pods(self):
        return self.store.list(POD)

    def devices(self):
        """Allocated devices, sorted."""
        claims = self.store.list(CLAIM)
        allocations = [
            claim["status"]["allocation"] for claim in claims if "allocation" in claim.get("status", {})
        ]
        return sorted(result["device"] for held in allocations for result in held["devices"]["results"])


@pytest.fixture
def town():
    """Build a cluster from cards by node; two H100 on one node if nothing is said."""

    def build(nodes=None, **containers):
        return Town(nodes or {"n0": [H100_80GB] * 2}, **containers)

    return build


@pytest.fixture
def clock():
    return VirtualClock(START_S)


@pytest.fixture
def store(clock):
    return ObjectStore(clock)


@pytest.fixture
def bound(store):
    """A pod on a node."""
    store.create(node())
    store.create(pod())
    store.create(binding())
    return store.get(POD, "shop", "p")
