"""A challenger out of a fleet's history: learnt from its past, tried on the days that came after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleet.errors import InputError
from predictor.features import Features, features
from predictor.learned import Learned, Lesson, learn
from predictor.recipe import Question, Recipe
from predictor.registry import artefact
from predictor.registry.artefact import Model
from predictor.registry.manifest import Score, Signature, Training, fingerprint
from predictor.registry.trial import Folds, scores_of
from predictor.spread import Spread, here
from predictor.steps import StepSeries


def signature_of(series: StepSeries, question: Question) -> Signature:
    """Return what a model takes and gives that answers a question about series of this step."""
    tables = features(series.part(0, 1), question.windows_s, question.calendar, question.target)
    names = next(iter(tables.values())).names
    return Signature(names, question.windows_s, question.quantiles, series.step_s, question.target.value)


@dataclass(frozen=True, slots=True)
class Tried:
    """A model, and how good it was on what it had not seen.

    Attributes:
        model: The model.
        scores: By window and quantile, beside champions and rules.
        folds: The windows that it was tried on.
        taught: What it was taught.
    """

    model: Learned
    scores: tuple[Score, ...]
    folds: Folds
    taught: tuple[StepSeries, ...]


def tried(
    name: str,
    series: Sequence[StepSeries],
    *,
    recipe: Recipe,
    tried_from_s: int,
    champions: Mapping[str, Model],
    spread: Spread = here,
) -> Tried:
    """Return one model of all series, scored beside champions on what none of them has seen.

    Args:
        name: Of the model.
        series: Of equal step.
        recipe: How it is learnt, and what is forecast.
        tried_from_s: What ends later is not learnt from but tried on: first calibrated, then scored.
        champions: Models by version whose losses a gate will ask for, of the same signature and taught on
            nothing later than that.
        spread: Has features made and models fitted.

    Raises:
        InputError: Steps differ, a window is not whole steps, or there is too little to learn from or to
            try on.
    """
    where, question = f"model {name}", recipe.question
    if len({one.step_s for one in series}) != 1:
        raise InputError("has series of several steps, or none", where=where, fix="give series of one step")
    step_s = series[0].step_s
    if short := [window_s for window_s in question.windows_s if window_s % step_s]:
        what = f"is asked for a window of {short[0]} s, which is not whole steps of {step_s} s"
        raise InputError(what, where=where, fix="ask for whole steps")
    cuts = [min(len(one), max(0, (tried_from_s - one.start_s) // step_s)) for one in series]
    tables = spread(_features, series, question)
    lessons = [Lesson(one, cut, step_s) for one, cut in zip(tables, cuts, strict=True) if cut]
    model = learn(lessons, question.quantiles, recipe, spread) if lessons else None
    if model is None:
        raise InputError("has too little to learn from", where=where, fix="give more days before those tried")
    folds = Folds(tables, cuts, step_s, question.quantiles)
    scores = scores_of(folds, model, champions)
    if not scores:
        raise InputError("has nothing to be tried on", where=where, fix="let more days be tried")
    taught = tuple(one.part(0, cut) for one, cut in zip(series, cuts, strict=True) if cut)
    return Tried(model, scores, folds, taught)


def challenger(
    name: str,
    series: Sequence[StepSeries],
    *,
    recipe: Recipe,
    tried_from_s: int,
    champions: Mapping[str, Model],
    made_s: int,
    spread: Spread = here,
) -> dict[str, bytes]:
    """Return the files of what `tried` makes, which sees to the arguments.

    Args:
        name: Of the model.
        series: As there.
        recipe: As there.
        tried_from_s: As there.
        champions: As there.
        made_s: Now, seconds since the epoch.
        spread: As there.
    """
    one = tried(name, series, recipe=recipe, tried_from_s=tried_from_s, champions=champions, spread=spread)
    return artefact.write(
        name,
        one.model,
        one.folds.tables[0][recipe.question.windows_s[0]].rows,
        signature=signature_of(series[0], recipe.question),
        training=Training(
            from_s=min(taught.start_s for taught in one.taught),
            until_s=max(taught.end_s for taught in one.taught),
            series=len(one.taught),
            data=fingerprint(taught.values for taught in one.taught),
        ),
        folds=one.folds.fingerprint,
        scores=one.scores,
        made_s=made_s,
    )


def _features(series: StepSeries, question: Question) -> dict[int, Features]:
    return features(series, question.windows_s, question.calendar, question.target)
