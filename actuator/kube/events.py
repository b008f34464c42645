"""Events: what we did to a workload and what keeps us from it, as `kubectl describe` shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from queue import Full, Queue
from threading import Thread

from actuator.kube.apiserver import ApiServer
from actuator.kube.resources import EVENTS, LEASES
from actuator.manifest import FIELD_MANAGER, Json, digest_of, timestamp_of
from actuator.notice import Notice
from fleet.errors import ForesliceError
from fleet.workload import WorkloadKey

WAITING = 100
"""Notices that may wait to be written; what comes beyond is dropped: the log has it, and ticks go on."""

# kubernetes pkg/apis/core/validation/events.go, NoteLengthLimit.
_NOTE_LENGTH = 1024

Reference = Callable[[WorkloadKey], Json]
"""Returns the object that a workload's Events are about."""


class EventRecorder:
    """Writes notices as Events, in a thread of its own: no tick waits for it. Close it in the end.

    An Event that cannot be written is lost, and nothing else with it.

    Args:
        server: The API server.
        reference: What a workload's Events are about.
        namespace: Where the Lease is, which Events about the service are about.
        instance: Name of this process.
        is_leader: Whether this process may write; those that wait say nothing.
    """

    def __init__(
        self,
        server: ApiServer,
        reference: Reference,
        namespace: str,
        instance: str,
        is_leader: Callable[[], bool],
    ) -> None:
        self._server = server
        self._reference = reference
        self._lease = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "namespace": namespace,
            "name": FIELD_MANAGER,
        }
        self._instance = instance
        self._is_leader = is_leader
        self._waiting: Queue[Notice | None] = Queue(WAITING)
        self._thread = Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def tell(self, notice: Notice) -> None:
        """Have a notice written soon."""
        if self._is_leader():
            with suppress(Full):
                self._waiting.put_nowait(notice)

    def close(self) -> None:
        """Drop what waits, and end."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (notice := self._waiting.get()) is not None:
            body = self._event(notice)
            with suppress(ForesliceError):
                self._server.create(EVENTS.path(body["metadata"]["namespace"]), body)

    def _event(self, notice: Notice) -> Json:
        """Return an Event whose name says what is in it: said twice, it is there once."""
        about = self._lease if notice.about is None else self._reference(notice.about)
        note = notice.note if len(notice.note) <= _NOTE_LENGTH else f"{notice.note[: _NOTE_LENGTH - 3]}..."
        content = [about, notice.reason, note, notice.at_s]
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {
                "namespace": about["namespace"],
                "name": f"{about['name']}.{digest_of(content)}",
            },
            "eventTime": timestamp_of(notice.at_s),
            "reportingController": "foreslice.dev/foreslice",
            "reportingInstance": self._instance,
            "action": notice.reason,
            "reason": notice.reason,
            "regarding": about,
            "note": note,
            "type": "Warning" if notice.is_warning else "Normal",
        }
