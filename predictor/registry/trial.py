"""Several models and rules on the very same windows, which none of the models has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mean_pinball_loss

from predictor.conformal import ranks
from predictor.features import Features
from predictor.ports import Bools, Floats
from predictor.registry.artefact import Model
from predictor.registry.gate import RULES
from predictor.registry.manifest import Loss, Score, fingerprint

OURS = "ours"
"""Name of the challenger among those who are tried."""

CALIBRATING = 0.5
"""First share of the windows, from which every method learns its shifts; scored are the others."""


@dataclass(frozen=True, slots=True)
class Folds:
    """Windows of some series that are predicted.

    Attributes:
        tables: Features of each series by window in s, none of their targets seen by a model that is tried.
        step_s: Length of a step.
        quantiles: That are asked for, rising.
    """

    tables: Sequence[Mapping[int, Features]]
    step_s: int
    quantiles: tuple[float, ...]

    @property
    def fingerprint(self) -> str:
        """Same for the same windows."""
        tables = (table for by_window in self.tables for table in by_window.values())
        return fingerprint(array for table in tables for array in (table.level, table.target))


def scores_of(folds: Folds, challenger: Model, champions: Mapping[str, Model]) -> tuple[Score, ...]:
    """Return how good a model was on folds, beside champions (by version) and the rules without learning.

    All get the same split-conformal shift by quantile and series, on the log of demand over level. Losses
    are over a series' mean demand, the mean over series; windows whose demand was censored are left out. A
    window with nothing to score in any series has no score.
    """
    models = {OURS: challenger, **champions}
    windows_s = sorted({window_s for tables in folds.tables for window_s in tables})
    scores = []
    for window_s in windows_s:
        tried = [
            one
            for tables in folds.tables
            if window_s in tables and (one := _tried(tables[window_s], models, window_s, folds)) is not None
        ]
        scores += [_score(tried, place, window_s, quantile) for place, quantile in enumerate(folds.quantiles)]
    return tuple(score for score in scores if score is not None)


@dataclass(frozen=True, slots=True)
class _Tried:
    """One series: what came, and what each said of it by quantile."""

    came: Floats
    said: Mapping[str, Floats]


def _tried(table: Features, models: Mapping[str, Model], window_s: int, folds: Folds) -> _Tried | None:
    width = max(1, round(window_s / folds.step_s))
    ahead = np.log((table.target + table.floor) / table.level)
    centres = {
        RULES[0]: np.log(table.last / table.level),
        RULES[1]: np.log((table.seasonal + table.floor) / table.level),
    }
    logs = {name: np.repeat(one[:, None], len(folds.quantiles), axis=1) for name, one in centres.items()}
    logs |= {name: model.predict(table.rows, window_s)[0] for name, model in models.items()}
    is_known = np.isfinite(ahead) & ~table.is_bound & np.isfinite(np.stack(list(logs.values()))).all((0, 2))
    split = round(len(ahead) * CALIBRATING)
    before, after = is_known.copy(), is_known.copy()
    before[max(0, split - width) :] = False  # their windows reach into what is scored
    after[:split] = False
    came = table.target[after]
    if not before.any() or not came.any():
        return None
    return _Tried(
        came,
        {name: _shifted(one, ahead, before, after, table, folds.quantiles) for name, one in logs.items()},
    )


def _shifted(
    logs: Floats, ahead: Floats, before: Bools, after: Bools, table: Features, quantiles: tuple[float, ...]
) -> Floats:
    misses = np.sort(ahead[before, None] - logs[before], axis=0)
    shift = misses[list(ranks(len(misses), quantiles)), range(len(quantiles))]
    said = np.sort(logs[after] + shift, axis=1)
    demand: Floats = np.exp(said) * table.level[after, None] - table.floor[after, None]
    return np.maximum(demand, 0.0)


def _score(tried: Sequence[_Tried], place: int, window_s: int, quantile: float) -> Score | None:
    if not tried:
        return None
    losses = {
        name: float(
            np.mean(
                [
                    mean_pinball_loss(one.came, one.said[name][:, place], alpha=quantile) / one.came.mean()
                    for one in tried
                ]
            )
        )
        for name in tried[0].said
    }
    covered = np.concatenate([one.came <= one.said[OURS][:, place] for one in tried])
    return Score(
        window_s=window_s,
        quantile=quantile,
        windows=len(covered),
        coverage=float(covered.mean()),
        pinball=losses.pop(OURS),
        rivals=tuple(Loss(name, loss) for name, loss in losses.items()),
    )
