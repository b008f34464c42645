"""How many changes may be made within a time, of a workload and of the fleet.

Changes that give replicas up count, each write once. What was made is read from the kept plans, so that a
restart forgets nothing. Additions are never counted, and never held up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fleet.cluster import Fleet, Standing
from fleet.shape import Configuration
from fleet.workload import WorkloadKey

DAY_S = 86400.0


class Kind(StrEnum):
    """What a change that gives replicas up is."""

    REMOVE = "remove"
    RESHAPE = "reshape"


class Per(StrEnum):
    """Whose changes a budget counts."""

    WORKLOAD = "workload"
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """At most so many changes within a time.

    Attributes:
        most: How many.
        within_s: The time, in seconds.
        per: Whose are counted.
        kinds: Which are counted.
        because: What it is for, one clause, empty = not said.
    """

    most: int
    within_s: float = DAY_S
    per: Per = Per.WORKLOAD
    kinds: frozenset[Kind] = frozenset(Kind)
    because: str = ""

    def __str__(self) -> str:
        kinds = " or ".join(sorted(f"{kind}s" for kind in self.kinds))
        why = f" ({self.because})" if self.because else ""
        return f"at most {self.most} {kinds} per {self.per} within {self.within_s / 3600:g} h{why}"


def kind_of(start: Configuration, end: Configuration) -> Kind:
    """Return what a change from one configuration to another is: a reshape where others take over."""
    has_grown = any(replicas > start.counts.get(shape, 0) for shape, replicas in end.counts.items())
    return Kind.RESHAPE if has_grown else Kind.REMOVE


class Spending:
    """What of the budgets is left in one run. What it lets pass it counts.

    Args:
        fleet: The workloads, with what was lately taken from them.
        budgets: Those that hold now; what owners allow of each workload holds beside them.
        at_s: Time of the run, seconds since the epoch.
    """

    def __init__(self, fleet: Fleet, budgets: Iterable[ChangeBudget], at_s: float) -> None:
        self._fleet = fleet
        self._budgets = tuple(budgets)
        self._at_s = at_s
        self._taken: Counter[tuple[WorkloadKey, Kind]] = Counter()

    def refusal(self, standing: Standing, kind: Kind) -> str | None:
        """Return which budget is used up for a change of a workload, one line; `None` = none is."""
        for budget in (*self._budgets, *_owners(standing)):
            if kind in budget.kinds:
                counted = self._fleet.standings if budget.per is Per.FLEET else (standing,)
                made = self._made(counted, budget)
                if made >= budget.most:
                    return f"budget: {budget}, {made} were made"
        return None

    def take(self, standing: Standing, kind: Kind) -> None:
        """Count a change that goes ahead."""
        self._taken[standing.key, kind] += 1

    def _made(self, standings: Sequence[Standing], budget: ChangeBudget) -> int:
        since_s = self._at_s - budget.within_s
        kept = sum(
            fall.at_s > since_s and kind_of(fall.start, fall.left) in budget.kinds
            for standing in standings
            for fall in standing.falls
        )
        return kept + sum(self._taken[standing.key, kind] for standing in standings for kind in budget.kinds)


def _owners(standing: Standing) -> tuple[ChangeBudget, ...]:
    if standing.changes_per_day is None:
        return ()
    return (ChangeBudget(standing.changes_per_day, because="annotation of its owner"),)
