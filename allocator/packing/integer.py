"""From mixtures to one configuration a workload and whole cards: rounding, then polishing."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from scipy.sparse import csc_array, hstack

from allocator.packing.bound import is_limited
from allocator.packing.columns import Columns, distinct, value
from allocator.packing.cuts import Cuts, first_fit, shared_cards
from allocator.packing.effort import Effort
from allocator.packing.master import column_matrix, cut_matrix, solver
from allocator.packing.pricing import beside, blends, cheapest
from allocator.packing.relax import Relaxation, guessed
from allocator.packing.rows import joined
from allocator.packing.tableau import Floats, Ints, Tableau

ROUNDING = 1e-6

CUTS, CUT_AGE = 100, 3
"""Cutting planes that are kept beside those in use, and for how many rounds without use."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One configuration for every workload and the cards that hold them.

    Attributes:
        columns: Configurations, one a workload, in order of the workloads.
        cuts: Layouts.
        cards: Cards of each layout, shape (c,).
        cost: Price of cards and what else the configurations cost.
    """

    columns: Columns
    cuts: Cuts
    cards: Ints
    cost: float


def pack_whole(tableau: Tableau, relaxation: Relaxation, target: float, effort: Effort) -> Packed:
    """Return a packing of whole cards: what the relaxation splits is decided, then more is tried.

    The search ends at the cost `target`. Each step is one small integer program with a limit on nodes.
    """
    taken = relaxation.columns.take(relaxation.solved.column > ROUNDING)
    cuts = _useful(relaxation, effort)
    # Where something is scarce, what the relaxation takes in parts hardly ever fits whole.
    is_scarce = bool(relaxation.solved.stock.any() or relaxation.solved.prices.limit.any())
    best = None if is_scarce else _solve(tableau, cuts, taken, target, effort)
    if best is None or best.cost > target + ROUNDING:
        met = _met(tableau, relaxation, effort)
        polished = _solve(tableau, cuts, _near(tableau, relaxation, met, effort), target, effort)
        if best is None and polished is None:
            polished = _solve(tableau, cuts, _near(tableau, relaxation, met, effort.wider), target, effort)
        if best is None or (polished is not None and polished.cost < best.cost - ROUNDING):
            best = polished
    # Among everything met something always fits: the configuration of nothing, where cards are limited.
    best = best or _solve(tableau, relaxation.cuts, relaxation.columns, target, effort)
    if best is None:
        raise ArithmeticError("an integer program over all configurations ended without a packing")
    return _shared_anew(tableau, best)


def _shared_anew(tableau: Tableau, packed: Packed) -> Packed:
    """Return the packing with shared cards filled by first fit where that is cheaper."""
    for index, stock in enumerate(tableau.problem.stocks):
        last = tableau.offsets[index + 1]
        columns = slice(last - len(stock.shares), last)
        is_shared = (packed.cuts.stock == index) & (packed.cuts.counts[:, columns].sum(axis=1) > 0)
        new = shared_cards(tableau, index, first_fit(stock, packed.columns.counts[:, columns].sum(axis=0)))
        saved = float((packed.cards * packed.cuts.cost)[is_shared].sum()) - float(new.cost.sum())
        if saved > ROUNDING:
            cards = np.concatenate([np.where(is_shared, 0, packed.cards), new.width])
            packed = Packed(packed.columns, joined(packed.cuts, new), cards, packed.cost - saved)
    return packed


def _useful(relaxation: Relaxation, effort: Effort) -> Cuts:
    """Return the cuts that the relaxation takes or nearly takes, and those that stand.

    What stands may be as dear at the prices of the relaxation as cutting a card anew, and is taken again only
    where it is among them.
    """
    cuts, solved = relaxation.cuts, relaxation.solved
    dearer = cuts.cost + solved.stock[cuts.stock] * cuts.width - cuts.counts @ solved.prices.piece
    stands = np.isfinite(cuts.most)
    return cuts.take((solved.cut > ROUNDING) | stands | (dearer <= effort.reduced_cost))


def _met(tableau: Tableau, relaxation: Relaxation, effort: Effort) -> Columns:
    """Return the configurations of the relaxation, and those that are cheapest at prices beside its own."""
    solved = relaxation.solved
    tried = [cheapest(tableau, prices) for prices in beside(solved.prices, effort.tries)]
    parts = guessed(tableau, solved)
    return distinct(joined(relaxation.columns, parts, *tried, _between(tableau, relaxation, effort)))


def _near(tableau: Tableau, relaxation: Relaxation, every: Columns, effort: Effort) -> Columns:
    """Return what the relaxation takes, what costs hardly more, and all there is for what it splits."""
    solved = relaxation.solved
    dearer = value(every, solved.prices) - solved.ask[every.ask]
    order = np.lexsort((dearer, every.ask))
    ask = every.ask[order]
    rank = np.arange(ask.size) - np.searchsorted(ask, ask, side="left")
    is_near = (rank < effort.per_ask) & (dearer[order] <= effort.reduced_cost)
    order = order[is_near | np.isin(ask, relaxation.columns.ask[_split(relaxation)])]
    order = order[np.argsort(dearer[order], kind="stable")][: effort.binaries + tableau.work.size]
    taken = relaxation.columns.take(solved.column > ROUNDING)
    return distinct(joined(taken, every.take(order)))


def _split(relaxation: Relaxation) -> Ints:
    """Return the configurations of which the relaxation takes only a part."""
    part = relaxation.solved.column
    return np.flatnonzero((part > ROUNDING) & (part < 1 - ROUNDING))


def _between(tableau: Tableau, relaxation: Relaxation, effort: Effort) -> Columns:
    """Return what lies between the configurations over which the relaxation splits a workload."""
    split, ask = _split(relaxation), relaxation.columns.ask
    pairs = [(i, j) for i in split for j in split if i < j and ask[i] == ask[j]]
    one, other = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, 1))
    columns = relaxation.columns
    return blends(tableau, columns.take(one), columns.take(other), relaxation.solved.prices, effort.steps)


def _solve(tableau: Tableau, cuts: Cuts, columns: Columns, target: float, effort: Effort) -> Packed | None:
    """Return the best packing over these columns; workloads with only one are settled before."""
    problem = tableau.problem
    choices = np.bincount(columns.ask, minlength=tableau.work.size)
    is_open = choices[columns.ask] > 1
    settled, free = columns.take(~is_open), columns.take(is_open)
    rows = tableau.pieces + len(problem.stocks) + tableau.limits.size
    used = column_matrix(tableau, settled).sum(axis=1)[:rows]
    open_asks = np.unique(free.ask)
    matrix = hstack([cut_matrix(tableau, cuts), column_matrix(tableau, free)]).tocsr()
    matrix = csc_array(matrix[np.concatenate([np.arange(rows), rows + open_asks])])
    cards = [np.inf if stock.cards is None else float(stock.cards) for stock in problem.stocks]
    limit = np.concatenate([np.full(tableau.pieces, np.inf), cards, tableau.limits])
    lower = np.concatenate([np.zeros(tableau.pieces), np.full(rows - tableau.pieces, -np.inf)]) - used
    ones = np.ones(open_asks.size)
    cost = np.concatenate([cuts.cost, free.cost])
    most = np.concatenate([cuts.most, np.ones(len(free))])
    fixed = float(settled.cost.sum())
    solution = _integers(
        matrix,
        cost,
        most,
        np.concatenate([lower, ones]),
        np.concatenate([limit - used, ones]),
        target - fixed,
        effort,
        effort.near_limited if is_limited(tableau) else 0.0,
    )
    if solution is None:
        return None
    taken, chosen = solution[: len(cuts.cost)], solution[len(cuts.cost) :] > 0
    picked = joined(settled, free.take(chosen))
    picked = picked.take(np.argsort(picked.ask, kind="stable"))
    return Packed(picked, cuts, taken, float(taken @ cuts.cost) + float(picked.cost.sum()))


def _integers(
    matrix: csc_array,
    cost: Floats,
    most: Floats,
    lower: Floats,
    upper: Floats,
    target: float,
    effort: Effort,
    near: float,
) -> Ints | None:
    highs = solver()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(cost.size), most
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    model.integrality_ = [highspy.HighsVarType.kInteger] * cost.size
    highs.passModel(model)
    highs.setOptionValue("mip_max_nodes", effort.nodes)
    highs.setOptionValue("mip_rel_gap", near)
    highs.setOptionValue("mip_abs_gap", ROUNDING)
    # Rounding what the relaxation takes is hardly off: much more time for cuts would go into proving it.
    highs.setOptionValue("mip_pool_soft_limit", CUTS)
    highs.setOptionValue("mip_pool_age_limit", CUT_AGE)
    highs.setOptionValue("objective_target", target + ROUNDING)
    highs.run()
    solution = highs.getSolution()
    if not solution.value_valid:
        return None
    whole: Ints = np.rint(np.array(solution.col_value)).astype(np.int64)
    return whole
