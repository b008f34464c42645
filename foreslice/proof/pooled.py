"""What policies come to with a standby pool beside them: baselines are lower, and the pool insures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from allocator.pool import slices_for
from fleet.errors import InputError
from foreslice.proof.books import in_replicas
from foreslice.proof.chosen import aim_that_kept, cheapest_surely
from foreslice.proof.course import Course, Grid
from foreslice.proof.groups import Groups, groups_by_day
from foreslice.proof.scene import Piece
from foreslice.proof.setting import Rule, Setting
from predictor.highest import trailing_highest
from predictor.ports import Bools, Floats
from predictor.steps import DAY_S
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
        beds: What a slice carries of each workload, and takes, `None` = as replicas, which are alike then.
        most: Slices at most, `None` = as many as are needed; where groups want more, each gets its part.
    """

    sleepers: int | None
    wake_s: float
    beds: Sequence[Piece] | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Pooled:
    """What one policy with a pool came to on the scored part.

    Attributes:
        baselines: Settings that were used, a day each.
        ledger: What was held (cards x steps, pool included) and lacked, by block.
        slices: Slices of the pool, by scored step.
        slice_cards: Cards that one takes.
        groups: Who sleep together, by place among the workloads.
        needed: Slices that workloads needed, by scored step and workload.
        gets: Slices that they got, likewise.
        step_s: Length of a step, seconds.
    """

    baselines: tuple[Setting, ...]
    ledger: Ledger
    slices: Counts
    slice_cards: float
    groups: Groups
    needed: Counts
    gets: Counts
    step_s: int

    @property
    def unserved(self) -> float:
        """Share of the work that was left."""
        return float(self.ledger.lacked.sum() / self.ledger.asked.sum())

    @property
    def cards(self) -> float:
        """Cards that the pool took on average."""
        return float(self.slices.mean() * self.slice_cards)

    @property
    def short(self) -> float:
        """Share of the steps in which more was needed than there was."""
        return float(np.any(self.needed > self.gets, axis=1).mean())

    @property
    def wakes_per_day(self) -> Floats:
        """Slices woken on a day, by workload."""
        per_day: Floats = woken(self.gets).sum(axis=0) * DAY_S / (len(self.gets) * self.step_s)
        return per_day


@dataclass(frozen=True, slots=True)
class _Fleet:
    """Workloads on a grid: `piece`, `cards` of a replica, `carries` of a slice; `groups` by day."""

    courses: Sequence[Course]
    grid: Grid
    demand: Floats
    counts: Bools
    piece: Floats
    cards: Floats
    carries: Floats
    slice_cards: float
    groups: tuple[Groups, ...]
    share_late: float
    most: int | None

    @property
    def day(self) -> int:
        """Steps in a day."""
        return self.grid.by_day * self.grid.block

    def days(self) -> Iterator[tuple[slice, Groups]]:
        """Yield the steps of each day and who sleep together on it."""
        for number, groups in enumerate(self.groups):
            yield slice(number * self.day, (number + 1) * self.day), groups


def pooled(
    courses: Sequence[Course],
    grid: Grid,
    baselines: Sequence[Setting],
    terms: Terms,
    allowed: Sequence[float],
) -> list[Pooled]:
    """Return what baselines with a pool come to, chosen anew each midnight on the days before.

    Args:
        courses: Workloads.
        grid: Time.
        baselines: Settings that may be chosen.
        terms: How the pool works.
        allowed: Shares of the work that may go unserved, each with a result of its own.

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
            gets = _gets(fleet, excess, slices)
            tried[setting, quantile] = _ledger(fleet, held, excess, slices, gets)
    knobs, every = list(tried), Ledger.joined(tried.values())
    first, last = grid.first_block, len(every.asked)
    starts = list(range(first, last, grid.by_day))
    past = [every.of_blocks(np.arange(last) < block) for block in starts]
    return [
        _played(
            fleet,
            starts,
            [knobs[cheapest_surely(one, aim_that_kept(one, unserved, grid.by_day))] for one in past],
        )
        for unserved in allowed
    ]


def _fleet(courses: Sequence[Course], grid: Grid, baselines: Sequence[Setting], terms: Terms) -> _Fleet:
    pieces = [course.part.piece for course in courses]
    beds = terms.beds or pieces
    if terms.beds is None and len({(one.work, one.cards) for one in pieces}) != 1:
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
    demand, counts = (np.stack([getattr(c, n) for c in courses], axis=1) for n in ("demand", "counts"))
    fleet = _Fleet(
        courses=courses,
        grid=grid,
        demand=demand,
        counts=counts,
        piece=np.array([one.work for one in pieces]),
        cards=np.array([one.cards for one in pieces]),
        carries=np.array([one.work for one in beds]),
        slice_cards=beds[0].cards,
        groups=(),
        share_late=terms.wake_s / grid.step_s,
        most=terms.most,
    )
    targets = _targets(fleet, baselines[len(baselines) // 2])
    middle = _excess(fleet, in_replicas(targets, grid.limits, fleet.piece))
    sleepers = terms.sleepers or len(courses)
    return replace(fleet, groups=groups_by_day(middle.needed, fleet.day, grid.test, sleepers))


def _targets(fleet: _Fleet, setting: Setting) -> Floats:
    """Return the work that a baseline wants capacity for, by step and workload."""
    grid = fleet.grid
    return np.stack([setting.target(course, grid, grid.limits) for course in fleet.courses], axis=1)


def excess_of(demand: Floats, counts: Bools, ready: Floats, carries: Floats) -> Excess:
    """Return what finds nothing ready, while it counts.

    Args:
        demand: Work by step and workload.
        counts: Whether that counts, likewise.
        ready: Work that is carried by what is ready, likewise.
        carries: Work that a slice carries, by workload.
    """
    return Excess.of(np.where(counts, np.maximum(demand - ready, 0.0), 0.0), carries)


def ready_of(held: Counts, lag: int, piece: Floats) -> Floats:
    """Return the work that replicas carry which were held all the time since `lag` steps ago."""
    ready: Floats = -trailing_highest(-held, lag + 1, axis=0) * piece
    return ready


def _excess(fleet: _Fleet, held: Counts) -> Excess:
    ready = ready_of(held, fleet.grid.limits.lag, fleet.piece)
    return excess_of(fleet.demand, fleet.counts, ready, fleet.carries)


def _slices(fleet: _Fleet, needed: Counts, quantile: float) -> Counts:
    """Return the slices of each group's pool by step: sized at each midnight by what was needed before.

    The first day has no day before and goes by the day after, so that none is judged by a pool of its own.
    """
    day = fleet.day
    slices = np.zeros((len(needed), len(fleet.groups[0])), dtype=np.int64)
    for span, groups in fleet.days():
        start = span.start
        past = needed[max(0, start - LOOKS_BACK_DAYS * day) : start] if start else needed[day : 2 * day]
        for place, group in enumerate(groups):
            slices[span, place] = slices_for(past[:, group], quantile)
    return slices if fleet.most is None else _at_most(fleet.most, slices)


def _at_most(most: int, slices: Counts) -> Counts:
    """Return what groups get of so many slices, by step: in proportion, the largest remainders first."""
    total = slices.sum(axis=1, keepdims=True)
    shares, rest = np.divmod(slices * most, np.maximum(total, 1))
    rank = np.argsort(np.argsort(-rest, axis=1, kind="stable"), axis=1)
    left = most - shares.sum(axis=1, keepdims=True)
    return np.where(total > most, shares + (rank < left), slices)


def _sized(fleet: _Fleet, target: Floats, quantile: float) -> Counts:
    """Return the slices beside a baseline, by what was lacked beside *it*, whatever was used until then."""
    held = in_replicas(target, fleet.grid.limits, fleet.piece)
    return _slices(fleet, _excess(fleet, held).needed, quantile)


def _gets(fleet: _Fleet, excess: Excess, slices: Counts) -> Counts:
    """Return the slices that each workload gets of its group's, by step."""
    gets = np.zeros_like(excess.full)
    for span, groups in fleet.days():
        for place, group in enumerate(groups):
            gets[span, group] = dealt(excess.among(group, span), slices[span, place])
    return gets


def _ledger(fleet: _Fleet, held: Counts, excess: Excess, slices: Counts, gets: Counts) -> Ledger:
    grid = fleet.grid
    starts = np.arange(0, grid.steps, grid.block)
    by_pool = served(excess, gets, fleet.share_late)
    lacked = np.maximum(excess.full + excess.part - by_pool, 0.0) * fleet.carries
    # The pool is paid all the time, also while some of its workloads do not count.
    used = (held * fleet.counts) @ fleet.cards + slices.sum(axis=1) * fleet.slice_cards
    asked = np.where(fleet.counts, fleet.demand, 0.0).sum(axis=1)
    return Ledger(
        np.add.reduceat(used, starts)[np.newaxis],
        np.add.reduceat(lacked.sum(axis=1), starts)[np.newaxis],
        np.add.reduceat(asked, starts),
    )


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
    sized = {one: _sized(fleet, targets[one[0]], one[1]) for one in chosen}
    slices = np.concatenate([sized[one][span] for one, span in zip(chosen, spans, strict=True)])
    gets = _gets(fleet, excess, slices)
    scored = slice(grid.test, None)
    every = _ledger(fleet, held, excess, slices, gets)
    return Pooled(
        baselines=tuple(setting for setting, _ in chosen),
        ledger=every.of_blocks(np.arange(len(every.asked)) >= grid.first_block),
        slices=slices[scored].sum(axis=1),
        slice_cards=fleet.slice_cards,
        groups=fleet.groups[-1],
        needed=excess.needed[scored],
        gets=gets[scored],
        step_s=grid.step_s,
    )


def _spans(grid: Grid, starts: Sequence[int]) -> Iterator[slice]:
    """Yield the steps of each choice; the first begins with the account."""
    edges = [0, *(block * grid.block for block in starts[1:]), grid.steps]
    return (slice(start, end) for start, end in pairwise(edges))
