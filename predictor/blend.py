"""Learned and simple forecasts of one window, calibrated on what came and mixed by how they did."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from predictor.conformal import ENOUGH, Recent
from predictor.features import Features
from predictor.learned import MEDIAN
from predictor.mixing import Mixture
from predictor.ports import Floats
from predictor.recipe import Calibration
from predictor.steps import DAY_S

SHORT_MEMORY_S = DAY_S
"""How long one of the simple experts remembers them: it is the first to know of a new regime."""

BEYOND = 5
"""Errors beyond a quantile before a shift, or the short memory, speaks of it: few say anything of a high
one."""

FAMILIAR = 1.0
"""Times the highest demand so far above which no model is believed, nor any rise: a level near nothing
makes logs explode."""

CUT = 3.0
"""Times the highest demand so far at which a forecast is cut: nothing like it is in the history."""

NOTHING = 0.1
"""Share of the floor below which nothing is forecast while nothing comes: models, on a log scale over the
floor, never say nothing."""

BODY = 0.9
"""Quantile that is often enough exceeded for a mean of by how much."""

TAIL_ABOVE = 0.95
"""Quantile above which that mean speaks (docs/adr/0056-a-tail-beyond-the-ninth-decile.md); up to it errors
are many enough to count."""

DAYS_UP_TO = 0.95
"""Quantile above which the rise of days before says nothing: three days do not know what comes once in a
hundred windows."""

TRUST = 4.0
"""Weight, before anything is known, of last + residual; others have one."""

RAISE = 0.5
"""Share of the models' shift that the mixture is raised by for what it lacked of late: more costs loss at
every quantile, less covers too little (docs/adr/0016-which-experts-and-how-much-calibration.md)."""


class Origin(NamedTuple):
    """What the forecast of a window that opens now goes by.

    Attributes:
        level: Demand that learned forecasts are relative to, plus floor.
        last: The newest demand, plus floor.
        floor: What was added to both.
        hour: The highest step of the last hour.
        seasonal: Highest of the newest demand and of the same window a week ago; NaN where that is not known.
        rise: How far the same window rose on days before, on a square-root scale; NaN where not known.
        highest: Highest demand seen.
        learned: By model and quantile, log of the demand ahead over level; NaN where there is no model.
        anchored: By model, log of the median ahead over the newest demand.
    """

    level: float
    last: float
    floor: float
    hour: float
    seasonal: float
    rise: float
    highest: float
    learned: Floats
    anchored: Floats

    @staticmethod
    def of(table: Features, step: int, highest: float, learned: Floats, anchored: Floats) -> Origin:
        """Return what a forecast from a row of a table goes by."""
        return Origin(
            table.level[step],
            table.last[step],
            table.floor[step],
            table.hour[step],
            table.seasonal[step],
            table.rise[step],
            highest,
            learned,
            anchored,
        )


class Said(NamedTuple):
    """A forecast with what it was made from.

    Attributes:
        demand: By quantile, in order, never negative.
        is_cut: Whether it was cut at `CUT`.
        experts: By expert and quantile, NaN where one said nothing.
        mixed: What they come to, by quantile, before the last shift.
        logs: Log of the models' average over level by quantile, before its shift.
    """

    demand: Floats
    is_cut: bool
    experts: Floats
    mixed: Floats
    logs: Floats


class Blend:
    """The calibrated forecast of one window of one series; `learn` from each outcome once, in order of time.

    Experts are the average of the models with a share of its conformal shift, its median + residual, its .9 +
    an exponential tail of what came above it, each model as it is, the models' medians anchored on the newest
    demand, last + residual with a long and a short memory, last + the usual rise of the hour + residual, and
    as much of the last hour's highest step and of max(last, last week). They are mixed by how they did; where
    the mixture covered too little of late it is shifted up. Models are not asked once nothing came for a day:
    they never say nothing.

    Args:
        quantiles: Rising.
        step_s: Length of a step; time is counted in steps.
        calibration: How far shifts go, and what they are learnt from.
    """

    def __init__(self, quantiles: tuple[float, ...], step_s: int, calibration: Calibration) -> None:
        self._quantiles = np.array(quantiles)
        self._is_median = self._quantiles == MEDIAN
        self._body = quantiles.index(BODY) if BODY in quantiles else None
        # How many mean excesses a quantile lies above the body, were the tail exponential.
        excesses = np.log((1 - BODY) / (1 - self._quantiles))
        self._excesses = np.where(self._quantiles > TAIL_ABOVE, excesses, np.nan)
        self._calibration = calibration
        memory, short = calibration.memory_s // step_s, SHORT_MEMORY_S // step_s
        self._missed = Errors(memory, quantiles, columns=len(quantiles))
        self._lacked = Errors(memory, quantiles, columns=len(quantiles))
        self._last = Errors(memory, quantiles)
        self._lately = Errors(short, quantiles)
        self._hour = Errors(memory, quantiles)
        self._seasonal = Errors(memory, quantiles)
        self._risen = Errors(memory, quantiles)
        self._middle = Errors(memory, quantiles)
        self._mixture: Mixture | None = None
        self._idle = 0
        self._day = DAY_S // step_s

    def forecast(self, origin: Origin) -> Said | None:
        """Return the forecast from an origin, `None` while there is nothing to make one of."""
        logs = _average(origin.learned)
        learned = np.minimum(np.vstack([*self._learned(logs, origin)]), FAMILIAR * origin.highest)
        self._idle = self._idle + 1 if origin.hour == 0 else 0
        if self._idle >= self._day:
            learned[:] = np.nan
        experts = np.vstack([self._simple(origin), learned])
        if np.isnan(experts).all(axis=0).any():
            return None
        if self._mixture is None:
            prior = np.ones(len(experts))
            prior[0] = TRUST
            self._mixture = Mixture(prior, self._quantiles)
        mixed = np.maximum.accumulate(self._mixture.combine(experts))
        demand = np.maximum.accumulate(self._raised(mixed, origin.floor))
        if origin.hour == 0:
            demand[demand < NOTHING * origin.floor] = 0.0
        most = CUT * origin.highest
        return Said(np.minimum(demand, most), bool(demand[-1] > most), experts, mixed, logs)

    def learn(self, at: int, origin: Origin, said: Said | None, actual: float, *, is_bound: bool) -> None:
        """Take in the outcome of a forecast.

        Args:
            at: When it became known, in steps; never falls from call to call.
            origin: What the forecast went by.
            said: The forecast, `None` if there was none.
            actual: What came.
            is_bound: Whether that is only a lower bound; then it may raise a quantile and never lower one.
        """
        last, hour, seasonal, risen = _centres(origin)
        root = math.sqrt(actual)
        self._last.add(at, (root - last,), is_bound=is_bound)
        self._lately.add(at, (root - last,), is_bound=is_bound)
        self._hour.add(at, (root - hour,), is_bound=is_bound)
        if math.isfinite(seasonal):
            self._seasonal.add(at, (root - seasonal,), is_bound=is_bound)
        if math.isfinite(risen):
            self._risen.add(at, (root - risen,), is_bound=is_bound)
        if said is None:
            return
        ahead = math.log(actual + origin.floor)
        if np.isfinite(said.logs).all():
            self._missed.add(at, (ahead - math.log(origin.level) - said.logs).tolist(), is_bound=is_bound)
            self._middle.add(at, (root - _middle(said.logs, origin),), is_bound=is_bound)
        self._lacked.add(at, (ahead - np.log(said.mixed + origin.floor)).tolist(), is_bound=is_bound)
        if self._mixture is not None and not is_bound:
            self._mixture.learn(said.experts, said.mixed, actual)

    def _simple(self, origin: Origin) -> Floats:
        last, hour, seasonal, risen = _centres(origin)
        usual = np.where(self._quantiles <= DAYS_UP_TO, risen + self._risen.quantiles(), np.nan)
        said = [
            last + self._last.quantiles(),
            last + self._lately.sure_quantiles(),
            hour + self._hour.quantiles(),
            seasonal + self._seasonal.quantiles(),
            np.minimum(usual, math.sqrt(FAMILIAR * origin.highest)),
        ]
        demand: Floats = np.maximum(np.vstack(said), 0.0) ** 2
        return demand

    def _learned(self, logs: Floats, origin: Origin) -> Iterator[Floats]:
        cap = self._calibration.cap
        shifts = np.clip(_or_none(self._missed.diagonal()), -cap, cap)
        yield _demand(logs + self._calibration.share * shifts, origin.level, origin.floor)
        yield np.maximum(_middle(logs, origin) + self._middle.quantiles(), 0.0) ** 2
        for one in origin.learned:
            yield _demand(one, origin.level, origin.floor)
        for median in origin.anchored:
            yield np.where(self._is_median, _demand(median, origin.last, origin.floor), np.nan)
        if self._body is not None:
            body, excess = self._missed.tail(self._body)
            yield _demand(logs[self._body] + body + excess * self._excesses, origin.level, origin.floor)

    def _raised(self, mixed: Floats, floor: float) -> Floats:
        shifts = np.clip(_or_none(self._lacked.sure_diagonal()), 0.0, self._calibration.cap)
        shifts[self._quantiles <= MEDIAN] = 0.0
        return _demand(np.log(mixed + floor) + RAISE * self._calibration.share * shifts, 1.0, floor)


class Line:
    """The forecasts of one window as steps go by: each is learnt from when its window has closed.

    Args:
        quantiles: Rising.
        step_s: Length of a step.
        width: Steps of the window.
        calibration: As in `Blend`.
    """

    def __init__(
        self, quantiles: tuple[float, ...], step_s: int, width: int, calibration: Calibration
    ) -> None:
        self._blend = Blend(quantiles, step_s, calibration)
        self._open: deque[tuple[Origin, Said | None]] = deque()
        self._width = width
        self._at = 0

    def advance(self, origin: Origin, closed: float, *, is_bound: bool) -> Said | None:
        """Take in a step, and return what is said of the window after it; `None` if there is nothing to say.

        Args:
            origin: What a forecast from the end of the step goes by.
            closed: What came in the window that ends with the step, NaN where that is not known whole.
            is_bound: Whether that is only a lower bound.
        """
        if len(self._open) == self._width:
            opened, said = self._open.popleft()
            if math.isfinite(closed) and math.isfinite(opened.level):
                self._blend.learn(self._at, opened, said, closed, is_bound=is_bound)
        said = self._blend.forecast(origin) if math.isfinite(origin.level) else None
        self._open.append((origin, said))
        self._at += 1
        return said


class Errors:
    """Quantiles of the errors of the last steps; NaN while there are too few.

    Args:
        memory: Steps that are remembered.
        quantiles: Rising.
        columns: Numbers in an error: one, or one for each quantile.
    """

    def __init__(self, memory: int, quantiles: tuple[float, ...], columns: int = 1) -> None:
        self._recent = Recent(columns, quantiles)
        self._memory = memory
        self._needed = np.array([max(ENOUGH, BEYOND / (1 - quantile)) for quantile in quantiles]) - _ROUND_OFF
        self._nothing = np.full(len(quantiles), np.nan)

    def add(self, at: int, errors: Sequence[float], *, is_bound: bool) -> None:
        """Take in an error that became known at a step, and forget what is too old by then."""
        self._recent.add(at, errors, is_lower_bound=is_bound)
        self._recent.expire(at - self._memory)

    def quantiles(self) -> Floats:
        """Return the quantiles of a single column, from `ENOUGH` errors on."""
        return np.array(self._recent.quantiles()) if len(self._recent) >= ENOUGH else self._nothing

    def sure_quantiles(self) -> Floats:
        """Return them, each only once `BEYOND` errors lie beyond it."""
        return np.where(len(self._recent) >= self._needed, self.quantiles(), np.nan)

    def diagonal(self) -> Floats:
        """Return each quantile of its own column, from `ENOUGH` errors on."""
        return np.array(self._recent.diagonal()) if len(self._recent) >= ENOUGH else self._nothing

    def tail(self, column: int) -> tuple[float, float]:
        """Return a column at its own quantile, and by how much it is exceeded on average where it is."""
        return self._recent.tail(column) if len(self._recent) >= ENOUGH else (math.nan, math.nan)

    def sure_diagonal(self) -> Floats:
        """Return them, each only once `BEYOND` errors lie beyond it."""
        return np.where(len(self._recent) >= self._needed, self.diagonal(), np.nan)


_ROUND_OFF = 1e-9


def _centres(origin: Origin) -> tuple[float, float, float, float]:
    """Return what simple experts add errors to, by their roots: newest, hour's, seasonal and risen."""
    newest = math.sqrt(max(origin.last - origin.floor, 0.0))
    risen = max(newest + origin.rise, 0.0)  # in this order an unknown rise stays unknown
    return newest, math.sqrt(origin.hour), math.sqrt(origin.seasonal), risen


def _middle(logs: Floats, origin: Origin) -> float:
    """Return the models' average at the lowest quantile asked for (the median), on a square-root scale."""
    return math.sqrt(_demand(logs[:1], origin.level, origin.floor)[0])


def _or_none(shifts: Floats) -> Floats:
    """Return shifts, those that are not known as none (numpy's own way looks for infinities, too)."""
    return np.where(np.isnan(shifts), 0.0, shifts)


def _average(logs: Floats) -> Floats:
    """Return the log of the models' mean in demand, by quantile; NaN where there is no model."""
    is_there = np.isfinite(logs)
    total = np.where(is_there, np.exp(logs), 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.where(is_there.any(axis=0), np.log(total / is_there.sum(axis=0)), np.nan)
    return mean


def _demand(logs: Floats, anchor: float, floor: float) -> Floats:
    demand: Floats = np.maximum(np.exp(logs) * anchor - floor, 0.0)
    return demand
