"""Requests as they arrive, second by second: semi-synthetic, from rates measured in steps of ten minutes.

Between the steps the rate is piecewise linear, with the measured total of every step kept exactly.
Arrivals are a gamma process on the integral of the rate: in any window with a mean of m requests the
count has the variance cv^2 * m that a renewal process of that coefficient of variation tends to
(Cox, Renewal Theory, 1962, ch. 3). Draws depend on seed, tenant and day only, so that
whatever policies are compared see the very same requests.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fleet.workload import Workload
from simulator.traces import TRACE_STEP_S, Floats

DAY_S = 86_400
MINUTE_S = 60
_RAMP_S = 120
"""How long a rate takes to reach its level on either side of a step's edge: whole minutes, so that means
over minutes and over seconds are the rate at their middle. A short ramp: the longest that fits (half a step)
would let a lone spike reach twice its measured mean."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One workload and the traffic that it is offered, in steps of ten minutes from midnight of day 0.

    Attributes:
        workload: The workload.
        kind: Character of its traffic: steady, daily, drifting, switching or spiking.
        client: Client of the trace that it was made from.
        requests_per_s: Mean offered requests/s by step.
        prompt_tokens: Mean prompt tokens of a request by step.
        output_tokens: Mean output tokens of a request by step.
        interarrival_cv: Coefficient of variation of the time between arrivals by step.
    """

    workload: Workload
    kind: str
    client: str
    requests_per_s: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    interarrival_cv: Floats

    @property
    def days(self) -> int:
        """Number of whole days that the traffic lasts."""
        return len(self.requests_per_s) * TRACE_STEP_S // DAY_S


def continuous(step_means: Floats) -> tuple[Floats, Floats]:
    """Return knots (s, value) of a continuous, non-negative, piecewise linear rate with these step means.

    At an edge the rate is the mean of both sides, at most twice the lower one, so that a step without
    requests stays without and no level turns negative. Within a step it goes to a level, holds it, and
    leaves it in time; the level is what keeps the mean, 0.75 to 1.25 times the mean.
    """
    n = len(step_means)
    edge = np.minimum((step_means[:-1] + step_means[1:]) / 2, 2 * np.minimum(step_means[:-1], step_means[1:]))
    edges = np.concatenate((step_means[:1], edge, step_means[-1:]))
    level = (step_means * TRACE_STEP_S - _RAMP_S * (edges[:-1] + edges[1:]) / 2) / (TRACE_STEP_S - _RAMP_S)
    start = np.arange(n) * float(TRACE_STEP_S)
    times = np.column_stack((start, start + _RAMP_S, start + TRACE_STEP_S - _RAMP_S)).ravel()
    values = np.column_stack((edges[:-1], level, level)).ravel()
    return np.append(times, n * float(TRACE_STEP_S)), np.append(values, edges[-1])


def mean_per_s(tenant: Tenant, day: int, step_s: int) -> Floats:
    """Return the mean offered requests/s in each `step_s` (1 or 60) of a day."""
    times, values = continuous(tenant.requests_per_s)
    middles = day * DAY_S + np.arange(DAY_S // step_s) * step_s + step_s / 2
    means: Floats = np.interp(middles, times, values)
    return means


def minute_arrivals(tenant: Tenant, day: int, seed: int) -> NDArray[np.int64]:
    """Return the requests that arrive in each minute of a day, counted from midnight of day 0."""
    return _whole(_minute_process(tenant, day, seed))


def second_arrivals(tenant: Tenant, day: int, seed: int) -> NDArray[np.int64]:
    """Return the requests that arrive in each second of a day; they add up to `minute_arrivals`."""
    by_minute = _minute_process(tenant, day, seed)
    variance = _variance_per_request(tenant, day, step_s=1)
    shape = (mean_per_s(tenant, day, 1) / variance).reshape(-1, MINUTE_S)
    # Parts of a gamma process, given their sum, are independent gamma draws rescaled to that sum.
    shares = np.cumsum(_generator(tenant, day, seed, stage=1).standard_gamma(shape), axis=1)
    total = shares[:, -1:]
    even = np.arange(1, MINUTE_S + 1) / MINUTE_S
    # Rare bursts make shapes so small that all sixty draws are 0 in floating point.
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), even)
    # Counted back from the end of the minute, so that its last second ends where it does to the bit.
    within = by_minute[1:, np.newaxis] - np.diff(by_minute)[:, np.newaxis] * (1 - shares)
    return _whole(np.concatenate((by_minute[:1], within.ravel())))


def _minute_process(tenant: Tenant, day: int, seed: int) -> Floats:
    """Return the gamma process at the edges of the minutes of a day, from a uniform offset."""
    draw = _generator(tenant, day, seed, stage=0)
    variance = _variance_per_request(tenant, day, step_s=MINUTE_S)
    mean = mean_per_s(tenant, day, MINUTE_S) * MINUTE_S
    offset = draw.uniform()
    return np.cumsum(np.concatenate(([offset], draw.standard_gamma(mean / variance) * variance)))


def _variance_per_request(tenant: Tenant, day: int, step_s: int) -> Floats:
    first = day * DAY_S // TRACE_STEP_S
    steps = tenant.interarrival_cv[first : first + DAY_S // TRACE_STEP_S] ** 2
    return np.repeat(steps, TRACE_STEP_S // step_s)


def _whole(process: Floats) -> NDArray[np.int64]:
    """Count the whole numbers that the process passes, so that rounding never adds up."""
    passed: NDArray[np.int64] = np.diff(np.floor(process).astype(np.int64))  # type: ignore[assignment]
    return passed


def _generator(tenant: Tenant, day: int, seed: int, *, stage: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(str(tenant.workload.key).encode()), day, stage])
