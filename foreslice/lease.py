"""Who leads: one process at a time, by a Lease, with a number that fences off those who led before.

The official client's election neither counts transitions nor gives the lease up when it ends, so the few
requests that it takes are made here, by the rules of client-go's leaderelection.go: whoever waits goes by his
own clock since he last saw the lease change, never by the times that it carries.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from threading import Event, Thread

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import LEASES
from actuator.manifest import Json, seconds_of, timestamp_of, version_of
from fleet.errors import ForesliceError, RefusedError

NAME = "foreslice"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a lease lasts, in seconds.

    Attributes:
        lease_s: Others wait this long after the last renewal before they take over.
        lead_s: The leader stops writing this long after the last renewal that got through: what it sent just
            before has the rest of the lease to arrive.
        turn_s: Between two looks at the lease.
    """

    lease_s: int = 15
    lead_s: float = 10.0
    turn_s: float = 1.0


@dataclass(frozen=True, slots=True)
class _Term:
    transitions: int
    until_s: float


class Candidate:
    """One process's part in the election. Turn it again and again, about once a second.

    Args:
        server: Where the Lease is kept.
        namespace: Namespace of the Lease.
        identity: Name of this process, another one after every start.
        wall_s: Time since the epoch, for people who read the Lease.
        pace: How long a lease lasts.
        elapsed_s: A clock that runs on while the machine sleeps.
    """

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        identity: str,
        wall_s: Callable[[], float],
        pace: Pace = Pace(),
        elapsed_s: Callable[[], float] | None = None,
    ) -> None:
        self._server = server
        self._namespace = namespace
        self._identity = identity
        self._wall_s = wall_s
        self.pace = pace
        self._elapsed_s = elapsed_s or _elapsed_s
        self._term: _Term | None = None
        self._seen = ""
        self._seen_s = 0.0
        self._trouble = "the lease has not been read yet"

    @property
    def is_leader(self) -> bool:
        """Whether this process may write."""
        term = self._term
        return term is not None and self._elapsed_s() < term.until_s

    def fence(self) -> int:
        """Return how often the lead had changed hands when it came to us; `RefusedError` unless we lead."""
        term = self._term
        if term is None or not self.is_leader:
            raise RefusedError(f"this process does not lead: {self._trouble}")
        return term.transitions

    def turn(self) -> None:
        """Take the lease if nobody holds it any more, or renew ours; after trouble the next turn tries."""
        try:
            self._turn()
        except ForesliceError as error:
            self._trouble = str(error)

    def release(self) -> None:
        """Write no more and let the next one in at once."""
        if self._term is None:
            return
        self._term = None
        self._trouble = "it has given the lease up"
        with suppress(ForesliceError):  # then the others wait until it ends
            lease = self._server.request("GET", self._path())
            if lease["spec"].get("holderIdentity") == self._identity:
                self._write(lease, {"holderIdentity": "", "leaseDurationSeconds": 1})

    def _turn(self) -> None:
        asked_s = self._elapsed_s()
        try:
            lease = self._server.request("GET", self._path())
            self._see(lease)
        except NotFoundError:
            lease = {}
        spec: Json = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        lasts_s = spec.get("leaseDurationSeconds") or 0
        if holder not in ("", self._identity) and self._elapsed_s() < self._seen_s + lasts_s:
            self._term = None
            self._trouble = f"{holder} does"
            return
        transitions = spec.get("leaseTransitions", 0)
        changes: Json = {"holderIdentity": self._identity, "leaseDurationSeconds": self.pace.lease_s}
        if holder != self._identity:
            transitions += 1
            changes |= {"leaseTransitions": transitions, "acquireTime": timestamp_of(self._wall_s())}
        self._see(self._write(lease, changes))
        self._term = _Term(transitions, asked_s + self.pace.lead_s)
        self._trouble = "its lease was not renewed in time"

    def _see(self, lease: Json) -> None:
        if version_of(lease) != self._seen:
            self._seen, self._seen_s = version_of(lease), self._elapsed_s()

    def _write(self, lease: Json, changes: Json) -> Json:
        """Write the lease on the version that was read; of two that try, one is told of a conflict."""
        spec = {**(lease.get("spec") or {}), **changes, "renewTime": timestamp_of(self._wall_s())}
        if lease:
            return self._server.request("PUT", self._path(), {**lease, "spec": spec})
        metadata = {"namespace": self._namespace, "name": NAME}
        kind = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        return self._server.create(LEASES.path(self._namespace), {**kind, "metadata": metadata, "spec": spec})

    def _path(self) -> str:
        return LEASES.path(self._namespace, NAME)


class Election:
    """A candidate that turns by itself. Closing it gives the lease up."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        self._closed = Event()
        self._thread = Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, so that another process leads within two turns."""
        self._closed.set()
        self._thread.join()
        self._candidate.release()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._candidate.turn()
            self._closed.wait(self._candidate.pace.turn_s)


def identity() -> str:
    """Return a name for this process that no other start of it has, after the pod it runs in."""
    return f"{socket.gethostname()}_{token_hex(4)}"


def _elapsed_s() -> float:
    # A virtual machine that was put to sleep must not wake up as leader; elsewhere than on Linux none is.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def led_s_ago(server: ApiServer, namespace: str, now_s: float) -> float | None:
    """Return how long ago the lease was renewed, `None` if nobody holds one."""
    try:
        lease = server.request("GET", LEASES.path(namespace, NAME))
    except NotFoundError:
        return None
    spec: Json = lease.get("spec") or {}
    return now_s - seconds_of(spec["renewTime"]) if spec.get("renewTime") else None
