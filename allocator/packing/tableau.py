"""A packing problem as arrays: pieces in columns, workloads in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allocator.packing.problem import Problem, Stock
from fleet.ledgers.kai import Cards, Instances, bound_gpus
from fleet.ledgers.queues import SLACK_GPUS
from fleet.shape import SHARE_UNITS, Shape
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
        charge: GPUs that a replica counts with in a queue, as KAI counts them, shape (K,).
    """

    domains: tuple[int, ...]
    asks: Ints
    capacity: Floats
    charge: Floats

    @property
    def width(self) -> int:
        """Pieces of one card of this kind."""
        return self.charge.size

    def of(self, among: NDArray[np.bool_]) -> Kind:
        """Return the kind with some of its workloads, given by a mask over all workloads of the problem."""
        kept = among[self.asks]
        return Kind(self.domains, self.asks[kept], self.capacity[kept], self.charge)


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
        queued: 1 where it counts against a queue, else 0, shape (n, Q).
        limits: GPUs that each queue may be charged, shape (Q,).
        now: Replicas that run now by piece, shape (n, P).
        queue_names: Queues in order of their index.
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
    queued: Floats
    limits: Floats
    now: Ints
    queue_names: tuple[str, ...]

    @property
    def pieces(self) -> int:
        """Length of a price vector."""
        return self.offsets[-1]


def tableau_of(problem: Problem) -> Tableau:
    """Return the problem as arrays; stocks of one board are its fault domains and offer the same pieces."""
    asks = problem.asks
    offsets = tuple(np.cumsum([0, *(len(stock.pieces) for stock in problem.stocks)]).tolist())
    queue_names = tuple(problem.queues)
    boards = sorted({stock.board.id for stock in problem.stocks})
    kinds = (_kind(problem, offsets, board, shared=shared) for board in boards for shared in (False, True))
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
        queued=np.array([[name in ask.queues for name in queue_names] for ask in asks], dtype=float).reshape(
            len(asks), len(queue_names)
        ),
        limits=np.array(
            [max(0.0, problem.queues[name] - _slack(problem, name)) for name in queue_names], dtype=float
        ),
        now=_now(problem, offsets),
        queue_names=queue_names,
    )


def _slack(problem: Problem, queue: str) -> float:
    """Return what is left free: KAI asks a queue for up to a hundredth more than a share counts then."""
    mine = (ask for ask in problem.asks if queue in ask.queues)
    return SLACK_GPUS if any(shape.hundredths for ask in mine for shape in ask.works) else 0.0


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


def _kind(problem: Problem, offsets: Sequence[int], board: str, *, shared: bool) -> Kind:
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
        charge=np.array([_charge(piece) for piece in pieces], dtype=float),
    )


def _charge(piece: Shape) -> float:
    """Return the GPUs that a bound replica counts with in its queue; shares are on the hundredth."""
    if piece.hundredths:
        return piece.hundredths / SHARE_UNITS
    asked = Cards(piece.cards) if piece.is_whole else Instances({f"nvidia.com/mig-{piece.profile}": 1})
    return bound_gpus(asked, 0)
