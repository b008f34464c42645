"""A real API server as `simulator.api.Api`, so that agents act on it as ordinary clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock

from actuator.kube.apiserver import ApiServer
from actuator.kube.mirror import Scope
from actuator.kube.reflector import Reflector
from actuator.kube.resources import Resource
from actuator.manifest import key_of, version_of
from fleet.errors import ConflictError, RefusedError
from fleet.workload import WorkloadKey
from simulator.api import Change, Event, Json, Kind, kind_of
from simulator.clock import Clock


class RestApi:
    """Implements `simulator.api.Api` over HTTP. The clock delivers events.

    Close it in the end: every kind that is watched has a thread and a connection of its own.
    """

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._lock = Lock()
        self._watched: dict[Kind, tuple[Reflector, Audience]] = {}

    def close(self) -> None:
        """End all watches."""
        for reflector, _ in self._watched.values():
            reflector.close()

    def get(self, kind: Kind, namespace: str | None, name: str) -> Json | None:
        """Return an object, `None` if it does not exist."""
        try:
            return self._server.request("GET", address(kind, namespace, name))
        except ConflictError:
            return None

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Sequence[Json]:
        """Return what carries these labels, by namespace and name; of all namespaces if none is given."""
        wanted = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        query = {"labelSelector": wanted} if wanted else {}
        answer = self._server.request("GET", address(kind, namespace), query=query)
        return sorted((resource_of(kind).named(body) for body in answer["items"]), key=key_of)

    def watch(self, kind: Kind, on_event: Callable[[Event], None]) -> None:
        """Report every object that exists as added, then every change; all listeners share one watch."""
        with self._lock:
            if kind not in self._watched:
                audience = Audience(self._clock)
                self._watched[kind] = Reflector(self._server, Scope(resource_of(kind)), audience), audience
        self._watched[kind][1].join(on_event)

    def create(self, body: Json) -> Json:
        """Write a new object and return it as stored; `ConflictError` if its name is taken."""
        return self._server.request("POST", address(kind_of(body), body["metadata"].get("namespace")), body)

    def replace(self, body: Json) -> Json:
        """Write everything but the status, on the version that the object carries."""
        return self._put(body)

    def replace_status(self, body: Json) -> Json:
        """Write the status and nothing else, on the version that the object carries."""
        return self._put(body, "/status")

    def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        grace_s: int | None = None,
    ) -> None:
        """Delete an object, if `uid` is given only that one and none that came after it under its name.

        Pods end within their grace, or `grace_s`, and 0 removes what is left of them.
        """
        options: Json = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        self._server.request("DELETE", address(kind, namespace, name), options)

    def _put(self, body: Json, part: str = "") -> Json:
        metadata = body["metadata"]
        path = address(kind_of(body), metadata.get("namespace"), metadata["name"])
        if "resourceVersion" not in metadata:  # which servers take for leave to overwrite whatever is there
            raise RefusedError(f"a write to {path} must carry its resourceVersion")
        return self._server.request("PUT", path + part, body)


class Audience:
    """Everyone who wants to hear of one kind. Implements `actuator.kube.reflector.Sink`.

    What a watch missed is told as the difference to what was known, so nobody misses an end. Who joins later
    hears of everything that is known, as added.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[WorkloadKey, Json] = {}
        self._listeners: list[Callable[[Event], None]] = []
        self._lock = Lock()

    def join(self, on_event: Callable[[Event], None]) -> None:
        """Tell `on_event` what is known, then every change."""
        with self._lock:
            for body in self._known.values():
                self._clock.after(0, partial(on_event, Event(Change.ADDED, body)))
            self._listeners.append(on_event)

    def replace(self, scope: Scope, bodies: Iterable[Json], version: str) -> None:  # noqa: ARG002  all is older
        """Tell of what is other in a list than it was."""
        listed = {key_of(body): body for body in bodies}
        for key in self._known.keys() - listed.keys():
            self.drop(scope, self._known[key])
        for body in listed.values():
            self.take(scope, body)

    def take(self, scope: Scope, body: Json) -> None:
        """Tell of a new or changed object."""
        body = scope.resource.named(body)
        with self._lock:
            old = self._known.get(key_of(body))
            if old is None or version_of(old) != version_of(body):
                self._known[key_of(body)] = body
                self._tell(Event(Change.ADDED if old is None else Change.MODIFIED, body))

    def drop(self, scope: Scope, body: Json) -> None:
        """Tell of an end."""
        body = scope.resource.named(body)
        with self._lock:
            self._known.pop(key_of(body), None)
            self._tell(Event(Change.DELETED, body))

    def clear(self, scope: Scope) -> None:
        """Tell of the end of everything: the server does not serve the kind."""
        self.replace(scope, (), "")

    def _tell(self, event: Event) -> None:
        for on_event in self._listeners:
            self._clock.after(0, partial(on_event, event))


def resource_of(kind: Kind) -> Resource:
    """Return a kind as the client of API servers knows it."""
    return Resource(kind.api_version, kind.name, kind.plural)


def address(kind: Kind, namespace: str | None = None, name: str | None = None) -> str:
    """Return the path of a kind's objects, of those in a namespace, or of one.

    Raises `RefusedError` for an empty name: a mistake must not become the address of all.
    """
    if name == "":
        raise RefusedError(f"a {kind.name} without a name has no address")
    return resource_of(kind).path(namespace or "", name or "")
