"""`foreslice run`: the loop as a process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from threading import Event, Lock

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from fleet.errors import ForesliceError, InputError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice import output, saying, show
from foreslice.clock import BUCKET_LAG_S, STANDBY_S, WallClock
from foreslice.doors import entrance_of
from foreslice.http import StatusServer
from foreslice.notices import Notices
from foreslice.selection import settled
from foreslice.settings.load import workloads_of
from foreslice.setup import setup_of
from foreslice.stopping import StoppedError, obey_signals, put_off
from foreslice.telemetry import Telemetry

MISSED_TICKS = 3
"""So many ticks without an end, and the process says that it is not alive."""

Address = tuple[str, int]
"""Where to listen: address and port."""

MOST_PORT = 65535

_Wanted = tuple[str, tuple[WorkloadKey, ...]]
"""Text of a settings file, and the workloads that it means."""

LAST_TICK_S = 1.0
"""So long a tick that is under way may take to end in order when the process is told to stop."""


def run_once(path: Path, *, as_json: bool) -> None:
    """Turn the loop once and print what it saw.

    Raises:
        InputError: Settings or data cannot be used.
        UnavailableError: The metrics source did not answer, so nothing was seen of any workload.
    """
    setup = setup_of(path)
    try:
        setup.require_forecast()
        tick = setup.tick(nullcontext())
    finally:
        setup.surroundings.close()
    if as_json:
        output.print_json(saying.as_json(tick, setup.settings))
        return
    show.console().print(show.as_text(tick, workloads_of(setup.settings)))
    if saying.is_simulated(setup.settings):
        show.console().print("Simulated: cards, nodes, the cluster's API, its delays and the engines.")


def run_forever(path: Path, *, as_json: bool, listen: str = "") -> None:
    """Turn the loop until SIGTERM or SIGINT; `InputError` if the first settings cannot be used.

    Args:
        path: Settings file.
        as_json: Print each tick as a line of JSON.
        listen: Address and port to serve at instead of those of the settings, as `0.0.0.0:8080`.
    """
    served = _address(listen) if listen else None
    _log_to_stderr()
    obey_signals()
    try:
        process = Process(path, as_json=as_json, listen=served)
        try:
            process.start()
            Event().wait()
        finally:
            process.close()
    except StoppedError:
        return


def _address(text: str) -> Address:
    address, _, port = text.rpartition(":")
    if not (address and port.isdecimal() and int(port) <= MOST_PORT):
        raise InputError(f"{text} is no address and port", where="--listen", fix="write e.g. 0.0.0.0:8080")
    return address, int(port)


class Process:
    """The loop's jobs on a scheduler, with reload of settings and a status server.

    Bad settings never stop a running loop: the last good ones go on, and every tick says so.
    """

    def __init__(self, path: Path, *, as_json: bool, listen: Address | None = None) -> None:
        self._path = path
        self._listen = listen
        self._log = structlog.get_logger()
        self._wall = WallClock()
        self._telemetry = Telemetry()
        text = _text(path)
        self._setup = setup_of(path)
        # What the file said, and what it selected, when it was last taken up or refused, `None` = try again.
        self._judged: _Wanted | None = (text, tuple(self._setup.keys))
        self._in_use = Lock()
        self._settings_trouble = ""
        self._notices, self._saying = Notices(), saying.Saying(prints=as_json)
        self._last_tick_s: float | None = None
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._server: StatusServer | None = None

    def start(self) -> None:
        """Start the status server and the jobs."""
        http, loop = self._setup.settings.http, self._setup.settings.loop
        address, port = self._listen or (http.address, http.port)
        entrance = entrance_of(http, self._path.parent)
        self._server = StatusServer(
            address, port, self._telemetry.registry, self._is_alive, self._is_ready, entrance
        )
        self._log.info("started", port=self._server.port, workloads=len(self._setup.settings.workloads))
        self._tick()
        self._every("tick", self._tick, IntervalTrigger(seconds=loop.tick))
        self._every("settings", self._reload, IntervalTrigger(seconds=loop.tick))
        self._every("plan", self._plan, IntervalTrigger(seconds=loop.plan))
        self._every("standby", self._turn_pool, IntervalTrigger(seconds=STANDBY_S))
        at_bucket = CronTrigger(second=BUCKET_LAG_S, timezone=UTC)
        self._every("forecast", self._forecast, at_bucket)
        with put_off():
            self._scheduler.start()

    def close(self) -> None:
        """Hand the lead over, finish the running jobs and stop.

        A source that does not answer may hold a job for long, and the next leader does not wait for it: what
        the job still tries to write is refused.
        """
        if self._scheduler.running:
            self._scheduler.pause()
        has_ended = self._in_use.acquire(timeout=LAST_TICK_S)
        self._setup.surroundings.close()
        if has_ended:
            self._in_use.release()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)
        self._setup.surroundings.close()  # others, if settings were being taken up
        if self._server is not None:
            self._server.close()
            self._log.info("stopped")

    def _every(self, name: str, job: Callable[[], None], trigger: IntervalTrigger | CronTrigger) -> None:
        """Schedule a job; the loop outlives an error in it, which is a bug and told as one."""

        def guarded() -> None:
            try:
                job()
            except Exception as error:  # noqa: BLE001 -- the edge of a job: the next one goes on
                self._telemetry.failures.labels(name).inc()
                self._log.exception("job failed", job=name, reason=f"{type(error).__name__}: {error}")

        self._scheduler.add_job(guarded, trigger, id=name)

    def _forecast(self) -> None:
        self._setup.forecast()

    def _plan(self) -> None:
        self._setup.plan()

    def _tick(self) -> None:
        with self._in_use:
            setup = self._setup
            tick = setup.tick(self._telemetry.tick_seconds.time())
        if self._settings_trouble:
            tick = replace(tick, conditions=(self._settings_trouble, *tick.conditions))
        self._telemetry.settings_usable.set(not self._settings_trouble)
        self._telemetry.observe(tick)
        self._saying.say(tick, setup.settings)
        for notice in self._notices.of(tick, setup.keys):
            setup.surroundings.tell(notice)
        self._last_tick_s = self._wall.now_s()

    def _turn_pool(self) -> None:
        turned = self._setup.standby()
        self._telemetry.wakes.observe(turned)
        for done in turned:
            said = {"slice": done.slice, "act": done.act.verb, "workload": str(done.act.workload)}
            self._log.info("standby", **said, because=done.problem or done.act.because)

    def _reload(self) -> None:
        """Take up changed settings; keep the last good ones if the new cannot be used.

        A job of its own: ticks go on while what the new settings describe is read and forecast.
        """
        wanted = _text(self._path), self._selected()
        if wanted == self._judged:
            return
        before, self._judged = self._setup, None
        try:
            setup = setup_of(self._path, before)
        except InputError as error:
            self._judged = wanted
            self._keep_because(str(error))
            return
        except UnavailableError as error:
            self._keep_because(str(error))
            return
        except Exception as error:
            self._keep_because(f"{type(error).__name__}: {error}")
            raise
        self._judged, self._settings_trouble = (wanted[0], tuple(setup.keys)), ""
        with self._in_use:
            self._setup = setup
            if setup.surroundings is not before.surroundings:
                before.surroundings.close()
        settings = setup.settings
        if settings.loop != before.settings.loop and self._scheduler.running:
            self._scheduler.reschedule_job("tick", trigger=IntervalTrigger(seconds=settings.loop.tick))
            self._scheduler.reschedule_job("settings", trigger=IntervalTrigger(seconds=settings.loop.tick))
            self._scheduler.reschedule_job("plan", trigger=IntervalTrigger(seconds=settings.loop.plan))
        if settings.http != before.settings.http:
            self._log.warning("changes of http are taken up at the next start")
        self._log.info("settings taken up", workloads=len(settings.workloads))

    def _selected(self) -> tuple[WorkloadKey, ...]:
        """Return the workloads that the settings in use mean now; those of before where nobody can tell."""
        try:
            settings = settled(self._setup.written, self._path.parent)
        except ForesliceError:
            return tuple(self._setup.keys)
        return tuple(workload.key for workload in workloads_of(settings))

    def _keep_because(self, reason: str) -> None:
        line = "; ".join(reason.splitlines())
        self._settings_trouble = f"settings cannot be used, the last good ones go on: {line}"

    def _is_alive(self) -> bool:
        if self._last_tick_s is None:
            return True
        longest_s: float = MISSED_TICKS * self._setup.settings.loop.tick
        return self._wall.now_s() - self._last_tick_s < longest_s

    def _is_ready(self) -> bool:
        return self._last_tick_s is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"unreadable: {error}"


def _log_to_stderr() -> None:
    # What the scheduler has to say about a job, the job says itself, in one line of JSON.
    logging.getLogger("apscheduler").addHandler(logging.NullHandler())
    # And what went wrong with a request is in the error that it ends with.
    logging.getLogger("urllib3").addHandler(logging.NullHandler())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
