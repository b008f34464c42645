"""Pods that would rather be where others are, or apart from them, as far as copies ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from actuator.manifest import selects
from simulator.api import Json
from simulator.errors import NotModelledError
from simulator.metadata import name_of
from simulator.pods import is_leaving


def company(pod: Json, others: Iterable[Json]) -> Counter[str]:
    """Return how many pods by node a pod would rather be beside.

    One preferred term over nodes is modelled, for pods of all namespaces that have a label: nodes are then
    scored by their number of such pods (kubernetes pkg/scheduler/framework/plugins/interpodaffinity).
    """
    affinity = pod["spec"].get("affinity")
    if not affinity:
        return Counter()
    match affinity.get("podAffinity"):
        case {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "podAffinityTerm": {
                        "labelSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
                        "namespaceSelector": {},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                }
            ]
        } if affinity.keys() == {"podAffinity"} or _apart(affinity):
            nodes = ((one["spec"].get("nodeName"), one["metadata"].get("labels", {})) for one in others)
            return Counter(node for node, labels in nodes if node and label in labels)
    raise NotModelledError(f"scheduling pod {name_of(pod)[1]} by affinity {affinity}")


def kin(pod: Json, others: Iterable[Json], nodes: Sequence[Json]) -> Counter[str]:
    """Return how many pods that a pod would rather be apart from run in the fault domain of each node.

    One constraint that refuses no place is modelled, or that and anti-affinity to the same pods, which weighs
    more than company then (.../plugins/podtopologyspread).
    """
    spec = pod["spec"]
    match spec.get("topologySpreadConstraints"):
        case None | []:
            return Counter()
        case [
            {
                "maxSkew": 1,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
                "topologyKey": label,
            }
        ] if _apart(spec.get("affinity") or {}) in ({}, {"labelSelector": selector, "topologyKey": label}):
            domain_of = {one["metadata"]["name"]: one["metadata"]["labels"].get(label) for one in nodes}
            namespace = pod["metadata"]["namespace"]
            mine = (
                one["spec"].get("nodeName")
                for one in others
                if one["metadata"]["namespace"] == namespace
                and not is_leaving(one)
                and selects(selector, one["metadata"].get("labels", {}))
            )
            by_domain = Counter(domain_of[node] for node in mine if node in domain_of)
            return Counter({node: by_domain[domain] for node, domain in domain_of.items()})
    raise NotModelledError(f"spreading pod {name_of(pod)[1]} by {spec['topologySpreadConstraints']}")


def _apart(affinity: Json) -> Json:
    """Return the pods that a pod prefers to be apart from before anything else, empty = none."""
    match affinity.get("podAntiAffinity"):
        case {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {"labelSelector": _, "topologyKey": _} as term}
            ]
        } if affinity.keys() <= {"podAffinity", "podAntiAffinity"}:
            return dict(term)
    return {}
