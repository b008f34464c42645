"""Configurations as columns, and what they are worth at given prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocator.packing.rows import Rows
from allocator.packing.tableau import Floats, Ints, Tableau


@dataclass(frozen=True, slots=True)
class Prices:
    """What is scarce, and how much it is worth.

    Attributes:
        piece: Price of each piece, shape (P,), none below 0.
        limit: Price of one unit of each limit, shape (L,), none below 0.
    """

    piece: Floats
    limit: Floats


@dataclass(frozen=True, slots=True)
class Columns(Rows):
    """Configurations, one a row.

    Attributes:
        ask: Workload that each is for, shape (m,).
        counts: Replicas by piece, shape (m, P).
        charge: What it takes of each limit, shape (m, L).
        cost: What it costs beside the cards: new starts, and work left uncarried, shape (m,).
        short: Work left uncarried, shape (m,).
    """

    ask: Ints
    counts: Ints
    charge: Floats
    cost: Floats
    short: Floats

    def __len__(self) -> int:
        return self.ask.size


def no_columns(tableau: Tableau) -> Columns:
    """Return no columns at all."""
    nothing = np.zeros(0)
    counts = np.zeros((0, tableau.pieces), dtype=np.int64)
    return Columns(np.zeros(0, dtype=np.int64), counts, np.zeros((0, tableau.limits.size)), nothing, nothing)


def value(columns: Columns, prices: Prices) -> Floats:
    """Return the price of each column, with what it costs beside the cards, shape (m,)."""
    return columns.counts @ prices.piece + columns.charge @ prices.limit + columns.cost


def distinct(columns: Columns) -> Columns:
    """Return each configuration once, ordered by workload."""
    by_piece = np.arange(1, columns.counts.shape[1] + 1) ** 7 * 1_000_003
    key = columns.counts @ by_piece + columns.ask * 998_244_353
    return columns.take(np.unique(key, return_index=True)[1])
