"""Placement of one replica on shared hosts: where least of what the mix to come could use is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from allocator.shares.fragmentation import Floats, Fragmentation, Stranding
from allocator.shares.hosts import Hosts, Ints, Spot
from allocator.shares.mix import Ask, Mix

_SAME_MILLI = 1e-6
"""Losses nearer than this are the same; what is left is the error of floating-point sums."""


class Rule(Protocol):
    """Decides where a replica goes."""

    def spot(self, hosts: Hosts, ask: Ask) -> Spot | None:
        """Return where it goes, `None` if it fits nowhere."""


Score = Callable[[Hosts, Ints, Ask], tuple[Floats, Ints]]
"""Scores of the hosts `rows`, all of which fit, and the card that a share would take on each (0 else)."""


class Scores:
    """Scores of every host for every ask; only what changed since the last time is worked out again."""

    def __init__(self, score: Score) -> None:
        self._score = score
        self._known: dict[Ask, tuple[Floats, Ints, Ints]] = {}

    def of(self, hosts: Hosts, ask: Ask) -> tuple[Floats, Ints]:
        """Return the score of each host, infinite where the replica does not fit, and the card on each."""
        if ask not in self._known:
            count = len(hosts.version)
            self._known[ask] = (np.full(count, np.inf), np.zeros(count, np.int64), np.full(count, -1))
        scores, cards, versions = self._known[ask]
        changed = np.flatnonzero(versions != hosts.version)
        versions[changed] = hosts.version[changed]
        fits = hosts.fits(ask, changed)
        scores[changed[~fits]] = np.inf
        rows = changed[fits]
        if len(rows):
            scores[rows], cards[rows] = self._score(hosts, rows, ask)
        return scores, cards


def cards_of(hosts: Hosts, host: int, ask: Ask, card: int) -> Spot:
    """Return the spot on a host: this card for a share, else the first cards that are free."""
    return Spot(host, (card,) if ask.is_share else hosts.cards_for(host, ask))


def best_card(values: Floats, rows: Ints, cards: Ints, count: int) -> tuple[Floats, Ints]:
    """Return the least value of each of `count` rows, and its card; every row must occur, rows ascending."""
    order = np.lexsort((cards, values, rows))
    first = order[np.searchsorted(rows[order], np.arange(count))]
    return values[first], cards[first]


def after(hosts: Hosts, rows: Ints, ask: Ask) -> tuple[Ints, Ints, Ints]:
    """Return every way to put a replica on the hosts `rows`.

    Returns:
        For each way: which of `rows`, the card that a share takes (0 else), idle cards after it.
    """
    idle = hosts.idle[rows]
    if ask.is_share:
        which, card = np.nonzero(idle >= ask.milli)
        left = idle[which]
        left[np.arange(len(which)), card] -= ask.milli
        return which, card, left
    free = idle >= max(ask.milli, 1)
    taken = free & (free.cumsum(axis=1) <= ask.gpus)
    return np.arange(len(rows)), np.zeros(len(rows), np.int64), idle - ask.milli * taken


class LeastLoss:
    """Places where fragments and stranded GPU grow least; then on the host with least left.

    Deterministic: the same hosts and the same ask have the same spot. One rule serves one set of hosts.
    """

    def __init__(self, mix: Mix, hosts: Hosts) -> None:
        self._fragmentation = Fragmentation(mix, hosts.products)
        self._stranding = Stranding(mix)
        self._scores = Scores(self._growth)

    def spot(self, hosts: Hosts, ask: Ask) -> Spot | None:
        """Return where the replica goes, `None` if it fits nowhere."""
        losses, cards = self._scores.of(hosts, ask)
        least = losses.min(initial=np.inf)
        if least == np.inf:
            return None
        best = np.flatnonzero(losses <= least + _SAME_MILLI)
        host = int(best[np.lexsort((hosts.cpu_milli[best], hosts.idle[best].sum(axis=1)))[0]])
        return cards_of(hosts, host, ask, int(cards[host]))

    def _growth(self, hosts: Hosts, rows: Ints, ask: Ask) -> tuple[Floats, Ints]:
        which, card, left = after(hosts, rows, ask)
        before = self._loss(
            hosts.idle[rows], hosts.cpu_milli[rows], hosts.memory_mib[rows], hosts.product[rows]
        )
        host = rows[which]
        cpu, memory = hosts.cpu_milli[host] - ask.cpu_milli, hosts.memory_mib[host] - ask.memory_mib
        growth = self._loss(left, cpu, memory, hosts.product[host]) - before[which]
        return best_card(growth, which, card, len(rows))

    def _loss(self, idle: Ints, cpu_milli: Ints, memory_mib: Ints, product: Ints) -> Floats:
        fragments = self._fragmentation.expected(idle, cpu_milli, product)
        return fragments + self._stranding.expected(idle, cpu_milli, memory_mib)
