"""What the API server holds, as last heard: one set of objects for all watches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from actuator.kube.resources import NODES, PODS, SERVING, Resource
from actuator.manifest import Json, key_of, version_of
from actuator.mechanisms.engine_memory import memory_words
from actuator.objects.writers import without_other_fields
from fleet.workload import WorkloadKey

ONLY_READ = frozenset({NODES, PODS})
"""What is never written: news of theirs in which nothing changes that is read leave the version as it is."""

_READ = {
    NODES: {
        "metadata": ("name", "labels", "resourceVersion"),
        "spec": ("unschedulable", "taints"),
        "status": ("allocatable", "capacity"),
    },
    PODS: {
        "metadata": (
            "name",
            "namespace",
            "uid",
            "labels",
            "annotations",
            "creationTimestamp",
            "deletionTimestamp",
            "resourceVersion",
        ),
        "spec": (
            "nodeName",
            "containers",
            "initContainers",
            "overhead",
            "resources",
            "tolerations",
            "resourceClaims",
        ),
        "status": ("phase", "conditions", "resourceClaimStatuses"),
    },
}
"""What is read of nodes and pods, of which a cluster has many."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one watch follows: a resource in one namespace, or everywhere."""

    resource: Resource
    namespace: str = ""

    @property
    def path(self) -> str:
        """Address of the objects."""
        return self.resource.path(self.namespace)


class Mirror:
    """Objects by scope, the newest version of each; threads may share it.

    What we write goes in at once, and older news of it that comes later is passed over: whoever looks sees
    his own writes. resourceVersions are compared as numbers, as Kubernetes warrants from 1.35 on (KEP-5504);
    etcd's revisions, which they are, always were.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: defaultdict[Scope, dict[WorkloadKey, Json]] = defaultdict(dict)
        self._asked_at: dict[tuple[Scope, WorkloadKey], int] = {}
        self._changes = 0

    @property
    def version(self) -> str:
        """Token that changes with every change."""
        return str(self._changes)

    def snapshot(self) -> tuple[str, Mapping[Resource, list[Json]]]:
        """Return the version and everything that is held, by resource."""
        found: defaultdict[Resource, list[Json]] = defaultdict(list)
        with self._lock:
            for scope, bodies in self._held.items():
                found[scope.resource].extend(bodies.values())
            return self.version, found

    def get(self, scope: Scope, name: str) -> Json | None:
        """Return an object of a namespaced scope, `None` if it is not known."""
        with self._lock:
            return self._held[scope].get(WorkloadKey(scope.namespace, name))

    def is_asked_the_same(self, scope: Scope, name: str, version: str) -> bool:
        """Return whether an object still asks for what it did as of a version: its generation counts that."""
        with self._lock:
            asked_at = self._asked_at.get((scope, WorkloadKey(scope.namespace, name)))
        return asked_at is not None and asked_at <= int(version)

    def list(self, scope: Scope) -> list[Json]:
        """Return the objects of a scope."""
        with self._lock:
            return list(self._held[scope].values())

    def replace(self, scope: Scope, bodies: Iterable[Json], version: str) -> None:
        """Take a whole list, as of a version; what was heard later than that stays."""
        listed = {key_of(body): _trimmed(scope.resource, body) for body in bodies}
        with self._lock:
            held = self._held[scope]
            newer = {key: body for key, body in held.items() if _number(body) > int(version)}
            fresh = {**listed, **newer}
            for key in held.keys() - fresh.keys():
                self._asked_at.pop((scope, key), None)
            for key, body in fresh.items():
                self._note_asked(scope, key, held.get(key), body)
            if _versions(fresh) != _versions(held):
                self._changes += 1
            self._held[scope] = fresh

    def clear(self, scope: Scope) -> None:
        """Forget a scope that the server does not serve."""
        with self._lock:
            for key in (held := self._held.pop(scope, {})):
                self._asked_at.pop((scope, key), None)
            self._changes += bool(held)

    def take(self, scope: Scope, body: Json) -> None:
        """Take a new or changed object."""
        body = _trimmed(scope.resource, body)
        with self._lock:
            held = self._held[scope].get(key_of(body))
            if held is not None and (_number(held) > _number(body) or held == body):
                return
            self._held[scope][key_of(body)] = body
            self._note_asked(scope, key_of(body), held, body)
            self._changes += scope.resource not in ONLY_READ or _said(held) != _said(body)

    def drop(self, scope: Scope, body: Json) -> None:
        """Forget an object that was deleted."""
        with self._lock:
            held = self._held[scope].get(key_of(body))
            if held is not None and _number(held) <= _number(body):
                del self._held[scope][key_of(body)]
                self._asked_at.pop((scope, key_of(body)), None)
                self._changes += 1

    def _note_asked(self, scope: Scope, key: WorkloadKey, held: Json | None, body: Json) -> None:
        """Note since which version an object has asked for what it asks for; `held` is what it was."""
        generation = body["metadata"].get("generation")
        if generation is not None and (held is None or held["metadata"].get("generation") != generation):
            self._asked_at[scope, key] = _number(body)


def _trimmed(resource: Resource, body: Json) -> Json:
    """Return an object that says what it is, without the part that nobody reads."""
    if resource in ONLY_READ:
        return _of_many(resource, body)
    if resource in SERVING:
        metadata = without_other_fields(body)
    else:
        metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return {**resource.named(body), "metadata": metadata}


def _of_many(resource: Resource, body: Json) -> Json:
    """Return the part of a node or pod that is read, of containers what they ask for and are told to take."""
    parts = ((part, body.get(part) or {}, names) for part, names in _READ[resource].items())
    kept = {part: {name: of[name] for name in names if name in of} for part, of, names in parts}
    for containers in ("containers", "initContainers"):
        if containers in kept["spec"]:
            kept["spec"][containers] = [_of_container(one) for one in kept["spec"][containers]]
    return resource.named(kept)


def _of_container(container: Json) -> Json:
    kept: Json = {key: container[key] for key in ("resources", "restartPolicy") if key in container}
    words = memory_words(container)
    return {**kept, "args": words} if words else kept


def _said(body: Json | None) -> Json | None:
    """Return an object without its version, `None` for none."""
    if body is None:
        return None
    metadata = {key: value for key, value in body["metadata"].items() if key != "resourceVersion"}
    return {**body, "metadata": metadata}


def _number(body: Json) -> int:
    return int(version_of(body))


def _versions(bodies: Mapping[WorkloadKey, Json]) -> dict[WorkloadKey, str]:
    return {key: version_of(body) for key, body in bodies.items()}
