"""Several models and rules on the very same windows, which none of the models has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import mean_pinball_loss

from fleet.errors import InputError
from predictor.blend import FAMILIAR
from predictor.conformal import ranks
from predictor.features import Features
from predictor.ports import Floats
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
        tables: Features of each series by window in s.
        firsts: The first step of each whose targets none of the models has seen.
        step_s: Length of a step.
        quantiles: That are asked for, rising.
    """

    tables: Sequence[Mapping[int, Features]]
    firsts: Sequence[int]
    step_s: int
    quantiles: tuple[float, ...]

    @property
    def fingerprint(self) -> str:
        """Same for the same windows."""
        return fingerprint(
            array[first:]
            for tables, first in zip(self.tables, self.firsts, strict=True)
            for table in tables.values()
            for array in (table.level, table.target)
        )


def scores_of(folds: Folds, challenger: Model, champions: Mapping[str, Model]) -> tuple[Score, ...]:
    """Return how good a model was on folds, beside champions (by version) and the rules without learning.

    What models say is cut where production cuts it, at `FAMILIAR` times the highest demand so far: a level
    near nothing makes a log enormous (uncut, one of 24 tenants made q .99 cost a thousand times its usual).
    All get the same split-conformal shift by quantile and series, on the square root of demand. Losses are
    over a series' mean demand, the mean over series; windows whose demand was censored are left out, and so
    is a window of which no series has anything to score.

    `InputError` if a model says NaN: it would choose what it is scored on.
    """
    models = {OURS: challenger, **champions}
    windows_s = sorted({window_s for tables in folds.tables for window_s in tables})
    scores = []
    for window_s in windows_s:
        tried = [
            one
            for tables, first in zip(folds.tables, folds.firsts, strict=True)
            if (one := _tried(tables[window_s], first, models, window_s, folds)) is not None
        ]
        scores += [_score(tried, place, window_s, quantile) for place, quantile in enumerate(folds.quantiles)]
    return tuple(score for score in scores if score is not None)


@dataclass(frozen=True, slots=True)
class _Tried:
    """One series: what came, and what each said of it by quantile."""

    came: Floats
    said: Mapping[str, Floats]


def _tried(
    table: Features, first: int, models: Mapping[str, Model], window_s: int, folds: Folds
) -> _Tried | None:
    width = max(1, round(window_s / folds.step_s))
    rules = {RULES[0]: table.last - table.floor, RULES[1]: table.newest_or_last_week}
    said = {name: np.repeat(one[first:, None], len(folds.quantiles), axis=1) for name, one in rules.items()}
    most = FAMILIAR * np.fmax.accumulate(pd.Series(table.target).shift(width).to_numpy())[first:, None]
    with np.errstate(over="ignore"):  # where a log is too large, what is familiar is said
        for name, model in models.items():
            demand = np.exp(model.predict(table.rows[first:], window_s)[0]) * table.level[first:, None]
            said[name] = np.minimum(demand - table.floor[first:, None], most)
    roots = {name: np.sqrt(np.maximum(one, 0.0)) for name, one in said.items()}
    target = table.target[first:]
    is_known = np.isfinite(target) & np.isfinite(most[:, 0]) & ~table.is_bound[first:]
    is_known &= np.all([np.isfinite(roots[rule][:, 0]) for rule in RULES], axis=0)
    for name in models:
        if not np.isfinite(roots[name][is_known]).all():
            raise InputError(
                "says no number of some windows", where=f"model {name}", fix="leave none out: train it anew"
            )
    split = round(len(is_known) * CALIBRATING)
    before, after = is_known.copy(), is_known.copy()
    before[max(0, split - width) :] = False  # their windows reach into what is scored
    after[:split] = False
    came = target[after]
    if not before.any() or not came.any():
        return None
    past = np.sqrt(target[before])
    return _Tried(
        came, {name: _shifted(one[before], past, one[after], folds.quantiles) for name, one in roots.items()}
    )


def _shifted(before: Floats, came: Floats, after: Floats, quantiles: tuple[float, ...]) -> Floats:
    """Return demand out of square roots of it, shifted by what lacked before."""
    misses = np.sort(came[:, None] - before, axis=0)
    shift = misses[list(ranks(len(misses), quantiles)), range(len(quantiles))]
    demand: Floats = np.maximum(np.sort(after + shift, axis=1), 0.0) ** 2
    return demand


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
