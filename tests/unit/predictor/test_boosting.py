"""The regressor of one quantile, and its trees as flat arrays."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictor.boosting import QuantileBoosting
from predictor.forest import Forest
from tests.builders.recipes import OWN


@parametrize_with_checks(
    [QuantileBoosting(trees=20, learning_rate=0.3, l2=0.0, rows_per_leaf=1, share_of_columns=1.0)]
)
def test_it_is_a_regressor_as_scikit_learn_wants_them(estimator, check):
    check(estimator)


def table(rows=600, columns=6, seed=0):
    draws = np.random.default_rng(seed)
    features = draws.normal(size=(rows, columns))
    return features, features[:, 0] + draws.normal(size=rows)


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_it_covers_its_quantile(quantile):
    features, targets = table(4000)
    model = QuantileBoosting(quantile, **OWN.parameters).fit(features[:3000], targets[:3000])
    assert pytest.approx(quantile, abs=0.04) == np.mean(targets[3000:] <= model.predict(features[3000:]))


def test_a_column_that_is_nowhere_known_is_left_out():
    """A25: scikit-learn 1.9 fails on it."""
    features, targets = table()
    empty = np.column_stack([features[:, :2], np.full(len(features), np.nan), features[:, 2:]])
    model = QuantileBoosting(trees=10).fit(empty, targets)
    assert [True, True, False, True, True, True, True] == list(model.columns_)
    np.testing.assert_array_equal(
        QuantileBoosting(trees=10).fit(features, targets).predict(features), model.predict(empty)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_forest_says_what_its_models_say(dtype):
    """scikit-learn's trees are read where it has no public access: this is what holds it to account."""
    features, targets = table()
    features[np.random.default_rng(1).random(features.shape) < 0.1] = np.nan
    features[:, 3] = np.nan
    rows = features.astype(dtype)
    models = [
        QuantileBoosting(q, trees=t, leaves=n).fit(rows, targets) for q, t, n in ((0.5, 30, 7), (0.9, 5, 15))
    ]
    expected = np.column_stack([model.predict(rows) for model in models])
    np.testing.assert_allclose(expected, Forest.of(models).predict(rows), rtol=1e-12)


def test_a_forest_knows_values_that_no_model_has_seen():
    features, targets = table()
    model = QuantileBoosting(trees=20).fit(features, targets)
    odd = np.vstack([np.full(6, 1e9), np.full(6, -1e9), np.full(6, np.nan), features[0]])
    np.testing.assert_allclose(model.predict(odd), Forest.of([model]).predict(odd)[:, 0], rtol=1e-12)


def test_a_forest_of_no_rows_says_nothing():
    features, targets = table()
    forest = Forest.of([QuantileBoosting(trees=2).fit(features, targets)])
    assert (0, 1) == forest.predict(features[:0]).shape
