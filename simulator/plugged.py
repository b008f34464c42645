"""kube-scheduler's part for pods that ask for what device plugins offer, and what a kubelet gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from actuator.mechanisms.device_plugin import shape_asked
from actuator.objects.granted import resources_asked
from actuator.objects.places import places_of
from actuator.objects.plugged import plugged
from actuator.objects.pods import is_over
from fleet.shape import Shape
from simulator.api import Json
from simulator.errors import NotModelledError

_UNMODELLED = ("schedulingGates", "topologySpreadConstraints")


def node_for(
    pod: Json, nodes: Sequence[Json], pods: Iterable[Json], company: Mapping[str, int]
) -> str | None:
    """Return the node that a pod would be bound to, `None` while none has room.

    What pods hold counts until they are gone. Of nodes with room the one with most company that the pod would
    rather have is taken, then the one with fewest pods of this kind: what else scores is not modelled.
    """
    if wishes := [field for field in _UNMODELLED if pod["spec"].get(field)]:
        raise NotModelledError(f"scheduling a pod with {wishes}")
    wanted = {name: int(amount) for name, amount in resources_asked(pod["spec"]).items()}
    taken: dict[str, Counter[str]] = {}
    crowd: Counter[str] = Counter()
    for other in pods:
        node = other["spec"].get("nodeName")
        asked = resources_asked(other["spec"]) if node and not is_over(other) else {}
        if asked:
            crowd[node] += 1
            taken.setdefault(node, Counter()).update({name: int(amount) for name, amount in asked.items()})
    closed = places_of(nodes).closed_to(pod["spec"])
    fitting = [
        name
        for node in nodes
        if node["metadata"]["name"] not in closed and not (node.get("spec") or {}).get("unschedulable")
        for name in [node["metadata"]["name"]]
        for left in [_left(node, taken.get(name, Counter()))]
        if all(left.get(resource, 0) >= count for resource, count in wanted.items())
    ]
    return min(fitting, key=lambda name: (-company.get(name, 0), crowd[name], name), default=None)


def shape_held(pod: Json, node: Json) -> Shape:
    """Return what a pod has of the node that it runs on."""
    return shape_asked(pod["spec"], plugged([node], ()).hosts)


def _left(node: Json, taken: Counter[str]) -> dict[str, int]:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return {
        name: int(count) - taken[name]
        for name, count in allocatable.items()
        if name.startswith("nvidia.com/")
    }
