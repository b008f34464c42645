"""Column generation: slice prices at which no configuration and no layout would do better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocator.packing.bound import Bound, bound_at, is_limited
from allocator.packing.columns import Columns, Prices, value
from allocator.packing.cuts import Cuts, best_shares, cuts_of, shared_cards
from allocator.packing.dealing import present, uncarried
from allocator.packing.effort import Effort
from allocator.packing.master import Master, Relaxed
from allocator.packing.pricing import LEVELS, cheapest
from allocator.packing.problem import is_whole
from allocator.packing.rows import joined
from allocator.packing.tableau import Tableau
from fleet.shape import slice_of

ROUNDING = 1e-7


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What column generation ends with.

    Attributes:
        cuts: Layouts that were met.
        columns: Configurations that were met.
        solved: The last linear program over them.
        bound: The best certified lower bound on the way.
    """

    cuts: Cuts
    columns: Columns
    solved: Relaxed
    bound: Bound


def relax(tableau: Tableau, effort: Effort) -> Relaxation:
    """Return the linear relaxation over configurations and layouts, with its certificate.

    Rounds of pricing by a good guess while those find anything, then by the exact floor, whose columns come
    in too; ends when the two agree, or after the rounds allowed.
    """
    cuts, columns = cuts_of(tableau), _first(tableau)
    master = Master(tableau)
    master.add_cuts(cuts)
    master.add_columns(columns)
    solved = master.solve()
    bound: Bound | None = None
    close = effort.close_enough if is_whole(tableau.problem) else effort.close_enough_part * solved.objective
    for _ in range(effort.rounds):
        shares = _shares(tableau, solved)
        found = _better(guessed(tableau, solved), solved)
        if not len(found) and not len(shares.cost):
            at, met = bound_at(tableau, cuts, solved, effort)
            bound = at if bound is None or at.value > bound.value else bound
            found = _better(met, solved)
            if not len(found) or bound.value >= solved.objective - close:
                break
        if len(shares.cost):
            cuts = joined(cuts, shares)
            master.add_cuts(shares)
        columns = joined(columns, found)
        master.add_columns(found)
        solved = master.solve()
    if bound is None:
        bound, _ = bound_at(tableau, cuts, solved, effort)
    return Relaxation(cuts, columns, solved, bound)


def _first(tableau: Tableau) -> Columns:
    """Return columns to begin with: the cheapest by area, memory and compute, and one that fits."""
    parts = [cheapest(tableau, price) for price in _starting_prices(tableau)]
    nothing = uncarried(tableau)
    if not is_limited(tableau):
        nothing = nothing.take(~np.isin(nothing.ask, parts[0].ask))
    return joined(*parts, present(tableau, _starting_prices(tableau)[0]), nothing)


def _starting_prices(tableau: Tableau) -> list[Prices]:
    memory, compute = np.zeros(tableau.pieces), np.zeros(tableau.pieces)
    for index, stock in enumerate(tableau.problem.stocks):
        for nth, piece in enumerate(stock.pieces, tableau.offsets[index]):
            if piece.is_whole or piece.hundredths:
                memory[nth] = compute[nth] = stock.price * slice_of(stock.board, piece).gpu_share
            else:
                profile = stock.board.profile(piece.profile)
                memory[nth] = stock.price * profile.memory_slices / stock.board.grid
                compute[nth] = stock.price * profile.compute_slices / stock.board.compute_slices
    free = np.zeros(tableau.limits.size)
    return [Prices(p, free) for p in ((memory + compute) / 2, memory, compute)]


def guessed(tableau: Tableau, solved: Relaxed) -> Columns:
    """Return a cheap column of each workload, and where work is dear also columns that carry a part of it."""
    parts = [cheapest(tableau, solved.prices)]
    for level in LEVELS[:-1]:
        dear = solved.ask > tableau.work * tableau.penalty * (1.0 - level)
        if dear.any():
            parts.append(cheapest(tableau, solved.prices, level, dear))
    return joined(*parts)


def _better(columns: Columns, solved: Relaxed) -> Columns:
    """Return the columns that would lower the cost of the linear program."""
    reduced = value(columns, solved.prices) - solved.ask[columns.ask]
    return columns.take(reduced < -ROUNDING)


def _shares(tableau: Tableau, solved: Relaxed) -> Cuts:
    """Return the most valuable way to share a card, of each stock where it is worth more than the card."""
    ways = []
    for index, stock in enumerate(tableau.problem.stocks):
        last = tableau.offsets[index + 1]
        price = solved.prices.piece[last - len(stock.shares) : last]
        counts = best_shares(stock, price)
        way = shared_cards(tableau, index, counts[np.newaxis])
        ways.append(way.take(counts @ price > way.cost + solved.stock[index] + ROUNDING))
    return joined(*ways)
