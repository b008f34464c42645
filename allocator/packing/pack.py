"""Packing a fleet: prices, whole cards, and how far from the best it can be."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from allocator.packing.bound import Bound, is_limited
from allocator.packing.columns import Prices
from allocator.packing.effort import Effort
from allocator.packing.integer import Packed, pack_whole
from allocator.packing.problem import Problem, is_whole
from allocator.packing.relax import relax
from allocator.packing.tableau import Tableau, tableau_of

ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Packing:
    """A packing and its certificate.

    Attributes:
        tableau: The problem as arrays.
        packed: Configurations and cut cards.
        bound: What no packing can cost less than, and the prices that prove it.
        least: The bound, rounded up to whole cards where every card costs the same.
    """

    tableau: Tableau
    packed: Packed
    bound: Bound
    least: float

    @property
    def cards(self) -> int:
        """Cards in use."""
        return int(self.packed.cards @ self.packed.cuts.width)

    @property
    def worth(self) -> Prices:
        """What each piece is worth in this fleet, whether anyone takes it or not."""
        return self.bound.prices

    @property
    def binding(self) -> tuple[str, ...]:
        """What more of would make the packing cheaper, dearest first; empty = nothing is scarce."""
        problem, bound = self.tableau.problem, self.bound
        scarce = [
            (
                saved,
                f"cards of {stock.board.id}{f' in {stock.domain}' if stock.domain else ''}: {stock.cards}",
            )
            for stock, saved in zip(problem.stocks, bound.stock.tolist(), strict=True)
        ]
        scarce += [
            (saved, str(limit))
            for limit, saved in zip(self.tableau.limiting, bound.prices.limit.tolist(), strict=True)
        ]
        dearest = sorted(scarce, key=lambda one: (-one[0], one[1]))
        return tuple(
            f"{what}, one more would save {saved:.2f}" for saved, what in dearest if saved > ROUNDING
        )

    @property
    def gap(self) -> float:
        """By what part of the bound the cost may be above the best, 0 = proven best."""
        return max(0.0, self.packed.cost / self.least - 1.0) if self.least > 0 else 0.0


def pack(problem: Problem, effort: Effort | None = None) -> Packing:
    """Return a configuration for every workload, cuts of cards that hold them, and a bound on any other."""
    effort = effort or Effort()
    tableau = tableau_of(problem)
    relaxation = relax(tableau, effort)
    bound = relaxation.bound.value
    least = _whole(problem, bound)
    target = (
        least
        if least > bound
        else bound * (1.0 + (effort.enough_limited if is_limited(tableau) else effort.enough))
    )
    packed = pack_whole(tableau, relaxation, target, effort)
    return Packing(tableau, packed, relaxation.bound, least)


def _whole(problem: Problem, bound: float) -> float:
    """Return the bound rounded up to whole cards, where all cost the same and nothing else costs."""
    if not is_whole(problem):
        return bound
    price = problem.stocks[0].price
    return price * ceil(bound / price - ROUNDING)
