"""Keeps the laws of every workload's engines up to date with what the engines show.

Once a bucket, beside the forecasts and off the tick's thread. What was learnt is a cache: a new process
begins at the priors again, and knows the shapes under load after some minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from capacity.estimate import CapacityModel
from capacity.fit import Fit, fit
from capacity.histograms import Window
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
        self._open: dict[WorkloadKey, dict[str, Window | None]] = {}

    def update(self, ready: Mapping[WorkloadKey, Pods], now_s: float) -> None:
        """Take in the last minute of the pods that were ready all through it.

        Raises `UnavailableError` when the metrics source does not answer.
        """
        asked = [workload for workload in self._workloads if ready.get(workload.key)]
        read = self._metrics.now(
            (*COUNTED.values(), Signal.WAITING), [workload.key for workload in asked], now_s
        )
        for workload in asked:
            pods, before = ready[workload.key], self._open.get(workload.key, {})
            after: dict[str, Window | None] = {}
            for pod, shape in pods.items():
                window = _window(read[workload.key].pods.get(pod, {})) if pod in before else None
                held = before.get(pod)
                window = held.joined(window) if held is not None and window is not None else window or held
                if window is not None and window.is_enough:
                    self._add(workload, shape, window, now_s)
                    window = None
                after[pod] = window
            self._open[workload.key] = after
            self._learn(workload, now_s)

    def _add(self, workload: Workload, shape: Shape, window: Window, now_s: float) -> None:
        prior, kv_tokens = self._capacity.unmeasured(workload, shape)
        if kv_tokens > 0:
            self._operations[workload.key].add(window.point(shape, kv_tokens), prior, now_s)

    def _learn(self, workload: Workload, now_s: float) -> None:
        points = self._operations[workload.key].points(now_s)
        priors = {point.shape: self._capacity.unmeasured(workload, point.shape)[0] for point in points}
        found, held = fit(points, priors), self._capacity.fitted(workload.key)
        if points and (held is None or _has_moved(held, found)):
            self._capacity.learn(workload.key, found)


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
