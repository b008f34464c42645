"""The certificate: what no packing can cost less than."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocator.packing.columns import Columns, Prices
from allocator.packing.cuts import Cuts, best_shares, worth_of_shares
from allocator.packing.effort import Effort
from allocator.packing.master import Relaxed
from allocator.packing.pricing import LEVELS, floors
from allocator.packing.rows import joined
from allocator.packing.tableau import Floats, Tableau
from fleet.shape import SHARE_UNITS


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound on the cost of every packing, and the prices that prove it.

    Attributes:
        value: No packing costs less.
        prices: Prices of pieces and limits at which it holds.
        stock: What one more card of each stock would save, shape (S,).
    """

    value: float
    prices: Prices
    stock: Floats


def bound_at(tableau: Tableau, cuts: Cuts, solved: Relaxed, effort: Effort) -> tuple[Bound, Columns]:
    """Return the Lagrangian bound at the prices of a relaxation, and cheaper columns met in its proof.

    Dual feasibility is made, not assumed: piece prices are scaled down until no layout of any stock, seen
    or not, is worth more than its card (Farley 1990, for cutting stock). Then any packing costs at least the
    sum over workloads of the cheapest configuration at these prices, less what the limits on cards, queues,
    nodes and cards that need no cutting are worth. Pieces that nobody takes get the highest price that is
    feasible.
    """
    problem = tableau.problem
    stock, piece = solved.stock.copy(), solved.prices.piece.copy()
    for index, one in enumerate(problem.stocks):
        first, width = tableau.offsets[index], len(one.pieces)
        price = piece[first : first + width]
        worth = max(float(np.dot(cut, price)) / one.cards_of(cut) for cut in one.cuts)
        if one.shares:
            shares = price[width - len(one.shares) :]
            worth = max(worth, float(best_shares(one, shares) @ shares))
        card = one.price + problem.recut + stock[index]
        if worth > card:
            piece[first : first + width] *= card / worth
    piece = _raised(tableau, piece, stock)
    prices = Prices(piece, solved.prices.limit)
    floor, met = floors(tableau, prices, effort.slack, effort.branches)
    parts = [met]
    for level in LEVELS:
        dear = floor > tableau.work * tableau.penalty * (1.0 - level)
        if dear.any():
            lower, more = floors(tableau, prices, effort.slack, effort.branches, level, dear)
            floor = np.minimum(floor, lower)
            parts.append(more)
    floor = np.minimum(floor, tableau.work * tableau.penalty)
    total = float(floor.sum())
    total -= sum(one.cards * float(stock[i]) for i, one in enumerate(problem.stocks) if one.cards is not None)
    total -= float(prices.limit @ tableau.limits)
    reduced = cuts.cost + stock[cuts.stock] * cuts.width - cuts.counts @ piece
    limited = np.isfinite(cuts.most)
    total += float((np.minimum(reduced[limited], 0.0) * cuts.most[limited]).sum())
    return Bound(total, prices, stock), joined(*parts)


def _raised(tableau: Tableau, piece: Floats, stock: Floats) -> Floats:
    """Return prices raised for pieces that nobody takes to what they would take from others, shape (P,).

    A piece that no configuration uses has no price in the relaxation; who thinks of using it must know that
    its card could be cut into something else. No layout is worth more than its card afterwards either.
    """
    piece = piece.copy()
    for index, one in enumerate(tableau.problem.stocks):
        card = one.price + float(stock[index])
        first, width = tableau.offsets[index], len(one.pieces)
        price = piece[first : first + width]
        cuts, cards = np.array(one.cuts), np.array([one.cards_of(cut) for cut in one.cuts])
        for nth in range(width - len(one.shares)):
            n = cuts[:, nth]
            left = (card * cards - cuts @ price)[n > 0] / n[n > 0]
            price[nth] += max(0.0, float(left.min(initial=np.inf))) if left.size else 0.0
        shares = price[width - len(one.shares) :]
        for nth, share in enumerate(one.shares):
            of_rest, _ = worth_of_shares(one, shares)
            fits = range(1, SHARE_UNITS // share + 1)
            shares[nth] = max(shares[nth], min((card - of_rest[SHARE_UNITS - n * share]) / n for n in fits))
    return piece


def is_limited(tableau: Tableau) -> bool:
    """Return whether there may not be enough for all: cards are counted, or something else is limited."""
    return bool(tableau.limits.size) or any(stock.cards is not None for stock in tableau.problem.stocks)
