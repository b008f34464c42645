"""Models from a notebook: tried, tuned, stored and promoted by the very functions of the commands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fleet.errors import InputError
from foreslice import models as stored
from foreslice.api.demand import series_of
from foreslice.backtesting import scored
from foreslice.challenging import train as train_series
from foreslice.clock import WallClock
from foreslice.settings.durations import seconds, written
from foreslice.settings.recipe_file import SHIPPED, load, shipped, types_of
from predictor.backtest import OURS
from predictor.ports import BUCKET_S
from predictor.recipe import Question, Recipe, Recipes
from predictor.registry.manifest import Manifest, Score
from predictor.registry.registry import Registry
from predictor.steps import StepSeries


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model that was stored.

    Attributes:
        which: `NAME/VERSION`, as `promote` takes it.
        objections: Why the gate would not let it serve; empty = it would.
        scores: A row a window and quantile: `window`, `quantile`, `windows` scored, `coverage`, `loss`, and a
            column `over RIVAL` for each rival, its loss over theirs on the same windows.
        manifest: All that is said of it.
    """

    which: str
    objections: tuple[str, ...]
    scores: pd.DataFrame
    manifest: Manifest


def read_recipe(recipe: str | Path = "own", allowed: Collection[str] = ()) -> Recipe:
    """Return how a model is learnt: "own", "shared" or "pooled", which are shipped, or a file.

    Args:
        recipe: Name or path.
        allowed: Import paths of estimators, beside ours, that it may name.

    Raises:
        InputError: It cannot be used, or names what is not allowed.

    Example:
        >>> from foreslice import read_recipe
        >>> read_recipe("own").parameters["leaves"]
        7
    """
    return shipped(str(recipe)) if recipe in SHIPPED else load(Path(recipe), allowed)


def backtest(
    demand: pd.DataFrame,
    windows: Sequence[str] = ("30m", "60m"),
    quantiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99),
    *,
    recipe: Recipe | None = None,
    test_fraction: float = 0.3,
    value: str = "requests_per_s",
) -> pd.DataFrame:
    """Return how forecasts would have done on the end of each series, step by step on its past.

    Columns: `workload`, `window`, `quantile`, `loss` (mean pinball loss over mean demand), `over_bar` (that
    over the better of two calibrated rules; below 1 is better), `coverage`, `covered_low` and `covered_high`
    (where that of a calibrated one lies 19 times in 20).

    Args:
        demand: As `read_demand` returns it.
        windows: Windows ahead.
        quantiles: Rising.
        recipe: How each series' own model is learnt; default: the shipped one.
        test_fraction: Share of each series, its end, that is scored.
        value: Column of demand.

    Raises:
        InputError: No series can be scored, or something that was named cannot be used.
    """
    own = shipped("own") if recipe is None else recipe
    windows_s = tuple(int(seconds(window)) for window in windows)
    question = Question(windows_s, tuple(quantiles), own.question.target, own.question.calendar)
    runs = [(tidy, round(len(tidy.series) * (1 - test_fraction))) for tidy in series_of(demand, value)]
    done, _ = scored(runs, question, Recipes(own, shipped("pooled")), lambda *_: None)
    rows = [
        (
            run.tidy.name,
            written(window_s),
            quantile,
            card.scores[quantile][OURS].scaled_pinball,
            card.ratio[quantile],
            card.scores[quantile][OURS].coverage,
            *card.band[quantile],
        )
        for run in done
        for window_s, card in run.cards.items()
        if card is not None
        for quantile in quantiles
    ]
    if not rows:
        raise InputError("has no window that can be scored", where="table", fix="give more days of demand")
    columns = [
        "workload",
        "window",
        "quantile",
        "loss",
        "over_bar",
        "coverage",
        "covered_low",
        "covered_high",
    ]
    return pd.DataFrame(rows, columns=columns)


def train(
    demand: pd.DataFrame,
    store: str | Path,
    name: str = "global",
    *,
    recipe: Recipe | None = None,
    test_fraction: float = 0.4,
    step: str = "",
    value: str = "requests_per_s",
    allowed: Collection[str] = (),
) -> TrainedModel:
    """Learn one model of all series, try it beside what serves, and store it, not yet to serve.

    Args:
        demand: As `read_demand` returns it.
        store: Folder or fsspec URL.
        name: Of the model.
        recipe: How it is learnt; default: the shipped one for many series.
        test_fraction: Share of the time, its end, that it is tried on.
        step: Gather minutes into steps of this length; "5m", with the recipe "shared", makes a model that the
            running service can use. Default: steps as they are.
        value: Column of demand.
        allowed: Import paths of estimators, beside ours, that stored models may be made of.

    Raises:
        InputError: The demand cannot be learnt from, or what serves cannot be tried on it.
        UnavailableError: The store does not answer.
    """
    registry = Registry(str(store), types_of(allowed))
    series = [tidy.series for tidy in series_of(demand, value)]
    series = [_gathered(one, step) for one in series] if step else series
    made = train_series(
        series, shipped("pooled") if recipe is None else recipe, registry, name, test_fraction
    )
    manifest = registry.manifest(name, made.version)
    return TrainedModel(f"{name}/{made.version}", made.objections, _scores(manifest.scores), manifest)


def promote(which: str, store: str | Path, allowed: Collection[str] = ()) -> int:
    """Let a stored model serve, through the gate, and return the new generation of what serves.

    Its card with plots is left beside it, as `card.html`. A running service takes it up without a restart.

    Args:
        which: `NAME/VERSION`.
        store: Folder or fsspec URL.
        allowed: As for `train`.

    Raises:
        InputError: It is unsound, has lost, or is not calibrated; what serves stays.
        UnavailableError: The store does not answer.
    """
    name, slash, version = which.partition("/")
    if not slash:
        raise InputError("names no version", where=which, fix="write NAME/VERSION")
    return stored.promote(Registry(str(store), types_of(allowed)), name, version).generation


def rollback(name: str, store: str | Path, allowed: Collection[str] = ()) -> str | None:
    """Let the model before serve again, and return its version, `None` where none did.

    Raises:
        InputError: Nothing serves.
        UnavailableError: The store does not answer.
    """
    registry = Registry(str(store), types_of(allowed))
    return registry.rollback(name, int(WallClock().now_s())).promotion.version


def _gathered(minutes: StepSeries, step: str) -> StepSeries:
    length_s = int(seconds(step))
    if minutes.step_s != BUCKET_S or length_s % BUCKET_S:
        what = f"are steps of {written(minutes.step_s)}, which make no steps of {step}"
        raise InputError(what, where="table", fix="give demand by minute, or leave out `step`")
    return StepSeries.of_minutes(minutes.start_s, minutes.values, minutes.is_censored, length_s)


def _scores(scores: Sequence[Score]) -> pd.DataFrame:
    rows = [
        {
            "window": written(score.window_s),
            "quantile": score.quantile,
            "windows": score.windows,
            "coverage": score.coverage,
            "loss": score.pinball,
            **{
                f"over {rival.method}": score.pinball / rival.pinball
                for rival in score.rivals
                if rival.pinball
            },
        }
        for score in scores
    ]
    return pd.DataFrame(rows)
