"""Keeps the laws of every workload's engines up to date with what the engines show.

Once a bucket, beside the forecasts and off the tick's thread. What was learnt is a cache: a new process
begins at the priors again, and knows the shapes under load after some minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from capacity.estimate import CapacityModel
from capacity.fit import Fit, Point, Told, fit
from capacity.histograms import Window
from capacity.law import Law
from capacity.operations import Operations
from fleet.sample import Sample, known
from fleet.shape import Shape
from fleet.signal import Signal
from fleet.workload import Workload, WorkloadKey
from predictor.ports import MetricsSource
from predictor.series import WINDOW_S

COUNTED = {
    "itl_sum_s": Signal.ITL_SUM,
    "tokens": Signal.ITL_COUNT,
    "ttft_sum_s": Signal.TTFT_SUM,
    "first_tokens": Signal.TTFT_COUNT,
    "completions": Signal.COMPLETIONS,
    "prompt_tokens": Signal.PROMPT_TOKENS,
    "output_tokens": Signal.OUTPUT_TOKENS,
}
"""What a window is made of, by its fields."""

MOVES = 0.02
"""A law within 2 %, and as sure within that, is the one that capacities were reckoned with."""

Pods = Mapping[str, Shape]
"""Ready pods of one workload, and what each runs on."""


class Fitting:
    """Reads the newest windows, fits, and tells the capacity model where a law has moved.

    Args:
        workloads: Workloads to look after.
        metrics: Where their signals are read from.
        capacity: What is told.
    """

    def __init__(
        self, workloads: Sequence[Workload], metrics: MetricsSource, capacity: CapacityModel
    ) -> None:
        self._workloads = tuple(workloads)
        self._metrics = metrics
        self._capacity = capacity
        self._operations: dict[WorkloadKey, Operations] = defaultdict(Operations)
        self._told: dict[WorkloadKey, Told] = defaultdict(Told)
        self._open: dict[WorkloadKey, dict[str, Window | None]] = {}

    def update(self, ready: Mapping[WorkloadKey, Pods], now_s: float) -> None:
        """Take in the last minute of the pods that were ready all through it.

        Those on cards that nothing is known about teach nothing. Raises `UnavailableError` when the metrics
        source does not answer.
        """
        ready = {
            key: {pod: shape for pod, shape in pods.items() if self._capacity.knows(shape)}
            for key, pods in ready.items()
        }
        asked = [workload for workload in self._workloads if ready.get(workload.key)]
        read = self._metrics.now(
            (*COUNTED.values(), Signal.WAITING), [workload.key for workload in asked], now_s
        )
        for workload in asked:
            points = list(self._gathered(workload, ready[workload.key], read[workload.key].pods))
            if points:
                self._learn(workload, points, now_s)

    def _gathered(
        self, workload: Workload, pods: Pods, read: Mapping[str, Mapping[Signal, Sample]]
    ) -> Iterator[Point]:
        """Yield a point for each pod that has served enough requests since its last one."""
        before = self._open.get(workload.key, {})
        after: dict[str, Window | None] = dict.fromkeys(pods)
        for pod in sorted(pods.keys() & before.keys()):
            gathered, newest = before[pod], _window(read.get(pod, {}))
            window = gathered.joined(newest) if gathered and newest else newest or gathered
            _, kv_tokens = self._capacity.unmeasured(workload, pods[pod])
            if window is not None and window.is_enough and kv_tokens > 0:
                yield window.point(pods[pod], kv_tokens)
            else:
                after[pod] = window
        self._open[workload.key] = after

    def _learn(self, workload: Workload, new: Sequence[Point], now_s: float) -> None:
        operations = self._operations[workload.key]
        for point in new:
            operations.add(point, self._prior(workload, point.shape), now_s)
        points = operations.points(now_s)
        priors = {shape: self._prior(workload, shape) for shape in {point.shape for point in points}}
        found = fit(points, priors, told=self._told[workload.key])
        held = self._capacity.fitted(workload.key)
        if held is None or _has_moved(held, found):
            self._capacity.learn(workload.key, found)

    def _prior(self, workload: Workload, shape: Shape) -> Law:
        law, _ = self._capacity.unmeasured(workload, shape)
        return law


def _window(pod: Mapping[Signal, Sample]) -> Window | None:
    """Return what the last minute of a pod says, `None` unless it says all of it."""
    counted = {name: known(pod[signal]) for name, signal in COUNTED.items() if signal in pod}
    numbers = {name: number for name, number in counted.items() if number is not None}
    if len(numbers) < len(COUNTED):
        return None
    waiting = known(pod[Signal.WAITING]) if Signal.WAITING in pod else None
    return Window(seconds=WINDOW_S, is_queued=waiting != 0, **numbers)


def _has_moved(held: Fit, found: Fit) -> bool:
    """Return whether a fitted law, or how sure it is, has changed by more than is worth a thought."""
    if held.shapes != found.shapes or held.source is not found.source:
        return True
    was, now = (np.sqrt(np.diag(each.covariance)) for each in (held, found))
    return bool(np.abs(found.mean - held.mean).max() > MOVES or np.abs(now - was).max() > MOVES)
