"""Boosted trees as flat arrays, read once and asked often: many models and few rows in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from predictor.boosting import QuantileBoosting
from predictor.ports import Bools, Floats

Indices = NDArray[np.int32]

_ROWS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of several models over the same columns; arrays are by tree and node, padded.

    Attributes:
        column: Column that a node splits on.
        threshold: Values up to it go left.
        is_unknown_left: Whether unknown values go left.
        left: Index of the left child; that of the node itself in a leaf.
        right: Index of the right child; likewise.
        value: What a leaf adds.
        first_tree: Index of each model's first tree.
        base: What each model starts from.
        depth: Splits from root to the deepest leaf.
    """

    column: Indices
    threshold: Floats
    is_unknown_left: Bools
    left: Indices
    right: Indices
    value: Floats
    first_tree: Indices
    base: Floats
    depth: int

    @classmethod
    def of(cls, models: Sequence[QuantileBoosting]) -> Self:
        """Return the trees of fitted models.

        scikit-learn has no public access to them; `tests/unit/predictor/test_boosting.py` holds what is read
        here against `predict`, to the last digit.
        """
        trees = [
            (_nodes_of(predictor), np.flatnonzero(model.columns_))
            for model in models
            for (predictor,) in model.model_._predictors  # noqa: SLF001
        ]
        counts = [len(model.model_._predictors) for model in models]  # noqa: SLF001
        size = max((len(nodes) for nodes, _ in trees), default=1)
        shape = len(trees), size
        itself = np.broadcast_to(np.arange(size, dtype=np.int32), shape)
        forest = cls(
            column=np.zeros(shape, np.int32),
            threshold=np.full(shape, np.inf),
            is_unknown_left=np.zeros(shape, np.bool_),
            left=itself.copy(),
            right=itself.copy(),
            value=np.zeros(shape),
            first_tree=np.cumsum([0, *counts[:-1]], dtype=np.int32),
            base=np.array([np.ravel(model.model_._baseline_prediction)[0] for model in models]),  # noqa: SLF001
            depth=max((int(nodes["depth"].max()) for nodes, _ in trees), default=0),
        )
        for row, (nodes, columns) in enumerate(trees):
            forest._write(row, nodes, columns)
        return forest

    def _write(self, row: int, nodes: NDArray[np.void], columns: NDArray[np.int64]) -> None:
        size = len(nodes)
        is_split = ~nodes["is_leaf"].astype(np.bool_)
        self.value[row, :size] = nodes["value"]
        split = np.flatnonzero(is_split)
        self.column[row, split] = columns[nodes["feature_idx"][split]]
        self.threshold[row, split] = nodes["num_threshold"][split]
        self.is_unknown_left[row, split] = nodes["missing_go_to_left"][split].astype(np.bool_)
        self.left[row, split] = nodes["left"][split]
        self.right[row, split] = nodes["right"][split]

    def predict(self, rows: NDArray[np.floating]) -> Floats:
        """Return what each model says of each row (rows x columns in, rows x models out)."""
        said = [
            self._predict(rows[first : first + _ROWS_AT_ONCE]) for first in range(0, len(rows), _ROWS_AT_ONCE)
        ]
        return np.concatenate(said) if said else np.empty((0, len(self.base)))

    def _predict(self, rows: NDArray[np.floating]) -> Floats:
        """Walk down all trees at once; a node goes by its place in the raveled arrays, which is cheap."""
        trees, size = self.column.shape
        root = np.arange(0, trees * size, size, dtype=np.int32)
        row = np.arange(0, rows.size, rows.shape[1])[:, None]
        node = np.broadcast_to(root, (len(rows), trees))
        for _ in range(self.depth):
            asked = rows.take(row + self.column.take(node))
            goes_left = (asked <= self.threshold.take(node)) | (
                np.isnan(asked) & self.is_unknown_left.take(node)
            )
            node = root + np.where(goes_left, self.left.take(node), self.right.take(node))
        said: Floats = np.add.reduceat(self.value.take(node), self.first_tree, axis=1) + self.base
        return said


def _nodes_of(predictor: object) -> NDArray[np.void]:
    nodes: NDArray[np.void] = predictor.nodes  # type: ignore[attr-defined]
    return nodes
