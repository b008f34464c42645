"""Pods that would rather be where others are: preferred pod affinity, as far as copies ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from simulator.api import Json
from simulator.errors import NotModelledError
from simulator.metadata import name_of


def company(pod: Json, others: Iterable[Json]) -> Counter[str]:
    """Return how many pods by node a pod would rather be beside.

    One preferred term over nodes is modelled, for pods of all namespaces that have a label: nodes are then
    scored by their number of such pods (kubernetes pkg/scheduler/framework/plugins/interpodaffinity).
    """
    affinity = pod["spec"].get("affinity")
    if not affinity:
        return Counter()
    match affinity:
        case {
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "podAffinityTerm": {
                            "labelSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
                            "namespaceSelector": {},
                            "topologyKey": "kubernetes.io/hostname",
                        }
                    }
                ]
            }
        } if len(affinity) == 1:
            nodes = ((one["spec"].get("nodeName"), one["metadata"].get("labels", {})) for one in others)
            return Counter(node for node, labels in nodes if node and label in labels)
    raise NotModelledError(f"scheduling pod {name_of(pod)[1]} by affinity {affinity}")
