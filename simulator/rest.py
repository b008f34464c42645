"""A real API server as `simulator.api.Api`, so that agents act on it as ordinary clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from fleet.errors import ConflictError, RefusedError
from simulator.api import Event, Json, Kind, kind_of
from simulator.apiserver import ApiServer, address
from simulator.clock import Clock
from simulator.reflector import Reflector, items


class RestApi:
    """Implements `simulator.api.Api` over HTTP. The clock delivers events.

    Close it in the end: every kind that is watched has a thread and a connection of its own.
    """

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._lock = Lock()
        self._reflectors: dict[Kind, Reflector] = {}

    def close(self) -> None:
        """End all watches."""
        for reflector in self._reflectors.values():
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
        found = items(kind, self._server.request("GET", address(kind, namespace), query=query))
        return sorted(
            found, key=lambda body: (body["metadata"].get("namespace", ""), body["metadata"]["name"])
        )

    def watch(self, kind: Kind, on_event: Callable[[Event], None]) -> None:
        """Report every object that exists as added, then every change; all listeners share one watch."""
        with self._lock:
            if kind not in self._reflectors:
                self._reflectors[kind] = Reflector(self._server, kind, self._clock)
        self._reflectors[kind].subscribe(on_event)

    def create(self, body: Json) -> Json:
        """Write a new object and return it as stored; `ConflictError` if its name is taken."""
        return self._server.request("POST", address(kind_of(body), body["metadata"].get("namespace")), body)

    def replace(self, body: Json) -> Json:
        """Write everything but the status, on the version that the object carries."""
        return self._put(body)

    def replace_status(self, body: Json) -> Json:
        """Write the status and nothing else, on the version that the object carries."""
        return self._put(body, "/status")

    def delete(self, kind: Kind, namespace: str | None, name: str, *, grace_s: int | None = None) -> None:
        """Delete an object; pods end within their grace, or `grace_s`, and 0 removes what is left of them."""
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        self._server.request("DELETE", address(kind, namespace, name), options)

    def _put(self, body: Json, part: str = "") -> Json:
        metadata = body["metadata"]
        path = address(kind_of(body), metadata.get("namespace"), metadata["name"])
        if "resourceVersion" not in metadata:  # which servers take for leave to overwrite whatever is there
            raise RefusedError(f"a write to {path} must carry its resourceVersion")
        return self._server.request("PUT", path + part, body)
