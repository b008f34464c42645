"""A challenger out of a fleet's history: learnt from its past, tried on the days that came after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet.errors import InputError
from predictor.features import features
from predictor.learned import Lesson, learn
from predictor.recipe import Question, Recipe
from predictor.registry import artefact
from predictor.registry.artefact import Model
from predictor.registry.manifest import Signature, Training, fingerprint
from predictor.registry.trial import Folds, scores_of
from predictor.steps import StepSeries


def signature_of(series: StepSeries, question: Question) -> Signature:
    """Return what a model takes and gives that answers a question about series of this step."""
    tables = features(series.part(0, 1), question.windows_s, question.calendar, question.target)
    names = next(iter(tables.values())).names
    return Signature(names, question.windows_s, question.quantiles, series.step_s, question.target.value)


def challenger(
    name: str,
    series: Sequence[StepSeries],
    *,
    recipe: Recipe,
    tried_from_s: int,
    champions: Mapping[str, Model],
    made_s: int,
) -> dict[str, bytes]:
    """Return the files of one model of all series, scored beside champions on what none of them has seen.

    Args:
        name: Of the model.
        series: Of equal step.
        recipe: How it is learnt, and what is forecast.
        tried_from_s: What ends later is not learnt from but tried on: first calibrated, then scored.
        champions: Models by version whose losses a gate will ask for, of the same signature and taught on
            nothing later than that.
        made_s: Now, seconds since the epoch.

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
    tables = [features(one, question.windows_s, question.calendar, question.target) for one in series]
    lessons = [Lesson(one, cut, step_s) for one, cut in zip(tables, cuts, strict=True) if cut]
    model = learn(lessons, question.quantiles, recipe) if lessons else None
    if model is None:
        raise InputError("has too little to learn from", where=where, fix="give more days before those tried")
    folds = Folds(tables, cuts, step_s, question.quantiles)
    scores = scores_of(folds, model, champions)
    if not scores:
        raise InputError("has nothing to be tried on", where=where, fix="let more days be tried")
    taught = [one.part(0, cut) for one, cut in zip(series, cuts, strict=True) if cut]
    return artefact.write(
        name,
        model,
        tables[0][question.windows_s[0]].rows,
        signature=signature_of(series[0], question),
        training=Training(
            from_s=min(one.start_s for one in taught),
            until_s=max(one.end_s for one in taught),
            series=len(taught),
            data=fingerprint(one.values for one in taught),
        ),
        folds=folds.fingerprint,
        scores=scores,
        made_s=made_s,
    )
