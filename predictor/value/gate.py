"""Whether the forecast of one workload pays, judged anew each hour on what it said over the last days."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast, Unserved, Worth
from predictor.forecasters.base import STRIDE
from predictor.highest import trailing_highest
from predictor.ports import BUCKET_S, Bools, Floats
from predictor.steps import DAY_S
from predictor.value.breaker import COVERED_H, Breaker
from predictor.value.ledger import Ledger, Limits, foreknown, ledger
from predictor.value.rules import FACTORS, Rule, cheapest_rule, wanted
from predictor.value.worth import Value, value_of

HOUR_MIN = 3600 // BUCKET_S
DAY_MIN = DAY_S // BUCKET_S

RECENT_MIN = 7 * DAY_MIN
"""What is judged: the recent days, the newest of them most."""

HALF_LIFE_MIN = 4 * DAY_MIN
"""Age at which a block weighs half (measured: docs/adr/0015-value-gate.md)."""

BLOCK_MIN = DAY_MIN // 2
"""Half a day: blocks as long as demand hangs together, and enough of them for an interval."""

LEAST_BLOCKS = 6
"""Blocks below which nothing is judged: three days. One draw in 64 then has none of what comes once a day."""

NARROWS_MIN = LEAST_BLOCKS * BLOCK_MIN
"""For how long a window that was widened to must not be needed before a narrower one is looked across."""

LEAST_VALUE = 0.1
"""Value above which a forecast is used, if the low end of its interval is above 0, too."""

_SHARES_FOREKNOWN = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.0])
"""Of what comes, that who knows it would hold, so as to use up what may go unserved, too."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a forecast is used for, and by which limits.

    Attributes:
        lead_s: From deciding an addition to its replica being ready, as far as is known at the moment.
        quiet_s: For how long less must be wanted before capacity is given up.
        quantile: Of demand that capacity must meet, at the moment.
        unserved: Share of the work that may go unserved: what rules are tuned to.
        grain: Work that the smallest piece of capacity carries, 0 = any.
        fewest: Pieces that there always are.
    """

    lead_s: Callable[[], float]
    quiet_s: float
    quantile: Callable[[], float]
    unserved: float
    grain: float = 0.0
    fewest: int = 1

    @property
    def window(self) -> int:
        """Index of the window of the grid that is looked across, seen from the end of a bucket."""
        horizon_s = self.lead_s() + BUCKET_S
        return min(bisect_left(WINDOWS_S, horizon_s), len(WINDOWS_S) - 1)

    @property
    def limits(self) -> Limits:
        """The limits in minutes."""
        lag, quiet = math.ceil(self.lead_s() / BUCKET_S), math.ceil(self.quiet_s / BUCKET_S)
        return Limits(lag, max(1, quiet), self.grain, self.fewest)


class Gate:
    """Remembers what was said and what came, and lets a forecast pass while it pays.

    While there is too little to judge by, it passes: there was no chance yet to lose. What has no value
    that can be told does not pass.

    Args:
        terms: What the forecast is for.
        minute: Of the hour, in which it is judged: workloads take turns.
    """

    def __init__(self, terms: Terms, minute: int = 0) -> None:
        self._terms = terms
        self._minute = minute
        self.begin(0)

    def begin(self, start_s: int) -> None:
        """Forget everything; the first bucket to come starts then."""
        self._end_min = start_s // BUCKET_S
        self._work = array("f")
        self._is_bound = bytearray()
        self._said = array("f")
        self._rule: Rule | None = None
        self._worth = _too_early(0)
        self._needed_min = self._end_min
        self._narrows_min = 0
        self._look_across(self._terms.window)

    @property
    def is_due(self) -> bool:
        """Whether forecasts are to be noted after the newest bucket."""
        return bool(self._work) and self._end_min % STRIDE == 0

    @property
    def is_to_judge(self) -> bool:
        """Whether it is time to judge."""
        return self._end_min % HOUR_MIN == self._minute

    def append(self, work: float, *, is_censored: bool) -> None:
        """Take in the next closed bucket (NaN = unknown).

        Where another window is looked across from now on, as lead times are learnt, what was said before is
        forgotten: it was of something else. A lead time that wavers between two windows is taken for the
        longer: else there would never be enough to judge by.
        """
        needed = self._terms.window
        if needed >= self.window:
            self._needed_min = self._end_min
        if needed > self.window:
            self._narrows_min = NARROWS_MIN
            self._look_across(needed)
        elif self._end_min - self._needed_min > self._narrows_min:
            self._look_across(needed)
        if self._work or self._end_min % STRIDE == 0:
            self._work.append(work)
            self._is_bound.append(is_censored)
        self._end_min += 1

    def _look_across(self, window: int) -> None:
        self.window = window
        self._said = array("f", [math.nan]) * len(self._said)
        width = WINDOWS_S[window] // BUCKET_S
        self._breaker = Breaker(HOUR_MIN // STRIDE, max(1, width // STRIDE))

    def note(self, forecast: Sequence[float] | None, residual: Sequence[float] | None) -> None:
        """Take in, whenever `is_due`, what the ladder and its residual rung say of the window by quantile.

        `None` is not judged.
        """
        for said in (forecast, residual):
            self._said.extend(said if said is not None else _NOTHING)
        surplus = len(self._work) - RECENT_MIN - DAY_MIN
        if surplus >= DAY_MIN:
            del self._work[:surplus], self._is_bound[:surplus], self._said[: surplus // STRIDE * _COLUMNS]

    def remember(self, said: Sequence[tuple[int, Sequence[float]]]) -> None:
        """Put what a rung would have said in the place of what was: after a restart that was a lower rung's.

        Args:
            said: Moments, seconds since the epoch, and what was said then by quantile, all out of sample.
        """
        begins = self._end_min - len(self._work)
        for at_s, row in said:
            place = ((at_s // BUCKET_S - begins) // STRIDE - 1) * _COLUMNS
            if 0 <= place < len(self._said):
                self._said[place : place + len(row)] = array("f", row)

    def judge(self) -> None:
        """Judge what was said over the recent days."""
        recent = self._recent()
        if isinstance(recent, int):
            self._worth = _too_early(recent)
            return
        tried, said, known, weights = recent
        notch = QUANTILES.index(self._terms.quantile())
        self._rule = cheapest_rule(tried, weights, self._terms.unserved, self._rule)
        self._worth = _worth(value_of(tried, said.of_setting(notch), known, weights), self._rule)
        days = round(len(weights) * BLOCK_MIN / DAY_MIN)
        unserved = Unserved(tuple(said.lacked.sum(axis=1).tolist()), float(said.asked.sum()), days)
        self._worth = replace(self._worth, unserved=unserved)
        tripped = self._breaker.trip(self._terms.quantile(), *self._lately())
        if tripped and self._worth.is_used:
            because = f"no forecast: {tripped}; {self._rule} decides"
            self._worth = replace(self._worth, is_used=False, because=because)

    def passed(self, said: PeakForecast, residual: Callable[[], PeakForecast]) -> PeakForecast:
        """Return the forecast, or what the rule says in its place, with what it is worth.

        Args:
            said: By the ladder.
            residual: By its residual rung, where that is needed.
        """
        if self._worth.is_used or self._rule is None:
            return replace(said, worth=self._worth)
        rule = self._rule
        if rule.held_min is None:
            peaks = {of: rule.factor * work for of, work in residual().peaks.items()}
        else:
            held = rule.factor * float(_filled(np.array(self._work[-DAY_MIN:]))[-rule.held_min :].max())
            peaks = dict.fromkeys(said.peaks, held)
        return replace(said, rung="rule", worth=self._worth, peaks=peaks)

    def _lately(self) -> tuple[Floats, Floats, Floats]:
        """Return what came in the windows that closed in the last hours, and what was said of them, twice."""
        width = WINDOWS_S[self.window] // BUCKET_S
        notch = QUANTILES.index(self._terms.quantile())
        origins = COVERED_H * HOUR_MIN // STRIDE
        last = (len(self._work) - width) // STRIDE
        first = max(0, last - origins)
        said = np.array(self._said[first * _COLUMNS : last * _COLUMNS], np.float64).reshape(-1, _COLUMNS)
        work = np.array(self._work[(first + 1) * STRIDE :], np.float64)
        bound = np.array(self._is_bound[(first + 1) * STRIDE :], np.bool_)
        windows = np.lib.stride_tricks.sliding_window_view(np.where(bound, np.nan, work), width)
        came: Floats = windows[::STRIDE].max(axis=1)[: len(said)]
        return came, said[: len(came), notch], said[: len(came), len(QUANTILES) + notch]

    def _recent(self) -> tuple[Ledger, Ledger, Ledger, Floats] | int:
        """Return what rules, forecasts by notch and an oracle came to, and weights of the blocks.

        With too little it is how many blocks there are. Minutes that are unknown or were cut short, or of
        which nothing was said, and those that an order from such a minute is ready in, are not scored.
        """
        terms, limits = self._terms, self._terms.limits
        said = np.frombuffer(self._said, np.float32).reshape(-1, _COLUMNS).astype(np.float64)
        work = np.frombuffer(self._work, np.float32).astype(np.float64)[: len(said) * STRIDE]
        blocks = min(RECENT_MIN, len(work)) // BLOCK_MIN
        if not blocks:
            return 0
        scored = slice(len(work) - blocks * BLOCK_MIN, len(work))
        filled = _filled(work)
        notch, notches = QUANTILES.index(terms.quantile()), len(QUANTILES)
        stands = np.vstack([np.full((STRIDE - 1, _COLUMNS), np.nan), np.repeat(said, STRIDE, axis=0)])
        stands = stands[: len(work)].T
        forecasts, residual = np.fmax(stands[:notches], filled), np.fmax(stands[notches + notch], filled)
        is_bad = ~np.isfinite(work) | (np.frombuffer(self._is_bound, np.uint8)[: len(work)] > 0)
        is_bad |= ~np.isfinite(stands[notch])
        counts: Bools = ~trailing_highest(is_bad, limits.lag + 2)[scored]
        counts[: limits.lag + limits.quiet] = False  # what was ordered before is not known there
        demand = filled[scored]
        is_asked = (counts * demand).reshape(blocks, BLOCK_MIN).sum(axis=1) > 0
        if is_asked.sum() < LEAST_BLOCKS:
            return int(is_asked.sum())

        def came_to(targets: Floats, factors: Floats) -> Ledger:
            return ledger(targets, factors, demand, counts, limits, BLOCK_MIN)

        tried = came_to(wanted(filled, residual)[:, scored], FACTORS)
        said_came_to = came_to(forecasts[:, scored], np.ones(1))
        known = came_to(foreknown(demand, limits), _SHARES_FOREKNOWN)
        age_min = np.arange(blocks)[::-1] * BLOCK_MIN
        weights = (0.5 ** (age_min / HALF_LIFE_MIN))[is_asked]
        return tried.of_blocks(is_asked), said_came_to.of_blocks(is_asked), known.of_blocks(is_asked), weights


_NOTHING = (math.nan,) * len(QUANTILES)
_COLUMNS = 2 * len(QUANTILES)


def _filled(work: Floats) -> Floats:
    """Return work with the last known carried on into gaps, 0 before any."""
    newest = np.maximum.accumulate(np.where(np.isfinite(work), np.arange(len(work)), 0))
    filled: Floats = np.nan_to_num(work[newest])
    return filled


def _too_early(blocks: int) -> Worth:
    known, least = (some * BLOCK_MIN / DAY_MIN for some in (blocks, LEAST_BLOCKS))
    since = f"{known:g} of {least:g} days since a daily pattern or the lead time may be known"
    return Worth(is_used=True, because=f"too early to judge forecasts: {since}")


def _worth(value: Value, rule: Rule) -> Worth:
    """Return what a value means for the user."""
    over = f"over the last {value.blocks * BLOCK_MIN / DAY_MIN:g} days"
    if value.value is None or value.low is None or value.high is None:
        why = (
            f"no rule leaves as little unserved as forecasts did ({value.unserved:.2%}): worth unknown"
            if value.prize is None
            else f"who knew what comes would save {1 - 1 / value.prize:.0%}: there is nothing to win"
        )
        return Worth(is_used=False, because=f"no forecast: {over} {why}; {rule} decides")
    measured = f"(value {value.value:.2f}, {value.low:.2f} to {value.high:.2f})"
    is_used = value.value > LEAST_VALUE and value.low > 0
    because = (
        f"the forecast held {value.saved:.0%} less than the best rule {over} {measured}"
        if is_used
        else f"no forecast: {over} forecasts saved nothing for sure against the best rule {measured}; "
        f"{rule} decides"
    )
    return Worth(is_used, because, value.value, value.low, value.high)
