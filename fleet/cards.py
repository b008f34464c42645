"""What replicas take of cards, so that configurations of different shapes can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from fleet.boards import Board
from fleet.cluster import Standing
from fleet.shape import Configuration, Shape, slice_of

_ROUNDING = 1e-9


class CardShares:
    """What replicas take of cards.

    Args:
        boards: Kinds of cards; a replica on any other kind counts as whole ones.
    """

    def __init__(self, boards: Iterable[Board]) -> None:
        self._boards = {board.id: board for board in boards}
        self._shares: dict[Shape, float] = {}

    def of(self, shape: Shape) -> float:
        """Return the cards that one replica takes, a part of one or several."""
        if shape not in self._shares:
            board = self._boards.get(shape.board)
            self._shares[shape] = (
                slice_of(board, shape).gpu_share if board is not None else float(shape.cards)
            )
        return self._shares[shape]

    def total(self, configurations: Iterable[Configuration]) -> float:
        """Return the cards that configurations take together."""
        return sum(self.of(shape) * n for held in configurations for shape, n in held.counts.items())

    def safe(self, standing: Standing) -> Configuration | None:
        """Return what a workload returns to if foreslice is gone, `None` if it was never changed.

        What stood before, on the Deployments of its owner's that have those shapes. For shapes that none has
        any more, as many replicas of its own as take as many cards.
        """
        if standing.before is None:
            return None
        before, own = standing.before, standing.own.shape
        if standing.own.rollout.is_switched:
            replicas = max(self._as_much(before, own), before.replicas)
            # Beyond that nothing that scales it would let the floor be raised.
            most = min((scaler.most for scaler in standing.scalers), default=replicas)
            return Configuration({own: min(replicas, most)})
        if standing.scalers:
            # A floor is its owner's number of replicas, whatever he has them run on by now.
            return Configuration({own: before.replicas})
        stand = {variant.shape for variant in standing.variants if not variant.is_copy}
        kept = Configuration({shape: n for shape, n in before.counts.items() if shape in stand})
        gone = Configuration({shape: n for shape, n in before.counts.items() if shape not in stand})
        return kept.plus(own, self._as_much(gone, own))

    def _as_much(self, held: Configuration, shape: Shape) -> int:
        """Return how many replicas of a shape take as many cards as a configuration."""
        return ceil(self.total([held]) / self.of(shape) - _ROUNDING)

    def raised(self, wanted: Configuration, safe: Configuration) -> Configuration:
        """Return what is asked for with as much of `safe` added as it takes to hold as many cards as that.

        Nothing is taken away. Shapes of `safe` that are missing most come first; what holds as much on other
        shapes, as after a change of shape, stays as it is.
        """
        for shape, count in safe.counts.items():
            missing = self.total([safe]) - self.total([wanted])
            lacking = count - wanted.counts.get(shape, 0)
            if missing > _ROUNDING and lacking > 0:
                wanted = wanted.plus(shape, min(lacking, ceil(missing / self.of(shape) - _ROUNDING)))
        return wanted
