"""The simulator's node agents and engines as ordinary clients of a real control plane."""

import subprocess
import time

import pytest

from fleet.boards import H100_80GB
from simulator.api import DEPLOYMENT, LEASE, NODE, POD, SLICE
from simulator.rest import address
from tests.builders.delays import AT_ONCE
from tests.cluster.lab import until
from tests.controlplane.build import CONTROL_PLANE
from tests.fakes.manifests import request


class Notes:
    """Containers that load and drain in fixed times and note when they were told what."""

    def __init__(self, load_s=0.5, drain_s=0.5):
        self._load_s = load_s
        self._drain_s = drain_s
        self.started = {}
        self.stopped = {}
        self.shapes = []

    def start(self, pod, shape):
        self.shapes.append(shape)
        self.started[pod["metadata"]["name"]] = time.monotonic()

    def load_s(self, pod):
        return self._load_s

    def drain_s(self, pod):
        return self._drain_s

    def stop(self, pod):
        self.stopped[pod["metadata"]["name"]] = time.monotonic()


@pytest.fixture
def start(lab, agents):
    """Start one node of two H100 with these containers."""
    return lambda containers: lab.agents_node(agents, [H100_80GB] * 2, containers, AT_ONCE)


def ready_replicas(lab, name):
    return lab.get(DEPLOYMENT, name).get("status", {}).get("readyReplicas", 0)


def test_a_node_is_ready_with_a_lease_and_without_taints(lab, start):
    node = start(Notes())
    until(lambda: not lab.get(NODE, node)["spec"].get("taints"))
    leases = address(LEASE, "kube-node-lease")
    until(lambda: node in {each["metadata"]["name"] for each in lab.server.request("GET", leases)["items"]})


def test_slices_go_with_their_node(lab, start):
    node = start(Notes())
    found = {"fieldSelector": f"spec.nodeName={node}"}
    assert 3 == len(lab.server.request("GET", address(SLICE), query=found)["items"])
    lab.delete(NODE, node)
    until(lambda: not lab.server.request("GET", address(SLICE), query=found)["items"])


def test_pods_of_a_deployment_become_ready_after_their_engines_have_loaded(lab, start):
    containers = Notes(load_s=1.0)
    start(containers)
    lab.deployment("web", lab.template("half", request(profile="3g.40gb")), 4)
    until(lambda: ready_replicas(lab, "web"))
    assert 1.0 <= time.monotonic() - min(containers.started.values())
    until(lambda: ready_replicas(lab, "web") == 4)
    assert 1.0 <= time.monotonic() - max(containers.started.values())
    assert ["3g.40gb"] * 4 == [shape.profile for shape in containers.shapes]
    assert {
        "gpu-0-mig-3g40gb-9-0",
        "gpu-0-mig-3g40gb-9-4",
        "gpu-1-mig-3g40gb-9-0",
        "gpu-1-mig-3g40gb-9-4",
    } == {lab.devices(pod["metadata"]["name"]) for pod in lab.list(POD)}


def test_kubectl_shows_how_many_containers_of_a_pod_are_ready(plane, lab, start):
    start(Notes())
    lab.deployment("web", lab.template("whole", request("gpu.nvidia.com", None)), 1)
    kubectl = [
        CONTROL_PLANE.folder() / "kubectl",
        f"--kubeconfig={plane.kubeconfig}",
        "-n",
        lab.name,
        "get",
        "pods",
    ]

    def shown():
        return subprocess.run([*kubectl, "--no-headers"], check=True, capture_output=True, text=True).stdout

    until(lambda: shown().split()[1:3] == ["1/1", "Running"])


def test_pods_drain_before_they_go_and_their_devices_are_free_after(lab, start):
    containers = Notes(drain_s=1.0)
    start(containers)
    lab.deployment("web", lab.template("whole", request("gpu.nvidia.com", None)), 2)
    until(lambda: ready_replicas(lab, "web") == 2)
    lab.deployment("more", "whole", 1)
    until(lambda: any(lab.is_waiting(pod["metadata"]["name"]) for pod in lab.list(POD)))
    scaled_s = time.monotonic()
    lab.patch(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
    until(lambda: containers.stopped)
    assert 1.0 <= time.monotonic() - scaled_s
    until(lambda: ready_replicas(lab, "more") == 1)
    assert 3 == len(containers.started)


def test_nothing_drains_longer_than_its_pods_grace(lab, start):
    containers = Notes(drain_s=600.0)
    start(containers)
    lab.deployment("web", lab.template("whole", request("gpu.nvidia.com", None)), 1)
    until(lambda: ready_replicas(lab, "web") == 1)
    scaled_s = time.monotonic()
    lab.patch(DEPLOYMENT, "web", {"spec": {"replicas": 0}})
    until(lambda: not lab.list(POD))
    assert 5.0 <= time.monotonic() - scaled_s
