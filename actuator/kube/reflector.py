"""One watch that keeps whoever takes its news up to date."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Protocol

from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from actuator.kube.apiserver import ApiServer, parsed
from actuator.kube.errors import ExpiredError, NotFoundError, error_of
from actuator.kube.listing import listed
from actuator.kube.mirror import Scope
from actuator.kube.resources import OPTIONAL
from actuator.manifest import Json, version_of
from fleet.errors import ForesliceError, UnavailableError

WATCH_S = 25
"""The server ends a watch after this long, shortly before with a bookmark, and is asked for the next one.

So a connection, its credentials and our permissions are never older than half of what
`actuator.guards.STALE_VIEW_S` trusts, and a quiet cluster can be told from a dead one.
"""

# Between two tries that fail, and at most after many.
_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0


class Sink(Protocol):
    """What takes the news of a scope, one piece at a time; `actuator.kube.mirror.Mirror` is one."""

    def replace(self, scope: Scope, bodies: Iterable[Json], version: str) -> None:
        """Take a whole list, as of a version."""
        ...

    def take(self, scope: Scope, body: Json) -> None:
        """Take a new or changed object."""
        ...

    def drop(self, scope: Scope, body: Json) -> None:
        """Take note of an object's end."""
        ...

    def clear(self, scope: Scope) -> None:
        """Forget a scope that the server does not serve."""
        ...


class Reflector:
    """Lists what a scope holds, then follows its changes, for ever; lists anew when told 410.

    An answer that breaks off is taken up where it ended. Trouble is kept for whoever asks, and tried again.
    """

    def __init__(self, server: ApiServer, scope: Scope, sink: Sink) -> None:
        self._server = server
        self._scope = scope
        self._sink = sink
        self._tried = Event()
        self._is_listed = False
        self._closed = Event()
        self._lock = Lock()
        self._stream: HTTPResponse | None = None
        self._version = ""
        self._heard_s = 0.0
        self.trouble = ""
        self._thread = Thread(target=self._run, name=f"watch {scope.path}", daemon=True)
        self._thread.start()

    def is_listed(self, within_s: float) -> bool:
        """Return whether the scope has been listed, when that was first tried or after this time."""
        self._tried.wait(within_s)
        return self._is_listed

    def age_s(self) -> float | None:
        """Return how long ago the server was last heard of, `None` if the scope was never listed."""
        return time.monotonic() - self._heard_s if self._is_listed else None

    def close(self) -> None:
        """End the watch."""
        with self._lock:
            self._closed.set()
            if self._stream is not None:
                with suppress(RuntimeError, ValueError, OSError):  # it has ended by itself
                    self._stream.shutdown()
        self._thread.join()

    def _run(self) -> None:
        pause_s = _PAUSE_S
        while not self._closed.is_set():
            begun_s = time.monotonic()
            try:
                if not self._version:
                    self._list()
                self._follow()
            except ExpiredError:
                self._version = ""
            except (ForesliceError, HTTPError, ValueError, KeyError) as error:
                self.trouble = str(error)
            self._tried.set()
            # A server that ends every watch at once is not to be asked without end.
            if time.monotonic() - begun_s < WATCH_S / 5:
                self._closed.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                pause_s = _PAUSE_S

    def _list(self) -> None:
        """Hand over what the server holds."""
        try:
            bodies, version = listed(self._server, self._scope.path)
        except NotFoundError:
            if self._scope.resource in OPTIONAL:
                self._sink.clear(self._scope)
                self._heard("")
            raise
        self._sink.replace(self._scope, bodies, version)
        self._heard(version)

    def _follow(self) -> None:
        """Take over every change from the last version on, until the server ends the watch."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": WATCH_S,
        }
        with self._server.stream(self._scope.path, query) as stream:
            with self._lock:
                self._stream = stream
                if self._closed.is_set():
                    return
            self.trouble = ""
            self._heard(self._version)
            for line in stream:
                self._heard(self._take(parsed(line)))

    def _heard(self, version: str) -> None:
        self._version = version
        self._heard_s = time.monotonic()
        self._is_listed = True
        self._tried.set()

    def _take(self, event: Json) -> str:
        """Take over one change and return its version."""
        body: Json = event["object"]
        match event["type"]:
            case "ERROR":
                raise error_of(body, f"watch {self._scope.path}")
            case "DELETED":
                self._sink.drop(self._scope, body)
            case "ADDED" | "MODIFIED":
                self._sink.take(self._scope, body)
            case "BOOKMARK":
                pass
            case other:
                raise UnavailableError(f"watch {self._scope.path}: unknown event {other}")
        return version_of(body)
