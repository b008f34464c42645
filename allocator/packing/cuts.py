"""Layouts of cards as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocator.packing.problem import Stock
from allocator.packing.rows import Rows
from allocator.packing.tableau import Floats, Ints, Tableau
from fleet.shape import SHARE_UNITS

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Cuts(Rows):
    """What cards may be cut into, one a row.

    Attributes:
        stock: Stock that each is of, shape (c,).
        width: Cards that each takes, shape (c,).
        counts: Pieces that it gives, shape (c, P).
        cost: Price of the card, and of cutting it where it is not cut like this now, shape (c,).
        most: How many cards may be taken at this cost, shape (c,).
    """

    stock: Ints
    width: Ints
    counts: Ints
    cost: Floats
    most: Floats


def cuts_of(tableau: Tableau) -> Cuts:
    """Return every MIG layout of every stock, and each present cut once more as what needs no cutting."""
    stocks, widths, rows, costs, most = [], [], [], [], []
    problem = tableau.problem
    for index, stock in enumerate(problem.stocks):
        first = tableau.offsets[index]
        new = [(cut, problem.recut, np.inf) for cut in stock.cuts]
        kept = [(cut, 0.0, float(cards)) for cut, cards in sorted(stock.cut.items()) if problem.recut]
        for cut, extra, limit in new + kept:
            row = np.zeros(tableau.pieces, dtype=np.int64)
            row[first : first + len(cut)] = cut
            stocks.append(index)
            widths.append(stock.cards_of(cut))
            rows.append(row)
            costs.append((stock.price + extra) * widths[-1])
            most.append(limit)
    return Cuts(
        np.array(stocks), np.array(widths), np.array(rows), np.array(costs, dtype=float), np.array(most)
    )


def shared_cards(tableau: Tableau, index: int, counts: Ints) -> Cuts:
    """Return new cards of one stock that are shared in these ways, `counts` of shape (c, shares)."""
    stock, cards = tableau.problem.stocks[index], len(counts)
    last = tableau.offsets[index + 1]
    wide = np.zeros((cards, tableau.pieces), dtype=np.int64)
    wide[:, last - len(stock.shares) : last] = counts
    ones = np.ones(cards, dtype=np.int64)
    price = stock.price + tableau.problem.recut
    return Cuts(ones * index, ones, wide, np.full(cards, price), np.full(cards, np.inf))


def best_shares(stock: Stock, price: Floats) -> Ints:
    """Return the counts of shares that are worth most on one card, in the order of `stock.shares`.

    Unbounded knapsack over hundredths of a card, exact. `price` is that of each share, shape (shares,).
    """
    _, chosen = worth_of_shares(stock, price)
    counts = np.zeros(len(stock.shares), dtype=np.int64)
    size = SHARE_UNITS
    while size > 0:
        if chosen[size] < 0:
            size -= 1
        else:
            counts[chosen[size]] += 1
            size -= stock.shares[chosen[size]]
    return counts


def worth_of_shares(stock: Stock, price: Floats) -> tuple[list[float], list[int]]:
    """Return what each part of a card is worth when shared, and the share to begin with, -1 = none."""
    worth, chosen = [0.0] * (SHARE_UNITS + 1), [-1] * (SHARE_UNITS + 1)
    for size in range(1, SHARE_UNITS + 1):
        worth[size] = worth[size - 1]
        for nth, share in enumerate(stock.shares):
            if share <= size and worth[size - share] + price[nth] > worth[size] + ROUNDING:
                worth[size], chosen[size] = worth[size - share] + float(price[nth]), nth
    return worth, chosen


def first_fit(stock: Stock, wanted: Ints) -> Ints:
    """Return cards that hold so many of each share, largest first, shape (cards, shares)."""
    cards: list[list[int]] = []
    left: list[int] = []
    for nth in sorted(range(len(stock.shares)), key=lambda nth: -stock.shares[nth]):
        for _ in range(int(wanted[nth])):
            at = next((i for i, free in enumerate(left) if free >= stock.shares[nth]), len(left))
            if at == len(left):
                left.append(SHARE_UNITS)
                cards.append([0] * len(stock.shares))
            left[at] -= stock.shares[nth]
            cards[at][nth] += 1
    return np.array(cards, dtype=np.int64).reshape(len(cards), len(stock.shares))
