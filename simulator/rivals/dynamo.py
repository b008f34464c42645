"""NVIDIA Dynamo's planner: a point forecast of the next interval as a floor, one replica of load above it.

ai-dynamo/dynamo, components/src/dynamo/planner and docs/design-docs/planner-design.md: every 180 s the
floor is ceil(forecast requests/s over what an engine serves inside the SLO); every 5 s one replica more if
all engines miss the SLO, one less (never under the floor) if all are below 0.8 of it, nothing while a
scaling is in progress. The forecast is its Kalman filter of a local linear trend (core/load/predictors.py:
level noise 1.0, trend noise 0.1, measurement noise 10); its default, an ARIMA order search, is another
point forecast.
"""

from __future__ import annotations

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts, Seen, Stage, Wish

EVERY_S = 180
SENSITIVITY = 0.8
LEVEL_NOISE, TREND_NOISE, MEASUREMENT_NOISE = 1.0, 0.1, 10.0


class LocalTrend:
    """Kalman filter of a level with a trend, one for each of many series."""

    def __init__(self, first: Floats) -> None:
        self._level, self._trend = first.copy(), np.zeros_like(first)
        self._spread = np.diag([1.0, 1.0])

    def advance(self, observed: Floats) -> Floats:
        """Take in the mean of an interval, and return what is expected of the next one."""
        move = np.array([[1.0, 1.0], [0.0, 1.0]])
        level = self._level + self._trend
        spread = move @ self._spread @ move.T + np.diag([LEVEL_NOISE, TREND_NOISE])
        gain = spread[:, 0] / (spread[0, 0] + MEASUREMENT_NOISE)
        surprise = observed - level
        self._level, self._trend = level + gain[0] * surprise, self._trend + gain[1] * surprise
        self._spread = spread - np.outer(gain, spread[0])
        expected: Floats = np.maximum(self._level + self._trend, 0.0)
        return expected


class Dynamo:
    """Knob: the rate that an engine is taken to serve, as a part of what it carries inside its SLO."""

    def __init__(self, rates: Floats) -> None:
        self._rates = rates[:, np.newaxis]

    def begin(self, stage: Stage) -> Counts:
        """Begin with what the first step asks for."""
        self._stage = stage
        self._every = max(1, EVERY_S // stage.step_s)
        self._filter = LocalTrend(stage.work[0])
        self._interval: list[Floats] = []
        self._floor = stage.replicas(stage.work[0] / self._rates)
        return self._floor

    def wish(self, seen: Seen) -> Wish:
        """Move the floor when an interval ends, and one replica above it in between."""
        self._interval.append(seen.work)
        if len(self._interval) == self._every:
            expected = self._filter.advance(np.mean(self._interval, axis=0))
            self._floor = self._stage.replicas(expected / self._rates)
            self._interval.clear()
        is_settled = seen.ready == seen.held
        adds = (seen.load > self._rates) & is_settled
        removes = (seen.load < SENSITIVITY * self._rates) & is_settled
        wanted = np.maximum(seen.held + adds - removes, self._floor)
        return Wish(wanted, wanted)
