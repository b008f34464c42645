"""Pricing: the cheapest configuration of each workload at given prices, guessed or proven."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allocator.packing.columns import Columns, Prices, no_columns, value
from allocator.packing.dealing import dealt, fewest_of, of_kind
from allocator.packing.knapsack import NEVER, ROUNDING, floor_price, guess
from allocator.packing.rows import joined
from allocator.packing.tableau import Floats, Ints, Kind, Tableau

LEVELS = (0.75, 0.5, 0.25, 0.0)
"""Parts of its work that a workload may be given where there is not enough for all."""

ASIDE = 0.03
"""Part by which prices are moved to find configurations that cost hardly more."""

UNLIMITED = np.iinfo(np.int64).max


def cheapest(
    tableau: Tableau, prices: Prices, level: float = 1.0, among: NDArray[np.bool_] | None = None
) -> Columns:
    """Return a cheap column of each workload that carries `level` of its work, none where none would.

    `among` says which workloads are asked about, shape (n,), all where not given.
    """
    kinds = _kinds(tableau, among)
    every = joined(no_columns(tableau), *(_of_kind(tableau, kind, prices, level) for kind in kinds))
    worth = value(every, prices)
    order = np.lexsort((worth, every.ask))
    return every.take(order[np.unique(every.ask[order], return_index=True)[1]])


def floors(
    tableau: Tableau,
    prices: Prices,
    slack: float,
    most_nodes: int,
    level: float = 1.0,
    among: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Columns]:
    """Return what no configuration of a workload can cost less than, (n,), and cheaper columns met.

    Over every configuration that carries `level` of the work on one kind of card, upper limits on replicas
    aside where shapes may be mixed; a workload that no card can carry, or that is not `among` those asked
    about, has an infinite floor. `slack` is the part of a price that is not worth looking for.
    """
    floor = np.full(tableau.work.size, NEVER)
    found = [no_columns(tableau)]
    for kind in _kinds(tableau, among):
        unit, domain, least = unit_prices(tableau, kind, prices)
        work = tableau.work[kind.asks] * level
        fewest = fewest_of(tableau, kind) * (level > 0)
        most = np.where(tableau.is_equal[kind.asks], tableau.most[kind.asks], UNLIMITED)
        alone = _paid(_single(kind, least, work, fewest, most), least)
        alone = np.where((work > ROUNDING) | (fewest > 0), alone, 0.0)
        mixes = np.flatnonzero(~tableau.is_equal[kind.asks] & (work > ROUNDING))
        if mixes.size:
            known, likely = guess(kind.capacity[mixes], least[mixes], work[mixes])
            bound, counts = floor_price(
                kind.capacity[mixes], least[mixes], work[mixes], known, known * slack, most_nodes
            )
            alone[mixes] = np.maximum(bound, fewest[mixes] * least[mixes].min(axis=1))
            few = mixes[likely.sum(axis=1) < fewest[mixes]]
            of_more = _floor_of(kind.capacity[few], least[few], work[few], fewest[few], slack, most_nodes)
            alone[few] = np.maximum(alone[few], of_more)
            met = np.flatnonzero(counts.any(axis=1))
            padded = _padded(counts[met], unit[mixes[met]], fewest[mixes[met]])
            found.append(dealt(tableau, kind, mixes[met], padded, domain, prices, level))
        np.minimum.at(floor, kind.asks, alone)
    floor += tableau.work * (1.0 - level) * tableau.penalty
    return floor, joined(*found)


def _floor_of(
    capacity: Floats, price: Floats, work: Floats, fewest: Ints, slack: float, most_nodes: int
) -> Floats:
    """Return what no `fewest` or more pieces can carry the work for less than, (n,).

    Each kind of piece is tried as one of them; the others carry what it leaves, and are as many as lack.
    """
    rows, width = capacity.shape
    left = np.maximum(work[:, None] - capacity, 0.0).ravel()
    capacities, prices = (np.repeat(table, width, axis=0) for table in (capacity, price))
    known, _ = guess(capacities, prices, left)
    others, _ = floor_price(capacities, prices, left, known, known * slack, most_nodes)
    others = np.maximum(others, np.repeat((fewest - 1) * price.min(axis=1), width))
    cheapest_of: Floats = (price.ravel() + others).reshape(rows, width).min(axis=1)
    return cheapest_of


def beside(prices: Prices, tries: int) -> list[Prices]:
    """Return prices a little off, each piece up or down by another pattern of signs."""
    nth, turn = np.arange(prices.piece.size), np.arange(1, tries + 1)
    is_down = (nth[None, :] * turn[:, None] * 7 + turn[:, None] * 3) % 2 == 1
    signs = np.where(is_down ^ (nth[None, :] % (turn[:, None] + 1) == 0), -1.0, 1.0)
    return [Prices(prices.piece * (1 + ASIDE * sign), prices.limit) for sign in signs]


def blends(tableau: Tableau, one: Columns, other: Columns, prices: Prices, steps: int) -> Columns:
    """Return configurations between two of the same workloads, in `steps` steps, filled up to the work.

    A large workload that a relaxation splits over two configurations can split its replicas likewise.
    """
    parts = [no_columns(tableau)]
    for kind in tableau.kinds:
        row_of = np.full(tableau.work.size, -1)
        row_of[kind.asks] = np.arange(kind.asks.size)
        a, b = of_kind(kind, one.counts), of_kind(kind, other.counts)
        mine = (row_of[one.ask] >= 0) & a.any(axis=1) & b.any(axis=1) & ~tableau.is_equal[one.ask]
        mine &= (one.short == 0) & (other.short == 0)
        rows, a, b = row_of[one.ask[mine]], a[mine], b[mine]
        if not rows.size:
            continue
        unit, domain, _ = unit_prices(tableau, kind, prices)
        capacity, work = kind.capacity[rows], tableau.work[kind.asks[rows]]
        for step in range(1, steps):
            base = (a * step + b * (steps - step)) // steps
            _, more = guess(capacity, unit[rows], np.maximum(work - (base * capacity).sum(axis=1), 0.0))
            total = _padded(base + more, unit[rows], fewest_of(tableau, kind)[rows])
            fits = total.sum(axis=1) <= tableau.most[kind.asks[rows]]
            parts.append(dealt(tableau, kind, rows[fits], total[fits], domain, prices, 1.0))
    return joined(*parts)


def _kinds(tableau: Tableau, among: NDArray[np.bool_] | None) -> Sequence[Kind]:
    return tableau.kinds if among is None else [kind.of(among) for kind in tableau.kinds]


def unit_prices(tableau: Tableau, kind: Kind, prices: Prices) -> tuple[Floats, Ints, Floats]:
    """Return prices (n, K), the cheapest domain by piece (K,), and prices of a floor (n, K).

    Replicas that are spread pay the mean of the domains; no spread can cost less than the cheapest.
    """
    width = kind.width
    by_domain = np.stack([prices.piece[first : first + width] for first in kind.domains])
    spread = tableau.is_spread[kind.asks]
    limits = _limits_paid(tableau, kind, kind.asks, prices)
    lowest = by_domain.min(axis=0)[None, :] + limits
    mean = by_domain.mean(axis=0)[None, :] + limits
    usable = kind.capacity > 0
    least = np.where(usable, lowest, NEVER)
    return np.where(usable & spread[:, None], mean, least), by_domain.argmin(axis=0), least


def prices_to(tableau: Tableau, row: int, prices: Prices) -> Floats:
    """Return what each piece costs one workload, with what it takes of limits that bind, shape (P,)."""
    piece = prices.piece.copy()
    for kind in tableau.kinds:
        for first in kind.domains:
            piece[first : first + kind.width] += _limits_paid(tableau, kind, row, prices)
    return piece


def _limits_paid(tableau: Tableau, kind: Kind, rows: Ints | int, prices: Prices) -> Floats:
    """Return what workloads pay on each piece for what it takes of limits that bind, (K,) or (n, K)."""
    paid: Floats = (tableau.weights[rows] * prices.limit) @ kind.charges
    return paid


def _of_kind(tableau: Tableau, kind: Kind, prices: Prices, level: float) -> Columns:
    unit, domain, _ = unit_prices(tableau, kind, prices)
    work = tableau.work[kind.asks] * level
    fewest = fewest_of(tableau, kind) * (level > 0)
    counts = _single(kind, unit, work, fewest, tableau.most[kind.asks])
    mixes = np.flatnonzero(~tableau.is_equal[kind.asks] & (work > 0))
    if mixes.size:
        _, mixed = guess(kind.capacity[mixes], unit[mixes], work[mixes])
        mixed = _padded(mixed, unit[mixes], fewest[mixes])
        fits = mixed.sum(axis=1) <= tableau.most[kind.asks][mixes]
        fits &= (mixed * kind.capacity[mixes]).sum(axis=1) >= work[mixes] - ROUNDING
        cost = _paid(mixed, unit[mixes])
        better = fits & (cost < _paid(counts[mixes], unit[mixes]) - ROUNDING)
        counts[mixes[better]] = mixed[better]
    carries = (counts.sum(axis=1) > 0) | (work <= ROUNDING)
    kept = np.flatnonzero(carries)
    return dealt(tableau, kind, kept, counts[kept], domain, prices, level)


def _single(kind: Kind, unit: Floats, work: Floats, fewest: Ints, most: Ints) -> Ints:
    """Return the cheapest counts of one piece alone, all zero where none would do."""
    usable = kind.capacity > 0
    needed = np.ceil((work[:, None] - ROUNDING) / np.where(usable, kind.capacity, 1.0))
    needed = np.maximum(needed, fewest[:, None])
    allowed = usable & (needed <= most[:, None])
    paid = np.where(allowed, needed * np.where(usable, unit, 0.0), NEVER)
    best = paid.argmin(axis=1)
    at = np.arange(work.size)
    counts = np.zeros(kind.capacity.shape, dtype=np.int64)
    counts[at, best] = np.where(np.isfinite(paid[at, best]), needed[at, best], 0).astype(np.int64)
    return counts


def _padded(counts: Ints, unit: Floats, fewest: Ints) -> Ints:
    """Return counts with cheapest pieces added up to the fewest replicas."""
    padded = counts.copy()
    padded[np.arange(len(counts)), unit.argmin(axis=1)] += np.maximum(fewest - counts.sum(axis=1), 0)
    return padded


def _paid(counts: Ints, unit: Floats) -> Floats:
    paid = np.where(counts > 0, counts * np.where(np.isfinite(unit), unit, 0.0), 0.0).sum(axis=1)
    return np.where(counts.sum(axis=1) > 0, paid, NEVER)
