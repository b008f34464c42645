"""On which nodes pods may be put: node selectors, required node affinity, taints and tolerations.

As kube-scheduler's filters NodeAffinity and TaintToleration (kubernetes, component-helpers
scheduling/corev1/nodeaffinity and scheduling/corev1/helpers.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from actuator.manifest import Json, holds, labels_of, tolerates

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAME = "metadata.name"
_REPELLING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What pods look at of a node: its name, its labels, and its taints that keep pods off."""

    name: str
    labels: Json = field(hash=False)
    taints: tuple[Json, ...] = field(hash=False)


@dataclass(frozen=True)
class Places:
    """Nodes, as far as they let pods in; equal where they let in the same."""

    nodes: tuple[_Place, ...] = ()
    _known: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    def closed_to(self, pod_spec: Json, besides: Iterable[str] = ()) -> frozenset[str]:
        """Return the names of nodes that pods of this spec are not put on.

        Args:
            pod_spec: Their spec.
            besides: Labels of its node selector that are not looked at.
        """
        ignored = set(besides)
        selector = {k: v for k, v in (pod_spec.get("nodeSelector") or {}).items() if k not in ignored}
        affinity: Json = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
        terms: list[Json] | None = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
        tolerations: list[Json] = pod_spec.get("tolerations") or []
        # Most workloads of a fleet say the same.
        said = json.dumps([selector, terms, tolerations], sort_keys=True)
        if said not in self._known:
            self._known[said] = frozenset(
                place.name
                for place in self.nodes
                if not selector.items() <= place.labels.items()
                or (terms is not None and not any(_matches(term, place) for term in terms))
                or not all(tolerates(tolerations, taint) for taint in place.taints)
            )
        return self._known[said]


def places_of(nodes: Iterable[Json]) -> Places:
    """Return the places that nodes are."""
    return Places(tuple(_place(node) for node in nodes))


def _place(node: Json) -> _Place:
    taints: list[Json] = (node.get("spec") or {}).get("taints") or []
    repelling = tuple(taint for taint in taints if taint["effect"] in _REPELLING)
    return _Place(node["metadata"]["name"], labels_of(node), repelling)


def _matches(term: Json, place: _Place) -> bool:
    """Return whether a node selector term picks a node; an empty one picks none."""
    labels: list[Json] = term.get("matchExpressions") or []
    fields: list[Json] = term.get("matchFields") or []
    return bool(labels or fields) and (
        all(_meets(one, place.labels) for one in labels)
        and all(_meets(one, {NAME: place.name}) for one in fields)
    )


def _meets(expression: Json, labels: Json) -> bool:
    if expression["operator"] not in {"Gt", "Lt"}:
        return holds(expression, labels)
    try:
        held, bound = int(labels[expression["key"]]), int(expression["values"][0])
    except (KeyError, ValueError):
        return False
    return held > bound if expression["operator"] == "Gt" else held < bound
