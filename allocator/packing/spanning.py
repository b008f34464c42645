"""Replicas over several whole cards: each on cards of one node, which are joined by NVLink."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from allocator.packing.cards import Card, Seat
from fleet.errors import InputError
from fleet.shape import Shape
from fleet.workload import WorkloadKey

Tenants = dict[Seat, WorkloadKey | None]


def seated_together(
    wanted: Mapping[tuple[WorkloadKey, Shape], int], cards: Sequence[Card]
) -> dict[str, Tenants]:
    """Return the seats of cards that replicas over several cards take, by card.

    Those that run stay where they are. Others take the joined cards on which fewest replicas sit, of equals
    those of the node with fewest cards to spare, widest replicas first. The cards of a replica have one seat
    each: the first stands for it, the others are parts of it.

    `InputError` naming the cards that are missing on one node.
    """
    taken: dict[str, Tenants] = {}
    left = Counter(wanted)
    for mine in _by_node(cards).values():
        heads = Counter(one for card in mine for one in _heads(card))
        kept = {one: min(n, left[one]) for one, n in heads.items()}
        for (key, shape), n in kept.items():
            left[key, shape] -= n
            seats = [
                (card, seat)
                for card in mine
                for seat, t in card.held.items()
                if (t, seat.shape) == (key, shape)
            ]
            for start in range(shape.cards):
                for card, seat in [one for one in seats if one[1].start == start][:n]:
                    taken[card.uuid] = {seat: key}
    for (key, shape), n in sorted(left.items(), key=lambda one: (-one[0][1].cards, one[0])):
        for _ in range(n):
            for start, card in enumerate(_joined(shape, cards, taken)):
                taken[card.uuid] = {Seat(shape, start): key}
    return taken


def _joined(shape: Shape, cards: Sequence[Card], taken: Mapping[str, Tenants]) -> list[Card]:
    """Return the cards of one node that a replica disturbs least on."""
    offers = []
    for node, mine in _by_node(cards).items():
        free = sorted((c for c in mine if c.uuid not in taken), key=lambda card: (len(card.held), card.uuid))
        if len(free) >= shape.cards:
            chosen = free[: shape.cards]
            offers.append((sum(len(card.held) for card in chosen), len(free), node, chosen))
    if not offers:
        raise InputError(
            f"{shape.cards} cards of one node are needed for 1 x {shape.name}",
            where=f"board {shape.board}",
            fix="add a node, or offer it fewer cards a replica",
        )
    return min(offers, key=lambda one: one[:3])[3]


def _by_node(cards: Sequence[Card]) -> dict[str, list[Card]]:
    nodes: defaultdict[str, list[Card]] = defaultdict(list)
    for card in cards:
        nodes[card.node].append(card)
    return dict(sorted(nodes.items()))


def _heads(card: Card) -> list[tuple[WorkloadKey, Shape]]:
    return [
        (tenant, seat.shape)
        for seat, tenant in card.held.items()
        if seat.shape.cards > 1 and not seat.is_part
    ]
