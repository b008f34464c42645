"""A packing problem as arrays: pieces in columns, workloads in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allocator.packing.limits import Limit, limits_of
from allocator.packing.problem import Problem, Stock
from fleet.workload import Router

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Kind:
    """Workloads that may use one kind of card cut in one way; all replicas of a workload are on one kind.

    Attributes:
        domains: First of its pieces in the price vector, for each of its stocks.
        asks: Rows of the problem, shape (n,).
        capacity: Work of one replica by workload and piece, 0 = not on offer, shape (n, K).
        charges: Units that a replica on each piece takes of each limit, shape (L, K).
    """

    domains: tuple[int, ...]
    asks: Ints
    capacity: Floats
    charges: Floats

    @property
    def width(self) -> int:
        """Pieces of one card of this kind."""
        return int(self.capacity.shape[1])

    def of(self, among: NDArray[np.bool_]) -> Kind:
        """Return the kind with some of its workloads, given by a mask over all workloads of the problem."""
        kept = among[self.asks]
        return Kind(self.domains, self.asks[kept], self.capacity[kept], self.charges)


@dataclass(frozen=True, slots=True)
class Tableau:
    """A problem as arrays; P pieces over all stocks, n workloads.

    Attributes:
        problem: What it was made from.
        kinds: Kinds of cards.
        offsets: First piece of each stock, and P at the end.
        work: Work asked for, shape (n,).
        is_equal: Behind an `equal` router, shape (n,).
        is_spread: Dealt out over fault domains, shape (n,).
        fewest: Lower bound on replicas, shape (n,).
        most: Upper bound on replicas, shape (n,).
        penalty: Cost of one unit of work that stays uncarried, shape (n,).
        weights: What each workload's replicas take of each limit for a unit of their piece, shape (n, L).
        limits: How much of each limit may be taken, shape (L,).
        now: Replicas that run now by piece, shape (n, P).
        limiting: What the limits are.
    """

    problem: Problem
    kinds: tuple[Kind, ...]
    offsets: tuple[int, ...]
    work: Floats
    is_equal: NDArray[np.bool_]
    is_spread: NDArray[np.bool_]
    fewest: Ints
    most: Ints
    penalty: Floats
    weights: Floats
    limits: Floats
    now: Ints
    limiting: tuple[Limit, ...]

    @property
    def pieces(self) -> int:
        """Length of a price vector."""
        return self.offsets[-1]


def tableau_of(problem: Problem) -> Tableau:
    """Return the problem as arrays; stocks of one board are its fault domains and offer the same pieces."""
    asks = problem.asks
    offsets = tuple(np.cumsum([0, *(len(stock.pieces) for stock in problem.stocks)]).tolist())
    limits = limits_of(problem)
    boards = sorted({stock.board.id for stock in problem.stocks})
    kinds = (
        _kind(problem, limits, offsets, board, shared=shared) for board in boards for shared in (False, True)
    )
    return Tableau(
        problem=problem,
        kinds=tuple(kind for kind in kinds if kind.asks.size),
        offsets=offsets,
        work=np.array([ask.work for ask in asks], dtype=float),
        is_equal=np.array([ask.router is Router.EQUAL for ask in asks], dtype=bool),
        is_spread=np.array([ask.is_spread for ask in asks], dtype=bool),
        fewest=np.array([ask.limits.min_replicas for ask in asks], dtype=np.int64),
        most=np.array([ask.limits.max_replicas for ask in asks], dtype=np.int64),
        penalty=np.array([ask.penalty for ask in asks], dtype=float),
        weights=np.array([limit.weights for limit in limits]).reshape(len(limits), len(asks)).T,
        limits=np.array([limit.amount for limit in limits], dtype=float),
        now=_now(problem, offsets),
        limiting=limits,
    )


def _now(problem: Problem, offsets: Sequence[int]) -> Ints:
    piece_of = {
        (stock.domain, piece): first + nth
        for stock, first in zip(problem.stocks, offsets, strict=False)
        for nth, piece in enumerate(stock.pieces)
    }
    now = np.zeros((len(problem.asks), offsets[-1]), dtype=np.int64)
    for row, ask in enumerate(problem.asks):
        for domain, configuration in ask.now.items():
            for shape, replicas in configuration.counts.items():
                if (domain, shape) in piece_of:
                    now[row, piece_of[domain, shape]] += replicas
    return now


def _kind(
    problem: Problem, limits: Sequence[Limit], offsets: Sequence[int], board: str, *, shared: bool
) -> Kind:
    at = [index for index, stock in enumerate(problem.stocks) if stock.board.id == board]
    stock: Stock = problem.stocks[at[0]]
    nths = [nth for nth, piece in enumerate(stock.pieces) if bool(piece.hundredths) is shared]
    pieces = [stock.pieces[nth] for nth in nths]
    capacity = np.array(
        [[ask.works.get(piece, 0.0) for piece in pieces] for ask in problem.asks], dtype=float
    ).reshape(len(problem.asks), len(pieces))
    rows = np.flatnonzero(capacity.any(axis=1))
    return Kind(
        domains=tuple(offsets[index] + nths[0] for index in at) if nths else (),
        asks=rows,
        capacity=capacity[rows],
        charges=np.array([[limit.of(piece) for piece in pieces] for limit in limits], dtype=float).reshape(
            len(limits), len(pieces)
        ),
    )
