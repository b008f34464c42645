"""The cheapest counts of pieces that carry a demand: a good guess, and a bound that holds for all."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from allocator.packing.tableau import Floats, Ints

REMAINDER = 3
"""A guess fills up with at most so many pieces after as many of one kind as fit below the demand."""

ROUNDING = 1e-9
NEVER = np.inf


def guess(capacity: Floats, price: Floats, work: Floats) -> tuple[Floats, Ints]:
    """Return cheap counts that carry `work`, and their prices.

    As many of one piece as stay below the demand, or one fewer, and up to three pieces for the rest; the
    cheapest of all such sums. Args are `capacity` and `price` of shape (n, K) and `work` of shape (n,); a
    piece without capacity is not used. Returns prices (n,), infinite where nothing carries the work, and
    counts (n, K).
    """
    rows, width = capacity.shape
    refills = _refills(width)
    has = capacity > 0
    safe = np.where(has, capacity, 1.0)
    held = capacity @ refills.T
    paid = np.where(has, price, 0.0) @ refills.T
    paid[has.astype(float) @ refills.T < refills.sum(axis=1)] = NEVER
    best, best_base = np.full(rows, NEVER), np.zeros((rows, 2), dtype=np.int64)
    best_refill = np.zeros(rows, dtype=np.int64)
    at = np.arange(rows)
    for piece in range(width):
        most = np.floor((work + ROUNDING) / safe[:, piece])
        for fewer in (0, 1):
            base = np.where(has[:, piece], np.maximum(most - fewer, 0), 0)
            rest = work - base * capacity[:, piece]
            reaching = np.where(held >= rest[:, None] - ROUNDING, paid, NEVER)
            refill = reaching.argmin(axis=1)
            cost = reaching[at, refill] + base * np.where(has[:, piece], price[:, piece], 0.0)
            better = cost < best - ROUNDING
            best = np.where(better, cost, best)
            best_base[better] = np.stack([np.full(rows, piece), base.astype(np.int64)], axis=1)[better]
            best_refill[better] = refill[better]
    counts = refills[best_refill].astype(np.int64)
    counts[at, best_base[:, 0]] += best_base[:, 1]
    return best, counts


@lru_cache(maxsize=8)
def _refills(width: int) -> Floats:
    """Every way to take none to three of `width` pieces, shape (ways, width)."""
    ways = [
        np.bincount(chosen, minlength=width) if chosen else np.zeros(width)
        for size in range(REMAINDER + 1)
        for chosen in combinations_with_replacement(range(width), size)
    ]
    return np.array(ways, dtype=float)


def floor_price(
    capacity: Floats, price: Floats, work: Floats, known: Floats, slack: Floats, most_nodes: int
) -> tuple[Floats, Ints]:
    """Return what no counts of pieces can carry `work` for less than, and the cheapest counts met.

    Branch and bound over all rows at once, pieces from the best price per work on; what is left of a demand
    costs at least its share of the next best. `known` (n,) are prices that can be had; a branch that cannot
    save more than `slack` (n,) is cut, so the floor is within `slack` of the truth. A row with more than
    `most_nodes` open branches is closed at the lowest of their bounds. Counts are all zero where nothing
    cheaper than `known` was met.
    """
    rows, width = capacity.shape
    ratio = np.divide(price, capacity, out=np.full_like(price, NEVER), where=capacity > 0)
    order = np.argsort(ratio, axis=1, kind="stable")
    capacity, price, ratio = (np.take_along_axis(m, order, 1) for m in (capacity, price, ratio))
    best, found = known.copy(), np.zeros((rows, width), dtype=np.int64)
    floor = np.full(rows, NEVER)  # of what was closed without a look
    row = np.flatnonzero(work * ratio[:, 0] < best - slack)
    rest, cost, taken = work[row], np.zeros(row.size), np.zeros((row.size, width), dtype=np.int64)
    for piece in range(width):
        if not row.size:
            break
        unit, holds = price[row, piece], capacity[row, piece]
        usable = holds > 0
        full = np.where(usable, np.ceil((rest - ROUNDING) / np.where(usable, holds, 1.0)), 0).astype(np.int64)
        done = np.where(usable, cost + full * np.where(usable, unit, 0.0), NEVER)
        _keep_cheapest(best, found, row, done, taken, piece, full)
        if piece + 1 == width:
            break
        following = ratio[row, piece + 1]
        # Fewer of this piece are bounded by what the rest costs at the next ratio; none are left without one.
        with np.errstate(invalid="ignore", over="ignore"):
            dearer = holds * following - unit
            saving = cost + rest * following - (best[row] - slack[row])
            least = np.where(dearer > ROUNDING, np.floor(saving / np.where(dearer > 0, dearer, 1)) + 1, 0)
            hopeless = (dearer <= ROUNDING) & (saving >= 0)
        least = np.where(np.isfinite(least), np.maximum(least, 0), full).astype(np.int64)
        branches = np.where(hopeless | ~usable | ~np.isfinite(following), 0, np.maximum(full - least, 0))
        open_branches = np.bincount(row, weights=branches, minlength=rows)
        crowded = open_branches[row] > most_nodes
        if crowded.any():
            np.minimum.at(floor, row[crowded], (cost + rest * ratio[row, piece])[crowded])
            branches = np.where(crowded, 0, branches)
        parent = np.repeat(np.arange(row.size), branches)
        nth = np.arange(parent.size) - np.repeat(np.cumsum(branches) - branches, branches)
        n = least[parent] + nth
        row, rest, cost, taken = (
            row[parent],
            rest[parent] - n * holds[parent],
            cost[parent] + n * unit[parent],
            taken[parent],
        )
        taken[:, piece] = n
        alive = cost + rest * ratio[row, piece + 1] < best[row] - slack[row]
        row, rest, cost, taken = row[alive], rest[alive], cost[alive], taken[alive]
    counts = np.zeros_like(found)
    np.put_along_axis(counts, order, found, 1)
    return np.minimum(np.maximum(best - slack, work * ratio[:, 0]), floor), counts


def _keep_cheapest(
    best: Floats, found: Ints, row: Ints, done: Floats, taken: Ints, piece: int, full: Ints
) -> None:
    """Write down, for each row, the cheapest of the completed counts if it is cheaper than what is known."""
    order = np.lexsort((done, row))
    first = order[np.unique(row[order], return_index=True)[1]]
    better = first[done[first] < best[row[first]] - ROUNDING]
    best[row[better]] = done[better]
    found[row[better]] = taken[better]
    found[row[better], piece] = full[better]
