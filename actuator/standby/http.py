"""The engines' endpoints over HTTP, by the address of their pods."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import urllib3

from actuator.standby.engines import SleepingEngine
from fleet.standby import EngineState, Sleeper

ASKED_S = 1.0
"""Longest wait for an answer about its state: an engine that is turning does not answer."""

CONNECT_S = 2.0
"""Longest wait for a connection; a call that has none by then is never made."""

TOLD_S = 60.0
"""Longest wait for a call to end, which engines answer when they have turned."""

_AT_ONCE = 16


class HttpDoors:
    """Implements `actuator.standby.ports.Doors`. Close it in the end.

    Args:
        engine: How engines are told.
        url: Given a standby pod, where its engine listens, empty = not yet.
        fence: Asked right before an engine is told anything; raises where that is not ours to do.
        token: Given to engines as bearer token, `None` = they want none.
    """

    def __init__(
        self,
        engine: SleepingEngine,
        url: Callable[[Sleeper], str],
        fence: Callable[[], object] = lambda: None,
        token: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._url = url
        self._fence = fence
        self._token = token
        self._http = urllib3.PoolManager(retries=False, maxsize=_AT_ONCE)
        self._calls = ThreadPoolExecutor(_AT_ONCE, "standby")

    def close(self) -> None:
        """End all connections; calls that were made go on in the engines."""
        self._calls.shutdown(wait=False, cancel_futures=True)
        self._http.clear()

    def state(self, sleeper: Sleeper) -> EngineState:
        """Return what an engine says of itself."""
        answer = self._ask(sleeper, self._engine.state)
        try:
            is_asleep = json.loads(answer)[self._engine.field] if answer else None
        except (ValueError, KeyError, TypeError):
            is_asleep = None
        if not isinstance(is_asleep, bool):
            return EngineState.SILENT
        return EngineState.ASLEEP if is_asleep else EngineState.AWAKE

    def is_idle(self, sleeper: Sleeper) -> bool:
        """Return whether an engine says that it has nothing in service; silence is no."""
        found = [
            float(line.rpartition(" ")[2])
            for line in self._ask(sleeper, self._engine.busy).splitlines()
            if line.startswith(tuple(f"{name}{end}" for name in self._engine.series for end in "{ "))
        ]
        return bool(found) and sum(found) == 0.0

    def sleep(self, sleeper: Sleeper) -> None:
        """Ask an engine to sleep, and do not wait for it."""
        self._tell(sleeper, self._engine.sleep)

    def wake(self, sleeper: Sleeper) -> None:
        """Ask an engine to wake, and do not wait for it."""
        self._tell(sleeper, self._engine.wake)

    def _ask(self, sleeper: Sleeper, path: str) -> str:
        url = self._url(sleeper)
        if not url:
            return ""
        try:
            with self._http.request(
                "GET", url + path, headers=self._headers(), timeout=ASKED_S, preload_content=False
            ) as answer:
                return answer.read(1 << 20).decode(errors="replace") if answer.status == 200 else ""  # noqa: PLR2004 -- HTTP's OK
        except urllib3.exceptions.HTTPError:
            return ""

    def _tell(self, sleeper: Sleeper, call: tuple[str, str]) -> None:
        url, (method, path) = self._url(sleeper), call
        if url:
            self._fence()
            self._calls.submit(self._call, method, url + path)

    def _call(self, method: str, url: str) -> None:
        timeout = urllib3.Timeout(connect=CONNECT_S, read=TOLD_S)
        # What has come of it is seen in the engine's state, whatever it answers.
        with suppress(urllib3.exceptions.HTTPError):
            self._http.request(method, url, headers=self._headers(), timeout=timeout)

    def _headers(self) -> dict[str, str]:
        token = self._token()
        return {"Authorization": f"Bearer {token}"} if token else {}
