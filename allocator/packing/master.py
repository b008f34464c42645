"""The restricted master program: as many of the columns as are known, in one linear program."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from scipy.sparse import csc_array

from allocator.packing.columns import Columns, Prices
from allocator.packing.cuts import Cuts
from allocator.packing.tableau import Floats, Tableau

SEED = 1


class _Quiet(highspy.Highs):
    """HiGHS that prints nothing: the first thing that it does once made is to print its name."""

    def enableCallbacks(self) -> None:  # noqa: N802 -- HiGHS's own name
        self.setOptionValue("output_flag", False)  # noqa: FBT003 -- HiGHS takes it by position
        super().enableCallbacks()  # type: ignore[no-untyped-call]


def solver() -> highspy.Highs:
    """Return HiGHS on one thread, quiet, with nothing in it that depends on the machine's speed."""
    highs = _Quiet()  # type: ignore[no-untyped-call]
    for option, value in (
        ("threads", 1),
        ("parallel", "off"),
        ("random_seed", SEED),
        ("simplex_strategy", 4),
    ):
        highs.setOptionValue(option, value)
    return highs


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solution of the linear program.

    Attributes:
        objective: Its cost.
        prices: Duals of pieces and limits.
        stock: What one more card of each stock would save, shape (S,), none below 0.
        ask: Duals of the workloads, shape (n,).
        cut: Cards by cut, shape (c,).
        column: Part of each column that is taken, shape (m,).
    """

    objective: float
    prices: Prices
    stock: Floats
    ask: Floats
    cut: Floats
    column: Floats


class Master:
    """Pieces, cards, limits and workloads as rows; cuts and configurations as columns."""

    def __init__(self, tableau: Tableau) -> None:
        self._tableau = tableau
        self._highs = solver()
        problem = tableau.problem
        cards = [np.inf if stock.cards is None else float(stock.cards) for stock in problem.stocks]
        asks = len(problem.asks)
        lower = np.concatenate(
            [np.zeros(tableau.pieces), np.full(len(cards) + tableau.limits.size, -np.inf), np.ones(asks)]
        )
        upper = np.concatenate([np.full(tableau.pieces, np.inf), cards, tableau.limits, np.ones(asks)])
        empty = np.zeros(0, dtype=np.int32)
        self._highs.addRows(
            lower.size, lower, upper, 0, np.zeros(lower.size, dtype=np.int32), empty, np.zeros(0)
        )
        self._rows = lower.size
        self._is_cut: list[bool] = []

    def add_cuts(self, cuts: Cuts) -> None:
        """Take up layouts of cards."""
        self._add(cut_matrix(self._tableau, cuts), cuts.cost, cuts.most)
        self._is_cut += [True] * len(cuts.cost)

    def add_columns(self, columns: Columns) -> None:
        """Take up configurations of workloads."""
        self._add(column_matrix(self._tableau, columns), columns.cost, np.full(len(columns), np.inf))
        self._is_cut += [False] * len(columns)

    def solve(self) -> Relaxed:
        """Return the cheapest mixture of all columns; every workload needs one, and one that always fits."""
        self._highs.run()
        solution, tableau = self._highs.getSolution(), self._tableau
        value, dual = np.array(solution.col_value), np.array(solution.row_dual)
        stocks, limits = len(tableau.problem.stocks), tableau.limits.size
        at_stock, at_limit = tableau.pieces, tableau.pieces + stocks
        is_cut = np.array(self._is_cut)
        return Relaxed(
            objective=self._highs.getInfo().objective_function_value,
            prices=Prices(
                np.maximum(dual[:at_stock], 0.0), np.maximum(-dual[at_limit : at_limit + limits], 0.0)
            ),
            stock=np.maximum(-dual[at_stock:at_limit], 0.0),
            ask=dual[at_limit + limits :],
            cut=value[is_cut],
            column=value[~is_cut],
        )

    def _add(self, matrix: csc_array, cost: Floats, most: Floats) -> None:
        self._highs.addCols(
            len(cost),
            cost,
            np.zeros(len(cost)),
            most,
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(float),
        )


def cut_matrix(tableau: Tableau, cuts: Cuts) -> csc_array:
    """Return what cuts add to each row: pieces, and the cards of their stock."""
    problem = tableau.problem
    rest = len(problem.stocks) + tableau.limits.size + len(problem.asks)
    dense = np.zeros((len(cuts.cost), tableau.pieces + rest))
    dense[:, : tableau.pieces] = cuts.counts
    dense[np.arange(len(cuts.cost)), tableau.pieces + cuts.stock] = cuts.width
    return csc_array(dense.T)


def column_matrix(tableau: Tableau, columns: Columns) -> csc_array:
    """Return what configurations add to each row: pieces taken, what limits count, one choice made."""
    problem, m = tableau.problem, len(columns)
    at_limit = tableau.pieces + len(problem.stocks)
    at_ask = at_limit + tableau.limits.size
    nth, piece = np.nonzero(columns.counts)
    charged, limit = np.nonzero(columns.charge)
    row = np.concatenate([piece, at_limit + limit, at_ask + columns.ask])
    column = np.concatenate([nth, charged, np.arange(m)])
    taken, charge = -columns.counts[nth, piece].astype(float), columns.charge[charged, limit]
    data = np.concatenate([taken, charge, np.ones(m)])
    return csc_array((data, (row, column)), shape=(at_ask + len(problem.asks), m))
