"""Boosted trees for one quantile of what comes, relative to where demand stands."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from predictor.ports import Floats

# Trees of a few thousand rows gain nothing from more threads, and those wait for each other by spinning: two
# processes that fit on two cores at once would take many times as long.
_THREADS = ThreadpoolController()


class QuantileBoosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Gradient boosting of a quantile by scikit-learn's histogram trees; columns of the table may be empty.

    A column that is not known in any training row (last week's in the first week) is left out: scikit-learn
    1.9 fails on it. What settings are left out are scikit-learn's own; recipes have those that did best.

    Attributes:
        columns_: Which columns are in use.
        model_: The trees.
    """

    def __init__(  # noqa: PLR0913 -- scikit-learn reads settings off the signature
        self,
        quantile: float = 0.5,
        *,
        trees: int = 100,
        leaves: int = 31,
        learning_rate: float = 0.1,
        l2: float = 0.0,
        share_of_columns: float = 1.0,
        rows_per_leaf: int = 20,
        bins: int = 255,
        random_state: int = 0,
    ) -> None:
        self.quantile = quantile
        self.trees = trees
        self.leaves = leaves
        self.learning_rate = learning_rate
        self.l2 = l2
        self.share_of_columns = share_of_columns
        self.rows_per_leaf = rows_per_leaf
        self.bins = bins
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's name
        """Learn from rows of features and what came after each, and return self."""
        rows, targets = validate_data(
            self, X, y, ensure_all_finite="allow-nan", dtype=[np.float64, np.float32]
        )
        self.columns_ = ~np.isnan(rows).all(axis=0)
        trees = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=self.quantile,
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            learning_rate=self.learning_rate,
            l2_regularization=self.l2,
            max_features=self.share_of_columns,
            min_samples_leaf=self.rows_per_leaf,
            max_bins=self.bins,
            early_stopping=False,
            random_state=self.random_state,
        )
        with _THREADS.limit(limits=1):
            self.model_ = trees.fit(rows[:, self.columns_], targets, sample_weight=sample_weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return the quantile for each row."""
        check_is_fitted(self)
        rows = validate_data(
            self, X, reset=False, ensure_all_finite="allow-nan", dtype=[np.float64, np.float32]
        )
        with _THREADS.limit(limits=1):
            said: Floats = self.model_.predict(rows[:, self.columns_])
        return said

    def __sklearn_tags__(self) -> object:
        """Return what scikit-learn should know: unknown values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
