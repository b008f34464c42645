"""What targets of capacity come to under limits that all policies share: what is held, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from predictor.highest import highest_ahead, trailing_highest
from predictor.ports import Bools, Floats


@dataclass(frozen=True, slots=True)
class Limits:
    """What any policy has to live with.

    Attributes:
        lag: Steps from when capacity is ordered to when it is ready.
        quiet: Steps for which a target must have been lower before capacity is given up, at least one.
        grain: Smallest piece of capacity, 0 = it is had in any size.
        fewest: Pieces that there always are.
    """

    lag: int
    quiet: int
    grain: float = 0.0
    fewest: int = 1


@dataclass(frozen=True, slots=True)
class Ledger:
    """What settings of one policy held and lacked, by block of time.

    Attributes:
        held: Capacity x time, by setting and block; a piece counts from when it is ordered.
        lacked: Work that came and found no ready capacity, likewise; nothing waits.
        asked: Work that came, by block.
    """

    held: Floats
    lacked: Floats
    asked: Floats

    def of_blocks(self, which: Bools | slice) -> Ledger:
        """Return what some of the blocks say."""
        return Ledger(self.held[:, which], self.lacked[:, which], self.asked[which])

    def of_setting(self, place: int) -> Ledger:
        """Return what one of the settings came to."""
        return Ledger(self.held[place, None], self.lacked[place, None], self.asked)

    @staticmethod
    def joined(ledgers: Iterable[Ledger]) -> Ledger:
        """Return the settings of several policies for the same blocks as those of one that may choose."""
        every = list(ledgers)
        return Ledger(
            np.concatenate([one.held for one in every]),
            np.concatenate([one.lacked for one in every]),
            every[0].asked,
        )

    @staticmethod
    def then(ledgers: Iterable[Ledger]) -> Ledger:
        """Return what as many settings came to over times that follow each other."""
        every = list(ledgers)
        return Ledger(
            np.concatenate([one.held for one in every], axis=1),
            np.concatenate([one.lacked for one in every], axis=1),
            np.concatenate([one.asked for one in every]),
        )


def ledger(
    targets: Floats, factors: Floats, demand: Floats, counts: Bools, limits: Limits, block: int
) -> Ledger:
    """Return what factors times each target come to, one setting for each pair of them.

    Capacity ordered after step t is ready from step t + 1 + lag on; it is given up after `quiet` steps. So
    what is ready is the lowest over the lag of the highest over the quiet time of the targets, and rounding
    up to whole pieces may come last, as it never changes an order.

    Args:
        targets: Wanted capacity, by target and step, from what is known at the end of the step.
        factors: That targets are multiplied by, above 0.
        demand: Work that came, by step; any number where it is not known.
        counts: Which steps are scored.
        limits: Of capacity.
        block: Steps in a block; the last block is what is left.
    """
    held = trailing_highest(targets, limits.quiet)
    ready = -trailing_highest(-held, limits.lag + 1)
    held, ready = _a_step_later(held), _a_step_later(ready)
    starts = np.arange(0, len(demand), block)
    shape = (len(targets) * len(factors), len(starts))
    of_held, of_lacked = np.empty(shape), np.empty(shape)
    asked = np.where(counts, demand, 0.0)
    for place, (of_target, factor) in enumerate(np.ndindex(len(targets), len(factors))):
        bought = _in_pieces(factors[factor] * held[of_target], limits)
        lacks = asked - _in_pieces(factors[factor] * ready[of_target], limits)
        of_held[place] = np.add.reduceat(bought * counts, starts)
        of_lacked[place] = np.add.reduceat(np.maximum(lacks, 0.0, out=lacks), starts)
    return Ledger(of_held, of_lacked, np.add.reduceat(asked, starts))


def foreknown(demand: Floats, limits: Limits) -> Floats:
    """Return the targets (1 x steps) of who knows what will come until an order of now is ready."""
    return highest_ahead(demand, limits.lag + 1)[None]


def _a_step_later(values: Floats) -> Floats:
    return np.concatenate([values[:, :1], values[:, :-1]], axis=1)


def _in_pieces(capacity: Floats, limits: Limits) -> Floats:
    """Round capacity up to whole pieces, in place."""
    if limits.grain:
        capacity /= limits.grain
        np.ceil(capacity - _ROUND_OFF, out=capacity)
        np.maximum(capacity, limits.fewest, out=capacity)
        capacity *= limits.grain
    return capacity


_ROUND_OFF = 1e-9
