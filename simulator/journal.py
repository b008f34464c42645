"""What happened in a run: who held which device, which pods served, who scaled, what became of requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from fleet.devices import Device
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.counts import Tally


@dataclass(frozen=True, slots=True)
class Holding:
    """A device in somebody's hands.

    Attributes:
        workload: Whose pod holds it, `None` = nobody's alone: a slice of the standby pool.
        device: What is held; its memory slices say where on the card.
        gpu_share: What it takes of a card, the larger of compute and memory.
        from_s: When it was allocated, seconds since the epoch.
        until_s: When it was given back, infinite while it is held.
    """

    workload: WorkloadKey | None
    device: Device
    gpu_share: float
    from_s: float
    until_s: float = np.inf


@dataclass(frozen=True, slots=True)
class Serving:
    """A pod that requests were sent to.

    Attributes:
        pod: Name of the pod.
        workload: What it serves.
        shape: What it runs on.
        from_s: When it turned ready, seconds since the epoch.
        until_s: When it left or turned unready, infinite while it serves.
        is_standby: Whether it is of the standby pool.
    """

    pod: str
    workload: WorkloadKey
    shape: Shape
    from_s: float
    until_s: float = np.inf
    is_standby: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """An engine that began to load, at `at_s` seconds since the epoch."""

    at_s: float
    pod: str
    workload: WorkloadKey
    shape: Shape


@dataclass(frozen=True, slots=True)
class Scaling:
    """A write to the replicas of a Deployment, at `at_s` seconds since the epoch."""

    at_s: float
    workload: WorkloadKey
    deployment: str
    replicas: int


_SpanT = TypeVar("_SpanT", Holding, Serving)


class Spans(Generic[_SpanT]):
    """Spans of time in the order in which they began; one that lasts is found by its name."""

    def __init__(self) -> None:
        self._spans: list[_SpanT] = []
        self._lasting: dict[str, int] = {}

    def __iter__(self) -> Iterator[_SpanT]:
        return iter(self._spans)

    def __contains__(self, name: str) -> bool:
        return name in self._lasting

    def begin(self, name: str, span: _SpanT) -> None:
        """Add a span that lasts."""
        self._lasting[name] = len(self._spans)
        self._spans.append(span)

    def end(self, name: str, at_s: float) -> None:
        """Let a span end."""
        at = self._lasting.pop(name)
        self._spans[at] = replace(self._spans[at], until_s=at_s)


class Journal:
    """Everything that the account of a run is made from.

    Attributes:
        holdings: Devices held, by claim while they are.
        servings: Pods that serve, by name while they do.
        starts: Engines that began to load.
        scalings: Writes to Deployments.
        tallies: What had become of requests, by time; one entry a minute.
    """

    def __init__(self) -> None:
        self.holdings: Spans[Holding] = Spans()
        self.servings: Spans[Serving] = Spans()
        self.starts: list[Start] = []
        self.scalings: list[Scaling] = []
        self.tallies: dict[float, Tally] = {}
