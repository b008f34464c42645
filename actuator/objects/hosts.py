"""Nodes beside their cards: fault domains, and what pods have left of CPU and memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from actuator.manifest import Json, labels_of
from actuator.objects.changes import Changes
from actuator.objects.pods import is_over
from actuator.quantity import amount, milli
from fleet.host import NOTHING, Host, HostAmount


class HostReader:
    """Reads nodes again and again; a pod that is the same object as before is not reckoned up again."""

    def __init__(self) -> None:
        self._changes = Changes()
        self._taken: defaultdict[str, HostAmount] = defaultdict(HostAmount)
        # By node what it was read from (node, what its pods take, label), and what it came to.
        self._read: dict[str, tuple[tuple[Json, HostAmount, str], Host]] = {}

    def read(self, nodes: Iterable[Json], pods: Iterable[Json], label: str) -> dict[str, Host]:
        """Return what `hosts_of` returns."""
        gone, came = self._changes.since(pods)
        for pod in filter(_takes, gone):
            self._taken[pod["spec"]["nodeName"]] -= host_amount(pod["spec"])
        for pod in filter(_takes, came):
            self._taken[pod["spec"]["nodeName"]] += host_amount(pod["spec"])
        read = {}
        for node in nodes:
            name = node["metadata"]["name"]
            parts = node, self._taken[name], label
            held = self._read.get(name)
            read[name] = held if held is not None and held[0] == parts else (parts, _host(*parts))
        self._read = read
        return {name: host for name, (_, host) in read.items()}


def hosts_of(nodes: Iterable[Json], pods: Iterable[Json], label: str) -> dict[str, Host]:
    """Return nodes by name, with what is left of them beside their pods.

    A cordoned node has nothing left; one that does not say what it has is not bounded.

    Args:
        nodes: Nodes.
        pods: Pods of all namespaces.
        label: Node label that names the fault domain, empty = there are none.
    """
    return HostReader().read(nodes, pods, label)


def _takes(pod: Json) -> bool:
    """Return whether a pod takes anything of a node: it has one, and has not ended."""
    return bool(pod["spec"].get("nodeName")) and not is_over(pod)


def _host(node: Json, taken: HostAmount, label: str) -> Host:
    domain = str(labels_of(node).get(label, ""))
    there = (node.get("status") or {}).get("allocatable")
    if (node.get("spec") or {}).get("unschedulable"):
        return Host(domain, NOTHING)
    if not there:
        return Host(domain)
    return Host(domain, _amount(there) + HostAmount(pods=amount(there.get("pods", "0"))) - taken)


def host_amount(spec: Json) -> HostAmount:
    """Return what a pod takes of its node, as kube-scheduler counts it (KEP-753, KEP-2837).

    Containers and sidecars together, or what the largest init container takes beside the sidecars before it;
    what is asked for the pod as a whole goes before either. Limits stand for requests that are not given.
    """
    total = sum((_of_container(one) for one in spec.get("containers") or ()), NOTHING)
    if first := spec.get("initContainers"):
        sidecars = most = NOTHING
        for one in first:
            asked = _of_container(one) + sidecars
            most = _each(max, most, asked)
            if one.get("restartPolicy") == "Always":
                sidecars = asked
        total = _each(max, total + sidecars, most)
    whole = _asked(spec.get("resources"))
    if "cpu" in whole or "memory" in whole:
        of_pod = _amount(whole)
        total = HostAmount(
            of_pod.cpu_m if "cpu" in whole else total.cpu_m,
            of_pod.memory_bytes if "memory" in whole else total.memory_bytes,
        )
    if overhead := spec.get("overhead"):
        total += _amount(overhead)
    return total + HostAmount(pods=1)


def _of_container(container: Json) -> HostAmount:
    return _amount(_asked(container.get("resources")))


def _asked(resources: Json | None) -> Json:
    named = resources or {}
    return {**(named.get("limits") or {}), **(named.get("requests") or {})}


def _amount(resources: Json) -> HostAmount:
    return HostAmount(milli(resources.get("cpu", "0")), amount(resources.get("memory", "0")))


def _each(of: Callable[[int, int], int], one: HostAmount, other: HostAmount) -> HostAmount:
    return HostAmount(of(one.cpu_m, other.cpu_m), of(one.memory_bytes, other.memory_bytes))
