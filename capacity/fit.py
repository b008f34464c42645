"""Laws learnt from measured latencies: one fit for a model and its engine, over all shapes they run on.

In logarithms, a shape's law is its prior plus what model and engine have in common on every shape (an error
for each parameter) plus the error of the slice law on that shape (one for all three parameters). All errors
are normal beforehand, so that what is measured on one shape says something of every other, less sure by the
slice law's error. The fit is the most probable vector of errors (Gauss-Newton), its covariance that of the
normal distribution that touches the posterior there (Laplace).

A single operating point cannot tell a slow start of every iteration from a slow token. Until the points
differ enough in what share of their latency grows with load, the slopes beta and gamma stay what they were
before, and only alpha moves; their uncertainty stays too. The measure is the condition number of the points'
Jacobian in logarithms, as in llm-inferno/model-tuner (README).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capacity.belief import PARAMETER_SIGMA, PARAMETERS, SLICE_SIGMA, Belief, Source, scaled
from capacity.law import Floats, Integers, Law
from fleet.demand import Mix
from fleet.shape import Shape

ITL_SIGMA = 0.03
"""Lognormal error of a mean inter-token latency as the law predicts it: what its formulas leave out where
requests come and go at random."""

TTFT_SIGMA = 0.10
"""The same of a mean time to first token, which depends on how prompts happen to meet."""

CONDITION_LIMIT = 100.0
"""Largest condition number with which slopes are moved: llm-inferno/model-tuner calls less healthy."""

_STEPS, _SMALLEST = 50, 1e-9
"""Gauss-Newton: steps at most, and the one after which nothing moves any more. Three are nearly always
enough, as the problem is nearly linear in logarithms."""


@dataclass(frozen=True, slots=True)
class Point:
    """Mean latencies of one replica at one load.

    Attributes:
        shape: What it runs on.
        mix: Mean tokens of its requests.
        batch: Requests that share an iteration, seen from one of them: itself and its mean company.
        itl_ms: Mean inter-token latency; `None` where it is not known.
        ttft_ms: Mean time to first token; `None` where it is not known, or requests waited for a place.
        requests: Requests that the means are over.
        itl_bias: Measured mean over the law's that is expected here.
        ttft_bias: Likewise of the time to first token.
        itl_sigma: Lognormal error of `itl_ms` as the law predicts it.
    """

    shape: Shape
    mix: Mix
    batch: float
    itl_ms: float | None
    ttft_ms: float | None
    requests: float
    itl_bias: float = 1.0
    ttft_bias: float = 1.0
    itl_sigma: float = ITL_SIGMA


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What measurements say about the laws of a model and its engine.

    Attributes:
        shapes: Shapes that were measured and have a slice law's error of their own: slices.
        mean: Errors of alpha, beta and gamma, then of each of `shapes`, in logarithms.
        covariance: Of those.
        source: What it rests on.
    """

    shapes: tuple[Shape, ...]
    mean: Floats
    covariance: Floats
    source: Source

    def belief(self, prior: Law, shape: Shape) -> Belief:
        """Return what is held of the law on a shape, given its prior."""
        to_shape = np.zeros((PARAMETERS, len(self.mean)))
        to_shape[:, :PARAMETERS] = np.eye(PARAMETERS)
        unseen = 0.0 if shape.is_one_card else SLICE_SIGMA**2
        if shape in self.shapes:
            to_shape[:, PARAMETERS + self.shapes.index(shape)] = 1.0
            unseen = 0.0
        return Belief(
            law=scaled(prior, to_shape @ self.mean),
            covariance=to_shape @ self.covariance @ to_shape.T + unseen,
            source=self.source,
        )


class Told:
    """What points tell, each worked out once: of a day's points one moves a minute, and all are fitted again.

    Points are told apart by identity: comparing them all would cost as much as what they tell.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[Point, Law, tuple[_Observation, ...]]] = {}

    def by(self, points: Sequence[Point], priors: Mapping[Shape, Law]) -> tuple[_Observation, ...]:
        """Return what these points tell by the priors of their shapes; what others told is forgotten."""
        held, self._held = self._held, {}
        found: list[_Observation] = []
        for point in points:
            prior, known = priors[point.shape], held.get(id(point))
            if known is None or known[1] != prior:
                known = point, prior, tuple(_observations(point, prior))
            self._held[id(point)] = known
            found += known[2]
        return tuple(found)


def fit(
    points: Sequence[Point],
    priors: Mapping[Shape, Law],
    *,
    imported: bool = False,
    told: Told | None = None,
) -> Fit:
    """Return the fit to points of one model and engine; without points it is the prior.

    Complexity: points x unknowns squared x 50 steps at most; a millisecond for some dozens of points.

    Args:
        points: Measured, merged so that no operating point is there many times.
        priors: The prior law of each shape among them.
        imported: Whether they come from benchmark files rather than from live engines.
        told: What points told the last time; those that are the same objects are not worked out again.
    """
    shapes = tuple(sorted({point.shape for point in points if not point.shape.is_one_card}))
    seen = _Seen((told or Told()).by(points, priors), shapes)
    precision = np.diag([PARAMETER_SIGMA**-2] * PARAMETERS + [SLICE_SIGMA**-2] * len(shapes))
    tells_slopes = seen.condition <= CONDITION_LIMIT
    mean = _most_probable(seen, precision, np.arange(len(precision)) if tells_slopes else np.arange(1))
    _, jacobian = seen.at(mean)
    rests_on = Source.IMPORT if imported else Source.FITTED if tells_slopes else Source.CORRECTED
    covariance = np.linalg.inv(jacobian.T @ jacobian + precision).astype(np.float64)
    return Fit(shapes, mean, covariance, rests_on if points else Source.PRIOR)


def _most_probable(seen: _Seen, precision: Floats, free: Integers) -> Floats:
    """Return the errors that explain best what was seen; those that are not free stay at zero."""

    def cost(at: Floats, residuals: Floats) -> float:
        return float(residuals @ residuals + at @ precision @ at)

    mean = np.zeros(len(precision))
    there = seen.at(mean)
    for _ in range(_STEPS):
        residuals, jacobian = there
        gradient = jacobian.T @ residuals - precision @ mean
        curvature = jacobian.T @ jacobian + precision
        step = np.zeros_like(mean)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        before = cost(mean, residuals)
        there = seen.at(mean + step)
        # Where much stays unexplained, a step that merely gains goes to and fro: one has to gain half of what
        # it would if all were linear.
        while np.abs(step).max() > _SMALLEST and cost(mean + step, there[0]) > before - gradient @ step / 2:
            step /= 2
            there = seen.at(mean + step)
        mean = mean + step
        if np.abs(step).max() <= _SMALLEST:
            break
    return mean


@dataclass(frozen=True, slots=True)
class _Observation:
    """The logarithm of a mean latency, its standard deviation, and the parts of it by parameter and prior."""

    shape: Shape
    log: float
    sigma: float
    parts: tuple[float, ...]
    tells_condition: bool


def _observations(point: Point, prior: Law) -> Iterator[_Observation]:
    """Yield what a point tells."""
    parts = [law.request(point.mix.prompt_tokens, point.mix.output_tokens) for law in _by_parameter(prior)]
    if point.itl_ms is not None:
        itl_ms = tuple(part.itl_ms(point.batch) for part in parts)
        log = math.log(point.itl_ms / point.itl_bias)
        yield _Observation(point.shape, log, point.itl_sigma, itl_ms, tells_condition=True)
    if point.ttft_ms is not None:
        ttft_ms = tuple(part.ttft_ms(point.batch) for part in parts)
        log = math.log(point.ttft_ms / point.ttft_bias)
        # Times to first token spread like an exponential's: a single one as much as their mean.
        sigma = math.hypot(TTFT_SIGMA, point.requests**-0.5)
        yield _Observation(point.shape, log, sigma, ttft_ms, tells_condition=False)


def _by_parameter(law: Law) -> tuple[Law, Law, Law]:
    """Return three laws, each with one of the parameters: latencies are sums of theirs."""
    return (
        Law(law.alpha_ms, 0.0, 0.0),
        Law(0.0, law.beta_ms_per_token, 0.0),
        Law(0.0, 0.0, law.gamma_ms_per_kv_token),
    )


class _Seen:
    """All observations, each divided by its standard deviation.

    Attributes:
        condition: How badly they tell alpha from what grows with load: the condition number of the Jacobian
            of inter-token latencies in the logarithms of alpha and of both slopes together, infinite for
            a single operating point.
    """

    def __init__(self, observed: Sequence[_Observation], shapes: Sequence[Shape]) -> None:
        self._logs = np.array([one.log for one in observed])
        self._sigmas = np.array([one.sigma for one in observed])
        self._parts = np.array([one.parts for one in observed]).reshape(len(observed), PARAMETERS)
        self._levels = np.zeros((len(observed), len(shapes)))
        column = {shape: at for at, shape in enumerate(shapes)}
        for row, one in enumerate(observed):
            if one.shape in column:
                self._levels[row, column[one.shape]] = 1.0
        shares = np.array([one.parts[0] / sum(one.parts) for one in observed if one.tells_condition])
        by_share = np.stack([shares, 1 - shares])
        self.condition = float(np.sqrt(np.linalg.cond(by_share @ by_share.T))) if len(shares) else np.inf

    def at(self, mean: Floats) -> tuple[Floats, Floats]:
        """Return residuals, and their change with each unknown, where the unknowns are `mean`."""
        parts = self._parts * np.exp(mean[:PARAMETERS])
        predicted = parts.sum(axis=1)
        residuals = self._logs - np.log(predicted) - self._levels @ mean[PARAMETERS:]
        jacobian = np.hstack([parts / predicted[:, np.newaxis], self._levels])
        return residuals / self._sigmas, jacobian / self._sigmas[:, np.newaxis]
