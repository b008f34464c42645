"""The order in which the scheduler comes to pools, as pods are placed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush, heapreplace

from fleet.devices import Pool

Rank = tuple[int, int, int, str]
"""As `fleet.devices.rank_of_trial`: the name of the pool last."""


class Trial:
    """Pools to try, the lowest rank first.

    A pod that is placed changes few ranks: only that of the pool which comes up is asked for again.
    Complexity: linear in the pools once, then their logarithm for each that is tried.

    Args:
        pools: Pools to try.
        rank: Returns the rank of a pool now. It may only rise, but of the pool that is first, and of those
            that are `nearer`.
    """

    def __init__(self, pools: Iterable[Pool], rank: Callable[[Pool], Rank]) -> None:
        self._pools = {pool.name: pool for pool in pools}
        self._rank = rank
        self._order = [rank(pool) for pool in self._pools.values()]
        heapify(self._order)

    def first(self) -> Pool | None:
        """Return the pool to try next, `None` if none is left."""
        while self._order:
            pool = self._pools[self._order[0][-1]]
            if self._order[0] == (now := self._rank(pool)):
                return pool
            heapreplace(self._order, now)
        return None

    def nearer(self, pools: Iterable[Pool]) -> None:
        """Come to pools sooner whose rank has fallen."""
        for pool in pools:
            heappush(self._order, self._rank(pool))

    def drop(self) -> None:
        """Try the pool that is first no more."""
        heappop(self._order)
