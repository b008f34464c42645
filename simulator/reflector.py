"""One watch of a kind at a real API server, for everyone who wants to hear of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event as Flag
from threading import Lock, Thread

from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from actuator.manifest import version_of
from fleet.errors import ConflictError, UnavailableError
from simulator.api import Change, Event, Json, Kind
from simulator.apiserver import ApiServer, address, error_of
from simulator.clock import Clock
from simulator.workqueue import RETRY_S

_WATCH_S = 3600
_Key = tuple[str, str]


class Reflector:
    """Lists a kind, then follows its changes; starts anew whenever the watch breaks or is told 410.

    What was missed meanwhile is told as the difference to what was known, so nobody misses an end. A
    listener that comes later hears of everything that is known, as added. A refusal is raised in the clock's
    thread: nobody who waits for events would notice that none will come.
    """

    def __init__(self, server: ApiServer, kind: Kind, clock: Clock) -> None:
        self._server = server
        self._kind = kind
        self._clock = clock
        self._known: dict[_Key, Json] = {}
        self._listeners: list[Callable[[Event], None]] = []
        self._lock = Lock()
        self._is_closed = Flag()
        self._stream: HTTPResponse | None = None
        self._thread = Thread(target=self._run, name=f"watch {kind.plural}", daemon=True)
        self._thread.start()

    def subscribe(self, on_event: Callable[[Event], None]) -> None:
        """Tell `on_event` what is known, then every change."""
        with self._lock:
            for body in self._known.values():
                self._clock.after(0, partial(on_event, Event(Change.ADDED, body)))
            self._listeners.append(on_event)

    def close(self) -> None:
        """End the watch."""
        with self._lock:
            self._is_closed.set()
            if self._stream is not None:
                with suppress(RuntimeError):  # it has ended by itself
                    self._stream.shutdown()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_closed.is_set():
            try:
                self._follow(self._list())
            except (ConflictError, UnavailableError, HTTPError):
                self._is_closed.wait(RETRY_S)
            except Exception as error:  # noqa: BLE001  raised where it will be noticed
                self._clock.after(0, partial(_raise, error))
                return

    def _list(self) -> str:
        """Tell what has changed since anything was last known, and return the version of the list."""
        answer = self._server.request("GET", address(self._kind))
        listed = {_key(body): body for body in items(self._kind, answer)}
        for key in self._known.keys() - listed.keys():
            self._tell(Change.DELETED, self._known[key])
        for body in listed.values():
            self._tell(Change.MODIFIED, body)
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        """Tell every change from a version on, until the server ends the watch."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": _WATCH_S,
        }
        with self._server.stream(address(self._kind), query) as stream:
            with self._lock:
                self._stream = stream
                if self._is_closed.is_set():
                    return
            for line in stream:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise error_of(event["object"])
                if event["type"] != "BOOKMARK":
                    self._tell(Change(event["type"]), event["object"])

    def _tell(self, change: Change, body: Json) -> None:
        key = _key(body)
        with self._lock:
            old = self._known.get(key)
            if change is Change.DELETED:
                self._known.pop(key, None)
            else:
                if old is not None and version_of(old) == version_of(body):
                    return
                change = Change.ADDED if old is None else Change.MODIFIED
                self._known[key] = body
            for on_event in self._listeners:
                self._clock.after(0, partial(on_event, Event(change, body)))


def items(kind: Kind, answer: Json) -> list[Json]:
    """Return the objects of a list, which leaves out what they are."""
    named = {"apiVersion": kind.api_version, "kind": kind.name}
    return [{**named, **body} for body in answer["items"]]


def _key(body: Json) -> _Key:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def _raise(error: Exception) -> None:
    raise error
