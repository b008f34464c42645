"""What a standby pool would have saved beside a run that had none, and who would have used it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fleet.shape import Shape
from fleet.workload import Way, Workload
from foreslice.proof.books import Book
from foreslice.proof.pooled import BASELINES, Pooled, Terms, pooled
from foreslice.proof.spread import Saving, saved
from foreslice.proof.sweep import OFF, Run
from foreslice.standby.terms import PoolTerms
from predictor.value.ledger import Ledger

WAKE_S = 10.0
"""What a wake is reckoned with: vLLM's takes 3 s with 30B (`simulator.sleep`), and need is noticed first."""

MOST = 5
"""Workloads of which it is told that they used the pool most."""


@dataclass(frozen=True, slots=True)
class Insured:
    """A pool beside a run.

    Attributes:
        workloads: Workloads that may join and fit on its slices, in the order of what is said by place.
        apart: Other workloads.
        pooled: What came of it, the rule without a forecast as baseline.
        over_rule: What it saves over the best rule without a pool, in hindsight and at no more unserved work;
            `None` where no rule leaves so little.
    """

    workloads: tuple[str, ...]
    apart: tuple[str, ...]
    pooled: Pooled
    over_rule: Saving | None

    @property
    def most(self) -> list[tuple[str, float]]:
        """Who would have been woken most, and how often a day."""
        wakes = zip(self.workloads, self.pooled.wakes_per_day.tolist(), strict=True)
        return sorted((one for one in wakes if one[1] > 0), key=lambda one: -one[1])[:MOST]

    @property
    def together(self) -> list[list[str]]:
        """Who would have slept together."""
        return [[self.workloads[at] for at in group] for group in self.pooled.groups]


def bed_of(terms: PoolTerms, workload: Workload) -> Shape | None:
    """Return the slices on which a workload may sleep as far as settings say, `None` = none."""
    return terms.shape if workload.tier in terms.tiers and workload.way is Way.OWN else None


def insured(run: Run, terms: PoolTerms, unserved: float) -> dict[str, Insured]:
    """Return by namespace what a pool comes to beside a run; none where fewer than two could share it.

    Args:
        run: What was played, workloads named as namespace/name.
        terms: The pool in each namespace.
        unserved: Share of the work that may go unserved.
    """
    namespaces = sorted({course.part.name.partition("/")[0] for course in run.courses})
    found = {name: _insured(run, terms, unserved, f"{name}/") for name in namespaces}
    return {name: one for name, one in found.items() if one is not None}


def _insured(run: Run, terms: PoolTerms, unserved: float, prefix: str) -> Insured | None:
    here = [at for at, course in enumerate(run.courses) if course.part.name.startswith(prefix)]
    sharing = [(at, bed) for at in here if (bed := run.courses[at].part.bed) is not None]
    if len(sharing) < 2:  # noqa: PLR2004 -- one alone shares nothing
        return None
    places, beds = [at for at, _ in sharing], [bed for _, bed in sharing]
    courses = [run.courses[at] for at in places]
    asked = Terms(terms.sleepers, WAKE_S, beds, terms.slices)
    [came] = pooled(courses, run.grid, BASELINES["rule"], asked, [unserved])
    rule = _best_rule(run, places, came.unserved)
    return Insured(
        workloads=tuple(course.part.name for course in courses),
        apart=tuple(run.courses[at].part.name for at in here if at not in places),
        pooled=came,
        over_rule=None if rule is None else saved(came.ledger.held[0], rule.held[0]),
    )


def _best_rule(run: Run, places: Sequence[int], unserved: float) -> Ledger | None:
    """Return the cheapest rule that left no more of these workloads' work, `None` where none did."""
    book = run.books[OFF]
    total = Book(book.knobs, tuple(book.parts[at] for at in places)).total
    held = np.where(total.lacked.sum(axis=1) <= unserved * total.asked.sum(), total.held.sum(axis=1), np.inf)
    return total.of_setting(int(np.argmin(held))) if np.isfinite(held).any() else None


def as_json(found: Insured) -> dict[str, Any]:
    """Return it as scripts read it."""
    return {
        "workloads": found.workloads,
        "not_in_it": found.apart,
        "unserved": found.pooled.unserved,
        "saved_over_off": None if found.over_rule is None else asdict(found.over_rule),
        "cards": found.pooled.cards,
        "short_of_the_time": found.pooled.short,
        "wakes_per_day": dict(zip(found.workloads, found.pooled.wakes_per_day.tolist(), strict=True)),
        "sleep_together": found.together,
    }


def lines(found: Insured) -> list[str]:
    """Return it in words, one line each."""
    over = "no rule without one would have left so little work unserved"
    if (one := found.over_rule) is not None:
        over = (
            f"it would have taken {one.low:.0%} to {one.high:.0%} off the GPU-hours of the best rule without "
            "a forecast and without it"
        )
    users = ", ".join(f"{name} {count:.1f}" for name, count in found.most)
    left = (
        "With a standby pool on the settings' slices, sized by the days before, and no forecast "
        f"{found.pooled.unserved:.2%} would go unserved"
    )
    size = f"It would have held {found.pooled.cards:.2f} cards on average"
    return [
        f"{left}: {over}.",
        f"{size} and been short in {found.pooled.short:.1%} of the time; wakes a day: {users or 'none'}.",
        f"Sleeping together: {'; '.join(', '.join(group) for group in found.together)}.",
        *([f"Not in it: {', '.join(found.apart)}."] if found.apart else []),
    ]
