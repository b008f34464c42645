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
        boards: Kinds of cards; a replica on any other kind counts as one whole card.
    """

    def __init__(self, boards: Iterable[Board]) -> None:
        self._boards = {board.id: board for board in boards}
        self._shares: dict[Shape, float] = {}

    def of(self, shape: Shape) -> float:
        """Return the cards that one replica takes, a part of one or several."""
        if shape not in self._shares:
            board = self._boards.get(shape.board)
            self._shares[shape] = slice_of(board, shape).gpu_share if board is not None else 1.0
        return self._shares[shape]

    def total(self, configurations: Iterable[Configuration]) -> float:
        """Return the cards that configurations take together."""
        return sum(self.of(shape) * n for held in configurations for shape, n in held.counts.items())

    def safe(self, standing: Standing) -> Configuration | None:
        """Return what a workload returns to if foreslice is gone, `None` if it was never changed.

        Its own replicas of before; on another shape by now, so many as take as many cards as those did.
        """
        if standing.before is None or not standing.own.rollout.is_switched:
            return standing.safe
        own = standing.own.shape
        as_much = ceil(self.total([standing.before]) / self.of(own) - _ROUNDING)
        replicas = max(as_much, standing.before.replicas)
        # Beyond that nothing that scales it would let the floor be raised.
        most = min((scaler.most for scaler in standing.scalers), default=replicas)
        return Configuration({own: min(replicas, most)})

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
