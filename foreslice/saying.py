"""What a running service says of its ticks: news in the log, and all of it as JSON for those who ask."""

from __future__ import annotations

import json
from typing import Any

import structlog

from foreslice import output, show
from foreslice.settings.load import workloads_of
from foreslice.settings.schema import Settings
from foreslice.tick import Tick


def is_simulated(settings: Settings) -> bool:
    """Return whether the fleet of these settings is a simulated one."""
    return settings.cluster.kind == "embedded"


def as_json(tick: Tick, settings: Settings) -> dict[str, Any]:
    """Return a tick for scripts."""
    return {"is_simulated": is_simulated(settings), **show.as_json(tick, workloads_of(settings))}


class Saying:
    """Says of each tick what was not so in the one before; prints it whole where `prints`."""

    def __init__(self, *, prints: bool) -> None:
        self._prints = prints
        self._log = structlog.get_logger()
        self._told: list[tuple[str, dict[str, str | int]]] = []

    def say(self, tick: Tick, settings: Settings) -> None:
        """Print the tick where that is asked for, and log its news."""
        if self._prints:
            self._print(json.dumps(as_json(tick, settings)))
        lines: list[tuple[str, dict[str, str | int]]] = [
            ("held", {"reason": condition}) for condition in tick.conditions
        ]
        lines += [("step", show.step_as_json(result)) for result in tick.results]
        for event, about in lines:
            if (event, about) not in self._told:
                tell = self._log.warning if event == "held" else self._log.info
                tell(event, **about)
        self._told = lines

    def _print(self, line: str) -> None:
        """Print a line; the loop outlives those who read it."""
        try:
            print(line, flush=True)  # noqa: T201 -- the command's output
        except OSError as error:
            self._prints = False
            output.let_go()
            self._log.warning("ticks are not printed any more", reason=error.strerror)
