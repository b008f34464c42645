"""All policies on a scene at one lag, each rival at the setting that is best for it in hindsight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from foreslice.proof import books, mean
from foreslice.proof.books import Book
from foreslice.proof.chosen import Choice, choose
from foreslice.proof.course import Course, Grid, courses_of, grid_of, learned
from foreslice.proof.scene import Scene
from foreslice.proof.setting import DAILY, FORECASTS, FORESIGHT, HOLDS, RESIDUALS, Setting
from predictor.ports import Floats
from predictor.value.ledger import Limits
from predictor.value.worth import Value, cheapest, value_of
from simulator.coarse import Policy, drive
from simulator.rivals.dynamo import Dynamo
from simulator.rivals.fraction import Fraction
from simulator.rivals.horizontal import Horizontal
from simulator.rivals.percentile import Percentile
from simulator.rivals.saturation import Saturation
from simulator.rivals.static import STATIC_QUANTILE

OURS, FIXED, OFF, ORACLE, BOUND = "foreslice", "foreslice-fixed", "off", "oracle", "bound"
STATIC_GPU, STATIC_MIG = "static-gpu", "static-mig"
STATIC_GPU_TRAINED, STATIC_MIG_TRAINED = "static-gpu-trained", "static-mig-trained"

LEAST_ATTAINMENT = 0.989
"""Of the fleet; below it no figure is printed but the miss."""

WORST_LOSS = 0.02
"""By how much a workload may be worse than with its static capacity."""

_SIZED = np.append(np.linspace(0.5, 0.99, 50), (0.992, 0.994, 0.996, 0.998, 0.999, 0.9995, 1.0))


@dataclass(frozen=True, slots=True)
class Run:
    """What a replay at one lag came to.

    Attributes:
        grid: Its time.
        courses: Its workloads.
        books: By policy, its settings on the scored blocks; of ours one, as it was chosen.
        value: V of ours, by policy (`OURS`, `FIXED`).
        choices: What ours used when; the one of `FIXED` is the first.
        reading: How demand moves inside a step.
        is_informative: Whether the lag is as long as a step of the data, at least.
    """

    grid: Grid
    courses: Sequence[Course]
    books: Mapping[str, Book]
    value: Mapping[str, Value]
    choices: Sequence[Choice]
    reading: str
    is_informative: bool

    @property
    def unserved(self) -> float:
        """Share of the work that ours left."""
        return self.value[OURS].unserved

    def hours(self, policy: str, unserved: float | None = None) -> float | None:
        """Return card-hours at a share of unserved work, read off the curve; `None` = never.

        Without one it is the share that ours left. A policy of one setting has its own share only.
        """
        left = self.unserved if unserved is None else unserved
        total = self.books[policy].total
        ones = np.ones((len(total.asked), 1))
        if len(total.held) == 1:
            held = float(total.held.sum())
        else:
            held = float(cheapest(total, np.array([left]), ones)[0])
        return held * self.grid.step_s / 3600 if np.isfinite(held) else None

    def at(self, policy: str) -> Book:
        """Return the cheapest setting at what ours left unserved, else the one that left least."""
        book = self.books[policy]
        total = book.total
        unserved, held = total.lacked.sum(axis=1) / total.asked.sum(), total.held.sum(axis=1)
        keeps = unserved <= self.unserved + _TINY
        return book.only(
            int(np.argmin(np.where(keeps, held, np.inf))) if keeps.any() else int(np.argmin(unserved))
        )

    def unserved_at(self, policy: str) -> float | None:
        """Return the share that settings leave at the card-hours of ours; `None` = they never take so few."""
        ours = float(self.books[OURS].total.held.sum()) * self.grid.step_s / 3600
        shares, hours = self.curve(policy)
        if ours < hours[-1] - _TINY:
            return None
        return float(np.interp(ours, hours[::-1], shares[::-1]))

    def curve(self, policy: str) -> tuple[Floats, Floats]:
        """Return the shares that settings leave, rising, and their card-hours: where no other is better.

        Between two of them it is the line, as in `hours`.
        """
        total = self.books[policy].total
        shares = total.lacked.sum(axis=1) / total.asked.sum()
        hours = total.held.sum(axis=1) * self.grid.step_s / 3600
        order = np.lexsort((hours, shares))
        least = np.minimum.accumulate(hours[order])
        is_best = np.append(True, least[1:] < least[:-1])
        return shares[order][is_best], least[is_best]

    def misses(self, policy: str) -> str:
        """Return why no figure of a policy counts, empty = it does."""
        book = self.at(policy)
        attained = 1.0 - unserved(book)
        if attained < LEAST_ATTAINMENT:
            return f"attains {attained:.2%} of the fleet's work at best"
        own, still = (1.0 - unserved_by_part(one) for one in (book, self.books[STATIC_MIG_TRAINED]))
        worst = int(np.argmin(own - still))
        if own[worst] < still[worst] - WORST_LOSS:
            return f"{self.courses[worst].part.name} attains {own[worst]:.1%}, static {still[worst]:.1%}"
        return ""


_TINY = 1e-12


def unserved(book: Book) -> float:
    """Return the share of the fleet's work that a single setting left."""
    total = book.total
    return float(total.lacked.sum() / total.asked.sum())


def unserved_by_part(book: Book) -> Floats:
    """Return the share of its work that a single setting left of each workload."""
    return np.array([part.lacked.sum() / max(part.asked.sum(), _TINY) for part in book.parts])


@dataclass(frozen=True, slots=True)
class Asked:
    """What is replayed, and how.

    Attributes:
        lag_s: From an order to a replica that serves.
        quiet_s: A need must have been lower for so long.
        unserved: Share of the work that may go unserved.
        rivals: Which of `RIVALS` take part.
        has_forecast: Whether there is a forecast, else rules alone are chosen from.
    """

    lag_s: float
    quiet_s: float
    unserved: float
    rivals: Sequence[str] = field(default_factory=lambda: tuple(RIVALS))
    has_forecast: bool = True


def run(scene: Scene, asked: Asked, on_progress: Callable[[str, float], None] = lambda _, __: None) -> Run:
    """Return what a replay at one lag comes to."""
    grid = grid_of(scene, asked.lag_s, asked.quiet_s)
    courses = courses_of(scene, grid, learned(lambda done: on_progress("forecasts", 0.6 * done)))
    on_progress("policies", 0.6)
    return play(courses, grid, asked, scene.reading, is_informative=asked.lag_s >= scene.step_s)


def play(courses: Sequence[Course], grid: Grid, asked: Asked, reading: str, *, is_informative: bool) -> Run:
    """Return what policies come to on workloads whose forecasts are there."""
    rules = rules_of(courses, grid)
    ahead = [books.book(courses, grid, FORECASTS)] if asked.has_forecast else []
    tried = Book.joined([*ahead, rules])
    first, last = grid.first_block, len(rules.parts[0].asked)
    choices = [choose(tried, asked.unserved, block) for block in range(first, last, grid.by_day)]
    found = {
        OURS: following(courses, grid, choices),
        FIXED: following(courses, grid, choices[:1]),
        OFF: with_averages(rules, courses, grid, asked.unserved),
        ORACLE: books.book(courses, grid, FORESIGHT),
        BOUND: books.book(courses, grid, FORESIGHT, Limits(0, 1)),
        **_statics(courses, grid),
    }
    found |= {name: _swept(RIVALS[name], courses, grid) for name in asked.rivals}
    scored = slice(first, None)
    kept = {name: one.blocks(scored) for name, one in found.items()}
    return Run(
        grid=grid,
        courses=courses,
        books=kept,
        value={
            name: value_of(kept[OFF].total, kept[name].total, kept[ORACLE].total) for name in (OURS, FIXED)
        },
        choices=choices,
        reading=reading,
        is_informative=is_informative,
    )


def rules_of(courses: Sequence[Course], grid: Grid) -> Book:
    """Return what single rules without a forecast come to."""
    return Book.joined([books.book(courses, grid, HOLDS), books.residuals(courses, grid, RESIDUALS)])


def with_averages(rules: Book, courses: Sequence[Course], grid: Grid, allowed: float) -> Book:
    """Return rules, and averages of those that were near the cheapest on the scored days.

    Ours may average, so the best rule may, too: which it averages, and how much of it, is known in hindsight.
    """
    averages = mean.in_hindsight(rules.blocks(slice(grid.first_block, None)), allowed)
    return Book.joined([rules, mean.book(averages, courses, grid)]) if averages else rules


def following(courses: Sequence[Course], grid: Grid, choices: Sequence[Choice]) -> Book:
    """Return what it comes to to follow choices, each from its block on; the first holds before, too."""
    parts = []
    for course in courses:
        target = followed(course, grid, choices)
        parts.append(books.in_cards(course, grid, target[np.newaxis], np.ones(1), grid.limits))
    return Book(("as chosen",), tuple(parts))


def followed(course: Course, grid: Grid, choices: Sequence[Choice]) -> Floats:
    """Return the targets of one workload under choices."""
    wanted = mean.wanted_on(course, grid)
    target = np.empty(grid.steps)
    starts = [0, *(choice.block * grid.block for choice in choices[1:]), grid.steps]
    for choice, start, end in zip(choices, starts, starts[1:], strict=False):
        target[start:end] = wanted(choice.setting)[start:end]
    return target


def _swept(rival: Sequence[Setting] | Looking, courses: Sequence[Course], grid: Grid) -> Book:
    return rival.book(courses, grid) if isinstance(rival, Looking) else books.book(courses, grid, rival)


def _statics(courses: Sequence[Course], grid: Grid) -> Mapping[str, Book]:
    before, during = slice(0, grid.test), slice(grid.test, None)
    past = np.array([STATIC_QUANTILE])
    return {
        STATIC_GPU: books.static(courses, grid, _SIZED, during, is_whole=True),
        STATIC_MIG: books.static(courses, grid, _SIZED, during, is_whole=False),
        STATIC_GPU_TRAINED: books.static(courses, grid, past, before, is_whole=True),
        STATIC_MIG_TRAINED: books.static(courses, grid, past, before, is_whole=False),
    }


@dataclass(frozen=True, slots=True)
class Looking:
    """A rival that looks at what it holds.

    Attributes:
        make: Makes it with the knob at some values.
        knobs: Values that are swept.
        label: What a value is called.
    """

    make: Callable[[Floats, Sequence[Course], Grid], Policy]
    knobs: Floats
    label: str

    def book(self, courses: Sequence[Course], grid: Grid) -> Book:
        """Return what its settings come to."""
        account = drive(self.make(self.knobs, courses, grid), books.stage_of(courses, grid))
        return books.of_account(account, [f"{self.label} {knob:.2f}" for knob in self.knobs])


def _usual(courses: Sequence[Course], grid: Grid) -> Floats:
    trained = slice(0, grid.test)
    return np.array([course.demand[trained][course.counts[trained]].mean() for course in courses])


RIVALS: Mapping[str, Sequence[Setting] | Looking] = {
    "hold": HOLDS,
    "calendar": DAILY,
    "hpa": Looking(lambda knobs, _, __: Horizontal(knobs), np.linspace(0.2, 1.2, 34), "target"),
    "wva": Looking(lambda knobs, _, __: Saturation(knobs), np.linspace(0.02, 0.7, 24), "spare"),
    "dynamo": Looking(lambda knobs, _, __: Dynamo(knobs), np.linspace(0.2, 1.3, 34), "rate"),
    "kubex": Looking(
        lambda knobs, courses, grid: Fraction(knobs, _usual(courses, grid)),
        np.geomspace(0.3, 8.0, 40),
        "x mean",
    ),
    "tensorfusion": Looking(lambda knobs, _, __: Percentile(knobs), np.geomspace(0.6, 6.0, 40), "margin"),
}
"""Rivals by what `--policies` calls them; static capacity, off, oracle and the bound are always there."""
