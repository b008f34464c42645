"""Pods by their labels: what a selector picks costs what it finds, not all pods of the fleet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from actuator.manifest import Json, by_namespace, labels_of, selects


class Labelled:
    """Pods, indexed once by namespace and by each of their labels."""

    def __init__(self, pods: Iterable[Json]) -> None:
        self._all = by_namespace(pods)
        self._by_label: defaultdict[tuple[str, str, str], list[Json]] = defaultdict(list)
        for namespace, found in self._all.items():
            for pod in found:
                for label in labels_of(pod).items():
                    self._by_label[namespace, *label].append(pod)

    def selected(self, namespace: str, selector: Json) -> list[Json]:
        """Return the pods of a namespace that a label selector picks, by name.

        Complexity: the pods that carry the rarest of its `matchLabels`; without any, those of the namespace.
        """
        wanted: Json = selector.get("matchLabels") or {}
        rarest = min(
            (self._by_label.get((namespace, *label), []) for label in wanted.items()),
            key=len,
            default=self._all.get(namespace, []),
        )
        found = (pod for pod in rarest if selects(selector, labels_of(pod)))
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))
