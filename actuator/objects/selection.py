"""Pods by their labels: what a selector picks costs what it finds, not all pods of the fleet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from actuator.manifest import Json, key_of, labels_of, selects
from actuator.objects.changes import Changes

_Mark = tuple[str, ...]
"""Namespace, or namespace with a label and its value."""


class Labelled:
    """Pods, indexed by namespace and by each of their labels; kept up by `follow`.

    Args:
        pods: The pods to begin with.
        counts: Which of them are picked at all.
    """

    def __init__(self, pods: Iterable[Json] = (), counts: Callable[[Json], bool] = lambda _: True) -> None:
        self._counts = counts
        self._changes = Changes()
        self._marked: defaultdict[_Mark, dict[int, Json]] = defaultdict(dict)
        self.follow(pods)

    def follow(self, pods: Iterable[Json]) -> None:
        """Take the pods as they are now; what is the same object as before is not looked at."""
        gone, came = self._changes.since(pods)
        for pod in filter(self._counts, gone):
            for mark in _marks(pod):
                del self._marked[mark][id(pod)]
                if not self._marked[mark]:
                    # Every pod of a Job has labels of its own, and a cluster makes some all the time.
                    del self._marked[mark]
        for pod in filter(self._counts, came):
            for mark in _marks(pod):
                self._marked[mark][id(pod)] = pod

    def selected(self, namespace: str, selector: Json) -> list[Json]:
        """Return the pods of a namespace that a label selector picks, by name.

        Complexity: the pods that carry the rarest of its `matchLabels`; without any, those of the namespace.
        """
        wanted: Json = selector.get("matchLabels") or {}
        marks: list[_Mark] = [(namespace, *label) for label in wanted.items()] or [(namespace,)]
        rarest = min((self._marked.get(mark, {}) for mark in marks), key=len)
        found = (pod for pod in rarest.values() if selects(selector, labels_of(pod)))
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def _marks(pod: Json) -> Iterator[_Mark]:
    namespace = key_of(pod).namespace
    yield (namespace,)
    for label in labels_of(pod).items():
        yield (namespace, *label)
