"""Engines with a sleep mode, as data: how they are told, what they answer, and what they are started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from actuator.manifest import Json


@dataclass(frozen=True, slots=True)
class SleepingEngine:
    """One kind of engine; one YAML file each in `actuator/data/sleep`.

    Attributes:
        title: What people call it.
        port: Where it listens if its container names no port.
        args: Arguments without which it has no sleep mode.
        env: Environment without which it has none.
        sleep: Method and path of the call that puts it to sleep, weights in host memory.
        wake: Likewise of the call that wakes it.
        state: Path that tells whether it sleeps.
        field: Where in that answer.
        busy: Path of its metrics, as text.
        series: Gauges there whose sum is what it has in service.
    """

    title: str
    port: int
    args: tuple[str, ...]
    env: Mapping[str, str]
    sleep: tuple[str, str]
    wake: tuple[str, str]
    state: str
    field: str
    busy: str
    series: tuple[str, ...]

    def objection(self, pod_spec: Json) -> str:
        """Return what pods lack to have a sleep mode, one clause; empty = nothing."""
        containers = pod_spec.get("containers") or []
        said = {word.partition("=")[0] for one in containers for word in _words(one)}
        told = {(each["name"], each.get("value")) for one in containers for each in one.get("env") or ()}
        for arg in self.args:
            if arg not in said:
                return f"its engine is started without {arg}"
        for name, value in self.env.items():
            if (name, value) not in told:
                return f"its engine is started without {name}={value}"
        return ""


@cache
def sleeping_engines() -> Mapping[str, SleepingEngine]:
    """Return the engines that can be put to sleep, by name."""
    folder = files("actuator") / "data" / "sleep"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".yaml")), key=lambda e: e.name)
    return {
        each.name.removesuffix(".yaml"): _engine(yaml.safe_load(each.read_text("utf-8"))) for each in found
    }


def _engine(said: Mapping[str, Any]) -> SleepingEngine:
    return SleepingEngine(
        title=said["title"],
        port=said["port"],
        args=tuple(said["args"]),
        env=said["env"],
        sleep=(said["sleep"]["method"], said["sleep"]["path"]),
        wake=(said["wake"]["method"], said["wake"]["path"]),
        state=said["state"]["path"],
        field=said["state"]["field"],
        busy=said["busy"]["path"],
        series=tuple(said["busy"]["series"]),
    )


def _words(container: Json) -> list[str]:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return [part for word in words for part in str(word).split()]
