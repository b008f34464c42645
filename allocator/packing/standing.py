"""A packing problem that knows what stands, so that a new plan disturbs little."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from allocator.packing.cards import Card, Seat
from allocator.packing.placement import seats_of
from allocator.packing.problem import Cut, Problem, Stock
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey


def standing_on(problem: Problem, cards: Sequence[Card], *, recut: float, restart: float) -> Problem:
    """Return the problem with the cuts and replicas that stand, and what it costs to change them.

    A card in use counts for the cut that it has; one that is cut only where it is used counts for every cut
    that it can grow into without anyone on it moving. `recut` is the cost of cutting a card otherwise,
    `restart` that of a replica that is not running yet, both in the unit of card prices.
    """
    cuts: list[Counter[Cut]] = [Counter() for _ in problem.stocks]
    now: dict[WorkloadKey, dict[str, Counter[Shape]]] = defaultdict(lambda: defaultdict(Counter))
    for card in cards:
        stock = problem.stocks[card.stock]
        if any(not seat.is_part for seat in card.held):
            cuts[card.stock].update(_cuts(stock, tuple(sorted(card.seats))))
        for seat, tenant in card.held.items():
            now[tenant][stock.domain][seat.shape] += not seat.is_part
    stocks = tuple(replace(one, cut=dict(cut)) for one, cut in zip(problem.stocks, cuts, strict=True))
    asks = tuple(
        replace(ask, now={domain: Configuration(counts) for domain, counts in now[ask.key].items()})
        for ask in problem.asks
    )
    return replace(problem, stocks=stocks, asks=asks, recut=recut, restart=restart)


@lru_cache(maxsize=1 << 14)
def _cuts(stock: Stock, seats: tuple[Seat, ...]) -> tuple[Cut, ...]:
    """Return what a card is cut into, or all that it can grow into; a shared card is what it is."""
    count = Counter(seat.shape for seat in seats)
    cut = tuple(count[piece] for piece in stock.pieces)
    is_shared = any(cut[len(cut) - len(stock.shares) :])
    if is_shared or cut in stock.cuts:
        return (cut,)
    return tuple(larger for larger in stock.cuts if set(seats) <= seats_of(stock, larger, seats))
