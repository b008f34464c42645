"""A policy with a standby pool beside those that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.course import Course, Grid, peaks_of
from foreslice.proof.placed import Placing
from foreslice.proof.pooled import Pooled
from foreslice.proof.scene import Scene
from foreslice.proof.setting import FORESIGHT, HOLDS, RESIDUALS
from foreslice.standby.plan import RISK_QUANTILE, RISK_WINDOW_S
from predictor.ports import Floats
from predictor.value.ledger import Ledger
from predictor.value.worth import cheapest


@dataclass(frozen=True, slots=True)
class Found:
    """One policy with a pool at one lag.

    Attributes:
        baseline: Whose capacity the pool stands beside.
        pooled: What came of both.
        over_oracle: Card-hours over those of who knows what comes, without a pool, at the same unserved work.
        over_rule: Card-hours over those of the best rule without a pool, in hindsight, likewise.
        of_mean: Cards of the pool over the mean work, in whole cards.
        placing: What dealing beds by the forecast is worth, `None` where that was not asked or means nothing.
    """

    baseline: str
    pooled: Pooled
    over_oracle: float | None
    over_rule: float | None
    of_mean: float
    placing: Placing | None = None


def without_pool(courses: Sequence[Course], grid: Grid) -> tuple[Ledger, Ledger]:
    """Return what the rules and the oracle come to on the scored part, each with all its settings."""
    rules = Book.joined([books.book(courses, grid, HOLDS), books.residuals(courses, grid, RESIDUALS)])
    oracle = books.book(courses, grid, FORESIGHT)
    rule, known = (one.blocks(slice(grid.first_block, None)).total for one in (rules, oracle))
    return rule, known


def foreseen(scene: Scene, grid: Grid) -> list[Floats]:
    """Return by workload the peaks of the time that a plan of beds lasts, as forecast at each step."""
    return peaks_of(scene, grid, round(RISK_WINDOW_S), RISK_QUANTILE)


def found_of(
    name: str, came: Pooled, courses: Sequence[Course], grid: Grid, others: tuple[Ledger, Ledger]
) -> Found:
    """Return a policy beside the best rule and the oracle without a pool, ledgers in this order.

    Both are read at the work that the policy left unserved.
    """
    held = float(came.ledger.held.sum())
    over_rule, over_oracle = (_over(held, other, came.unserved) for other in others)
    mean: Floats = np.array(
        [course.demand[grid.test :][course.counts[grid.test :]].mean() for course in courses]
    )
    return Found(name, came, over_oracle, over_rule, came.cards / float(mean.sum()))


def _over(held: float, other: Ledger, unserved: float) -> float | None:
    least = float(cheapest(other, np.array([unserved]), np.ones((len(other.asked), 1)))[0])
    return held / least if np.isfinite(least) and least > 0 else None
