"""Stored models: real trees of one leaf each, said to be as good as a test wants."""

import numpy as np

from predictor.forest import Forest
from predictor.learned import Learned
from predictor.registry import artefact
from predictor.registry.gate import RULES
from predictor.registry.manifest import Loss, Score, Signature, Training

NAME = "global"
QUANTILES = (0.5, 0.95)
SIGNATURE = Signature(("now", "an hour ago", "yesterday"), (1800, 3600), QUANTILES, 300, "peak")
NOW_S = 1_790_000_000


def model(shift=0.0, quantiles=QUANTILES):
    """Says the same of every row: log-quantiles 0, 1, ... plus a shift."""
    n = len(quantiles) + 1
    leaf = np.zeros((n, 1), np.int32)
    forest = Forest(
        column=leaf,
        threshold=np.full((n, 1), np.inf),
        is_unknown_left=np.zeros((n, 1), bool),
        left=leaf,
        right=leaf,
        value=np.arange(n, dtype=float)[:, None] + shift,
        first_tree=np.arange(n, dtype=np.int32),
        base=np.zeros(n),
        depth=0,
    )
    return Learned(quantiles, np.ones(len(SIGNATURE.features), bool), forest)


def scores(pinball=0.08, coverage=None, windows=2000, **rivals):
    """Scores at every window and quantile: rules cost 0.1, and others what is said."""
    losses = {**dict.fromkeys(RULES, 0.1), **rivals}
    return tuple(
        Score(
            window_s,
            quantile,
            windows,
            quantile if coverage is None else coverage,
            pinball,
            tuple(Loss(name, loss) for name, loss in losses.items()),
        )
        for window_s in SIGNATURE.windows_s
        for quantile in QUANTILES
    )


def files(shift=0.0, name=NAME, stored=None, signature=SIGNATURE, made_s=NOW_S, folds="f" * 64, **scored):
    """The files of an artefact."""
    rows = np.random.default_rng(0).normal(size=(20, len(signature.features))).astype(np.float32)
    rows[0, 0] = rows[-1, 1] = np.nan
    return artefact.write(
        name,
        model(shift) if stored is None else stored,
        rows,
        signature=signature,
        training=Training(0, 1_780_000_000, 24, "d" * 64),
        folds=folds,
        scores=scores(**scored),
        made_s=made_s,
    )


def published(registry, shift=0.0, **given):
    """Publish one, and return its version."""
    return registry.publish(files(shift, **given), NAME)
