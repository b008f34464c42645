"""`foreslice run`: the loop as a process."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from threading import Event
from types import FrameType

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from fleet.errors import InputError
from foreslice import show
from foreslice.clock import WallClock
from foreslice.compose import loop_of, surroundings_of
from foreslice.http import StatusServer
from foreslice.settings.load import load, workloads_of
from foreslice.telemetry import Telemetry
from foreslice.tick import Tick

BUCKET_LAG_S = 20
"""A minute's last scrape comes up to one scrape interval after it ends; forecasts wait for it."""

MISSED_TICKS = 3
"""So many ticks without an end, and the process says that it is not alive."""


def run_once(path: Path, *, as_json: bool) -> None:
    """Turn the loop once and print what it saw; `InputError` if settings or data cannot be used."""
    settings = load(path)
    surroundings = surroundings_of(settings, path.parent)
    loop = loop_of(settings, surroundings)
    surroundings.before_tick()
    loop.forecast()
    loop.plan()
    tick = loop.tick()
    workloads = workloads_of(settings)
    if as_json:
        print(json.dumps(show.as_json(tick, workloads), indent=2))  # noqa: T201 -- the command's output
    else:
        show.console().print(show.as_text(tick, workloads))


def run_forever(path: Path, *, as_json: bool) -> None:
    """Turn the loop until SIGTERM or SIGINT; `InputError` if the first settings cannot be used."""
    _log_to_stderr()
    stopped = Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    process = Process(path, as_json=as_json)
    try:
        process.start()
        stopped.wait()
    finally:
        process.close()


class Process:
    """The loop's jobs on a scheduler, with reload of settings and a status server.

    Bad settings never stop a running loop: the last good ones go on, and every tick says so.
    """

    def __init__(self, path: Path, *, as_json: bool) -> None:
        self._path = path
        self._as_json = as_json
        self._log = structlog.get_logger()
        self._wall = WallClock()
        self._telemetry = Telemetry()
        self._read_text = _text(path)
        self._settings = load(path)
        self._surroundings = surroundings_of(self._settings, path.parent)
        self._loop = loop_of(self._settings, self._surroundings)
        self._settings_trouble = ""
        self._last_tick_s: float | None = None
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._server: StatusServer | None = None

    def start(self) -> None:
        """Start the jobs and the status server."""
        http, loop = self._settings.http, self._settings.loop
        self._server = StatusServer(
            http.address, http.port, self._telemetry.registry, self._is_alive, self._is_ready
        )
        self._log.info("started", port=self._server.port, workloads=len(self._settings.workloads))
        self._forecast()
        self._scheduler.add_job(self._tick, IntervalTrigger(seconds=loop.tick))
        self._scheduler.add_job(self._forecast, CronTrigger(second=BUCKET_LAG_S, timezone=UTC))
        self._scheduler.add_job(self._plan, IntervalTrigger(seconds=loop.plan))
        self._scheduler.start()
        self._tick()

    def close(self) -> None:
        """Finish the running jobs and stop."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)
        if self._server is not None:
            self._server.close()
        self._log.info("stopped")

    def _forecast(self) -> None:
        with self._surroundings.alone:
            self._loop.forecast()
            self._loop.plan()

    def _plan(self) -> None:
        with self._surroundings.alone:
            self._loop.plan()

    def _tick(self) -> None:
        self._reload()
        with self._surroundings.alone, self._telemetry.tick_seconds.time():
            self._surroundings.before_tick()
            tick = self._loop.tick()
        if self._settings_trouble:
            tick = replace(tick, conditions=(self._settings_trouble, *tick.conditions))
        self._telemetry.observe(tick)
        self._say(tick)
        self._last_tick_s = self._wall.now_s()

    def _reload(self) -> None:
        """Take up changed settings; keep the last good ones if the new cannot be used."""
        text = _text(self._path)
        if text == self._read_text:
            return
        self._read_text = text
        try:
            settings = load(self._path)
            same_world = (settings.metrics, settings.cluster) == (
                self._settings.metrics,
                self._settings.cluster,
            )
            surroundings = self._surroundings if same_world else surroundings_of(settings, self._path.parent)
            loop = loop_of(settings, surroundings)
        except InputError as error:
            self._settings_trouble = f"settings cannot be used, the last good ones go on: {error}"
            self._log.error("settings refused", reason=str(error))
            return
        self._settings, self._surroundings, self._loop, self._settings_trouble = (
            settings,
            surroundings,
            loop,
            "",
        )
        self._forecast()
        self._log.info("settings taken up", workloads=len(settings.workloads))

    def _say(self, tick: Tick) -> None:
        if self._as_json:
            line = json.dumps(show.as_json(tick, workloads_of(self._settings)))
            print(line, flush=True)  # noqa: T201 -- the command's output
        for condition in tick.conditions:
            self._log.warning("held", reason=condition)
        for result in tick.results:
            self._log.info(
                "step",
                workload=str(result.target),
                verb=result.step.verb,
                variant=result.step.variant,
                replicas=result.step.replicas,
                outcome=result.outcome,
                reason=result.reason,
            )

    def _is_alive(self) -> bool:
        if self._last_tick_s is None:
            return True
        longest_s: float = MISSED_TICKS * self._settings.loop.tick
        return self._wall.now_s() - self._last_tick_s < longest_s

    def _is_ready(self) -> bool:
        return self._last_tick_s is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"unreadable: {error}"


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
