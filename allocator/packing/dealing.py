"""Dealing replicas out over fault domains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allocator.packing.columns import Columns, Prices, no_columns
from allocator.packing.knapsack import NEVER, ROUNDING
from allocator.packing.rows import joined
from allocator.packing.tableau import Floats, Ints, Kind, Tableau


def dealt(
    tableau: Tableau, kind: Kind, rows: Ints, counts: Ints, domain: Ints, prices: Prices, level: float
) -> Columns:
    """Return counts by piece of one kind as columns over all stocks.

    Args `rows` (m,) are workloads of the kind, `counts` (m, K) their replicas. Those that are spread go round
    the domains, whichever way round is cheaper; the others go where their piece is cheapest, `domain` (K,).
    What is beyond `level` of the work stays uncarried.
    """
    asks, m, width = kind.asks[rows], len(rows), kind.width
    wide = np.zeros((m, tableau.pieces), dtype=np.int64)
    first = np.array(kind.domains)
    wide[:, first[domain] + np.arange(width)] = counts
    spread = np.flatnonzero(tableau.is_spread[asks])
    if spread.size and len(kind.domains) > 1:
        wide[spread] = _round_robin(tableau, kind, counts[spread], prices)
    short = tableau.work[asks] * (1.0 - level)
    return Columns(
        ask=asks,
        counts=wide,
        charge=counts @ kind.charges.T * tableau.weights[asks],
        cost=short * tableau.penalty[asks] + _starts(tableau, asks, wide) * tableau.problem.restart,
        short=short,
    )


def present(tableau: Tableau, prices: Prices) -> Columns:
    """Return what runs now as columns, as far as it still carries the work within the limits on replicas."""
    parts = [no_columns(tableau)]
    for kind in tableau.kinds:
        counts = of_kind(kind, tableau.now[kind.asks])
        replicas = counts.sum(axis=1)
        carries = carried(tableau, kind, counts) >= tableau.work[kind.asks] - ROUNDING
        others = tableau.now[kind.asks].sum(axis=1) > replicas
        fits = (replicas >= fewest_of(tableau, kind)) & (replicas <= tableau.most[kind.asks])
        rows = np.flatnonzero(carries & fits & (replicas > 0) & ~others)
        domain = np.zeros(kind.width, dtype=np.int64)
        columns = dealt(tableau, kind, rows, counts[rows], domain, prices, 1.0)
        parts.append(replace(columns, counts=tableau.now[columns.ask], cost=np.zeros(len(columns))))
    return joined(*parts)


def uncarried(tableau: Tableau) -> Columns:
    """Return the configuration of no replicas for every workload, with all of its work left uncarried."""
    asks = np.arange(tableau.work.size)
    counts = np.zeros((asks.size, tableau.pieces), dtype=np.int64)
    charge = np.zeros((asks.size, tableau.limits.size))
    return Columns(asks, counts, charge, tableau.work * tableau.penalty, tableau.work)


def carried(tableau: Tableau, kind: Kind, counts: Ints) -> Floats:
    """Return the work that counts of a kind's pieces carry by the routers' rules, (n, K) to (n,)."""
    smallest = np.where(counts > 0, kind.capacity, NEVER).min(axis=1)
    replicas = counts.sum(axis=1)
    equal = replicas * np.where(replicas > 0, smallest, 0.0)
    work: Floats = np.where(tableau.is_equal[kind.asks], equal, (counts * kind.capacity).sum(axis=1))
    return work


def fewest_of(tableau: Tableau, kind: Kind) -> Ints:
    """Return the replicas that each workload of a kind must have: two domains want one each."""
    fewest = tableau.fewest[kind.asks]
    domains = min(len(kind.domains), 2)
    return np.where(tableau.is_spread[kind.asks], np.maximum(fewest, domains), fewest)


def of_kind(kind: Kind, counts: Ints) -> Ints:
    """Return the counts of a kind's pieces, domains added up, shape (m, K)."""
    by_domain = [counts[:, first : first + kind.width] for first in kind.domains]
    total: Ints = np.add.reduce(by_domain, dtype=np.int64)
    return total


def _round_robin(tableau: Tableau, kind: Kind, counts: Ints, prices: Prices) -> Ints:
    domains, width = len(kind.domains), kind.width
    until = counts.cumsum(axis=1)
    best = np.zeros((len(counts), tableau.pieces), dtype=np.int64)
    best_paid = np.full(len(counts), NEVER)
    for turn in range(domains):
        wide = np.zeros_like(best)
        for nth, first in enumerate(kind.domains):
            # Replica i of a workload goes to domain (i + turn) mod domains.
            mine = (nth - turn) % domains
            upto = (until - mine + domains - 1) // domains
            before = (until - counts - mine + domains - 1) // domains
            wide[:, first : first + width] = upto - before
        paid = wide @ prices.piece
        better = paid < best_paid - ROUNDING
        best[better], best_paid[better] = wide[better], paid[better]
    return best


def _starts(tableau: Tableau, asks: Ints, counts: Ints) -> Ints:
    """Return how many replicas of each column do not run yet, shape (m,)."""
    if not tableau.problem.restart:
        return np.zeros(len(asks), dtype=np.int64)
    new: Ints = np.maximum(counts - tableau.now[asks], 0).sum(axis=1)
    return new
