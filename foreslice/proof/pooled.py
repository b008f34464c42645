"""What policies come to with a standby pool beside them: baselines are lower, and the pool insures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from allocator.pool import hosts, slices_for
from fleet.errors import InputError
from foreslice.proof.books import in_replicas
from foreslice.proof.chosen import aim_that_kept, cheapest_surely
from foreslice.proof.course import Course, Grid
from foreslice.proof.placed import Placing, placing
from foreslice.proof.setting import Rule, Setting
from predictor.highest import trailing_highest
from predictor.ports import Bools, Floats
from predictor.value.ledger import Ledger
from simulator.coarse import Counts
from simulator.pool import Excess, dealt, served, woken

QUANTILES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
"""Of the fleet's summed need: how often a pool was enough on the days before."""

LOOKS_BACK_DAYS = 5
"""Days by which a pool is sized anew each midnight."""

BASELINES: dict[str, tuple[Setting, ...]] = {
    "rule": tuple(
        Setting(Rule.HOLD, minutes, factor)
        for minutes in (1, 10)
        for factor in np.linspace(0.6, 1.2, 13).tolist()
    ),
    "static": tuple(Setting(Rule.STATIC, quantile) for quantile in (0.2, 0.4, 0.6, 0.75, 0.9, 0.97, 0.995)),
    "forecast": tuple(
        Setting(Rule.FORECAST, quantile, margin)
        for quantile in (0.5, 0.8)
        for margin in np.linspace(0.6, 1.2, 13).tolist()
    ),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """How a pool works.

    Attributes:
        sleepers: Engines that may sleep on a slice, `None` = any.
        wake_s: Until a woken engine serves.
        unserved: Share of the work that may go unserved.
    """

    sleepers: int | None
    wake_s: float
    unserved: float


@dataclass(frozen=True, slots=True)
class Pooled:
    """What one policy with a pool came to on the scored part.

    Attributes:
        baselines: Settings that were used, a day each.
        ledger: What was held (cards x steps, pool included) and lacked, by block.
        slices: Slices of the pool, by scored step.
        cards: Cards that the pool took on average.
        short: Share of the steps in which more was needed than there was.
        wakes_per_day: Slices woken, for each workload and day.
    """

    baselines: tuple[Setting, ...]
    ledger: Ledger
    slices: Counts
    cards: float
    short: float
    wakes_per_day: float


def placing_of(
    courses: Sequence[Course], grid: Grid, came: Pooled, terms: Terms, ahead: Sequence[Floats]
) -> Placing | None:
    """Return what dealing beds by a forecast is worth to a pool, `None` where all sleep on all.

    Args:
        courses: Workloads.
        grid: Time.
        came: The pool; its baseline is the last that was chosen, and its size the mean.
        terms: How it works.
        ahead: Forecast peaks of the next hours, by workload and step.
    """
    if terms.sleepers is None:
        return None
    setting = came.baselines[-1]
    fleet = _fleet(courses, grid, [setting], replace(terms, sleepers=None))
    held = in_replicas(_targets(fleet, setting), grid.limits, fleet.piece)
    ready = held * fleet.piece
    over = np.maximum(np.stack(ahead, axis=1) - ready, 0.0) / fleet.piece
    bounds = max(1, round(float(came.slices.mean()))), terms.sleepers
    return placing(_excess(fleet, held), over, grid, bounds, fleet.share_late)


@dataclass(frozen=True, slots=True)
class _Fleet:
    """Workloads on a grid, whose slices are alike."""

    courses: Sequence[Course]
    grid: Grid
    demand: Floats
    counts: Bools
    piece: float
    cards: float
    groups: tuple[tuple[int, ...], ...]
    share_late: float


def pooled(courses: Sequence[Course], grid: Grid, baselines: Sequence[Setting], terms: Terms) -> Pooled:
    """Return what baselines with a pool come to, chosen anew each midnight on the days before.

    Raises:
        InputError: The workloads do not run on one shape, of which a pool could be made.
    """
    fleet = _fleet(courses, grid, baselines, terms)
    tried = {}
    for setting in baselines:
        held = in_replicas(_targets(fleet, setting), grid.limits, fleet.piece)
        excess = _excess(fleet, held)
        for quantile in QUANTILES:
            slices = _slices(fleet, excess.needed, quantile)
            tried[setting, quantile] = _ledger(fleet, held, excess, slices)
    knobs, every = list(tried), Ledger.joined(tried.values())
    first, last = grid.first_block, len(every.asked)
    starts = list(range(first, last, grid.by_day))
    past = [every.of_blocks(np.arange(last) < block) for block in starts]
    chosen = [
        knobs[cheapest_surely(before, aim_that_kept(before, terms.unserved, grid.by_day))] for before in past
    ]
    return _played(fleet, starts, chosen)


def _fleet(courses: Sequence[Course], grid: Grid, baselines: Sequence[Setting], terms: Terms) -> _Fleet:
    pieces = {(course.part.piece.work, course.part.piece.cards) for course in courses}
    if len(pieces) != 1:
        raise InputError(
            "workloads run on several shapes, and a pool is of one",
            where="the fleet file",
            fix="leave `workloads` out, so that all run on sevenths of a card",
        )
    if terms.wake_s > grid.step_s:
        raise InputError(
            f"a wake of {terms.wake_s:g} s is longer than a step of the account, {grid.step_s} s",
            where="--wake",
            fix="give lags of whole minutes, or a shorter wake",
        )
    ((piece, cards),) = pieces
    demand, counts = (np.stack([getattr(c, n) for c in courses], axis=1) for n in ("demand", "counts"))
    everyone = (tuple(range(len(courses))),)
    fleet = _Fleet(courses, grid, demand, counts, piece, cards, everyone, terms.wake_s / grid.step_s)
    if terms.sleepers is None:
        return fleet
    targets = _targets(fleet, baselines[len(baselines) // 2])
    middle = _excess(fleet, in_replicas(targets, grid.limits, fleet.piece))
    return replace(fleet, groups=hosts(middle.needed[: grid.test], terms.sleepers))


def _targets(fleet: _Fleet, setting: Setting) -> Floats:
    """Return the work that a baseline wants capacity for, by step and workload."""
    grid = fleet.grid
    return np.stack([setting.target(course, grid, grid.limits) for course in fleet.courses], axis=1)


def _excess(fleet: _Fleet, held: Counts) -> Excess:
    """Return what finds nothing ready, while it counts."""
    lag = fleet.grid.limits.lag
    ready = -trailing_highest(-held, lag + 1, axis=0)
    lacked = np.where(fleet.counts, np.maximum(fleet.demand - ready * fleet.piece, 0.0), 0.0)
    return Excess.of(lacked, fleet.piece)


def _slices(fleet: _Fleet, needed: Counts, quantile: float) -> Counts:
    """Return the slices of each group's pool by step: sized at each midnight by what was needed before."""
    day = fleet.grid.by_day * fleet.grid.block
    slices = np.zeros((len(needed), len(fleet.groups)), dtype=np.int64)
    for start in range(day, len(needed), day):
        past = needed[max(0, start - LOOKS_BACK_DAYS * day) : start]
        for place, group in enumerate(fleet.groups):
            slices[start : start + day, place] = slices_for(past[:, group], quantile)
    slices[:day] = slices[day] if len(needed) > day else 0
    return slices


def _ledger(fleet: _Fleet, held: Counts, excess: Excess, slices: Counts) -> Ledger:
    grid = fleet.grid
    starts = np.arange(0, grid.steps, grid.block)
    by_pool = _served(fleet, excess, slices)
    lacked = np.maximum(excess.full + excess.part - by_pool, 0.0) * fleet.piece
    # The pool is paid all the time, also while some of its workloads do not count.
    used = (held * fleet.counts).sum(axis=1) * fleet.cards + slices.sum(axis=1) * fleet.cards
    asked = np.where(fleet.counts, fleet.demand, 0.0).sum(axis=1)
    return Ledger(
        np.add.reduceat(used, starts)[np.newaxis],
        np.add.reduceat(lacked.sum(axis=1), starts)[np.newaxis],
        np.add.reduceat(asked, starts),
    )


def _served(fleet: _Fleet, excess: Excess, slices: Counts) -> Floats:
    by_pool = np.zeros(excess.part.shape)
    for place, group in enumerate(fleet.groups):
        by_pool[:, group] = served(excess.among(group), slices[:, place], fleet.share_late)
    return by_pool


def _played(fleet: _Fleet, starts: Sequence[int], chosen: Sequence[tuple[Setting, float]]) -> Pooled:
    """Return what it comes to to follow choices, each from its block on; the first holds before, too."""
    grid = fleet.grid
    spans = list(_spans(grid, starts))
    targets = {setting: _targets(fleet, setting) for setting, _ in chosen}
    target = np.concatenate(
        [targets[setting][span] for (setting, _), span in zip(chosen, spans, strict=True)]
    )
    held = in_replicas(target, grid.limits, fleet.piece)
    excess = _excess(fleet, held)
    sized = {quantile: _slices(fleet, excess.needed, quantile) for _, quantile in chosen}
    slices = np.concatenate(
        [sized[quantile][span] for (_, quantile), span in zip(chosen, spans, strict=True)]
    )
    gets = np.zeros_like(excess.full)
    for place, group in enumerate(fleet.groups):
        gets[:, group] = dealt(excess.among(group), slices[:, place])
    scored = slice(grid.test, None)
    days = (grid.steps - grid.test) * grid.step_s / 86_400
    short = np.any(excess.needed > gets, axis=1)[scored]
    every = _ledger(fleet, held, excess, slices)
    return Pooled(
        baselines=tuple(setting for setting, _ in chosen),
        ledger=every.of_blocks(np.arange(len(every.asked)) >= grid.first_block),
        slices=slices[scored].sum(axis=1),
        cards=float(slices[scored].sum(axis=1).mean() * fleet.cards),
        short=float(short.mean()),
        wakes_per_day=float(woken(gets)[scored].sum() / days / len(fleet.courses)),
    )


def _spans(grid: Grid, starts: Sequence[int]) -> Iterator[slice]:
    """Yield the steps of each choice; the first begins with the account."""
    edges = [0, *(block * grid.block for block in starts[1:]), grid.steps]
    return (slice(start, end) for start, end in pairwise(edges))
