"""`foreslice train`: a model of a table or of what the service sees, tried beside what serves, and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fleet.errors import InputError
from foreslice import output, show
from foreslice.backtesting import quantiles_of, windows_of
from foreslice.clock import WallClock
from foreslice.models import registry_at
from foreslice.on_dask import on_dask
from foreslice.recipes import chosen
from foreslice.service_data import work_of
from predictor.forecasters.learned import STEP_S
from predictor.recipe import Recipe
from predictor.registry.artefact import Artefact, check_signature
from predictor.registry.challenge import challenger, signature_of
from predictor.registry.gate import objections
from predictor.registry.manifest import Signature
from predictor.registry.registry import Registry
from predictor.sources.demand_table import Columns, read_tidy
from predictor.spread import Spread, here
from predictor.steps import StepSeries


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments as they were typed: see `foreslice train --help`."""

    file: Path | None
    columns: Columns
    config: Path | None
    recipe: Path | None
    windows: str
    quantiles: str


@dataclass(frozen=True, slots=True)
class Trained:
    """A version that was stored.

    Attributes:
        version: Its name.
        objections: Why the gate would not let it serve; empty = it would.
    """

    version: str
    objections: tuple[str, ...]


@contextmanager
def spread_on(scheduler: str | None) -> Iterator[Spread]:
    """Yield where work is done: on a Dask scheduler's workers, here if there is none.

    Raises `InputError` where the address is missing or wrong or Dask is not installed, `UnavailableError`
    where nobody answers.
    """
    if scheduler is None:
        yield here
        return
    if not scheduler:
        raise InputError("is missing", where="--scheduler", fix="name the scheduler: tcp://HOST:8786")
    with on_dask(scheduler) as spread:
        yield spread


def run_train(
    asked: Asked, tried: float, at: tuple[str, str], *, scheduler: str | None = None, as_json: bool
) -> None:
    """Learn, try, store, and print the version with what the gate says of it.

    Args:
        asked: What to learn from, and how.
        tried: Share of the time, its end, that is not learnt from.
        at: URL of the store, and name of the model.
        scheduler: Of the Dask cluster that does the work, `None` = it is done here.
        as_json: Print JSON.

    Raises:
        InputError: The data or the recipe cannot be used, or what serves cannot be tried on them.
        UnavailableError: The metrics source, the store or the scheduler did not answer.
    """
    store, name = at
    registry = registry_at(store, asked.config)
    with spread_on(scheduler) as spread:
        made = train(_series(asked), _recipe(asked), registry, name, tried, spread)
    if as_json:
        output.print_json({"model": name, "version": made.version, "objections": list(made.objections)})
        return
    console = show.console()
    console.print(f"stored: {name}/{made.version}", markup=False)
    for line in made.objections or ["the gate has no objection: `foreslice models promote` lets it serve"]:
        console.print(line, markup=False, soft_wrap=True)


def train(
    series: Sequence[StepSeries],
    recipe: Recipe,
    registry: Registry,
    name: str,
    tried: float,
    spread: Spread = here,
) -> Trained:
    """Learn one model of all series, try it beside what serves, and store it.

    `InputError` as in `run_train`.
    """
    serving = registry.champion(name).artefact
    start_s, end_s = min(one.start_s for one in series), max(one.end_s for one in series)
    tried_from_s = round(end_s - tried * (end_s - start_s))
    if serving is not None:
        _check(serving, signature_of(series[0], recipe.question), tried_from_s, name)
    made = challenger(
        name,
        series,
        recipe=recipe,
        tried_from_s=tried_from_s,
        champions={serving.version: serving.model} if serving is not None else {},
        made_s=int(WallClock().now_s()),
        spread=spread,
    )
    version = registry.publish(made, name)
    champion = serving.version if serving is not None else None
    return Trained(version, tuple(objections(registry.manifest(name, version), champion)))


def _series(asked: Asked) -> list[StepSeries]:
    if asked.file is not None:
        return [one.series for one in read_tidy(asked.file, asked.columns)]
    if asked.config is None:
        raise InputError(
            "names nothing to learn from", where="train", fix="give a FILE, or settings by --config"
        )
    return [
        StepSeries.of_minutes(one.start_s, one.work, one.is_censored, STEP_S) for one in work_of(asked.config)
    ]


def _recipe(asked: Asked) -> Recipe:
    recipe = chosen(asked.recipe, asked.config, "pooled" if asked.file is not None else "shared")
    question = recipe.question
    if asked.windows:
        question = replace(question, windows_s=windows_of(asked.windows))
    if asked.quantiles:
        question = replace(question, quantiles=quantiles_of(asked.quantiles))
    return replace(recipe, question=question)


def _check(serving: Artefact, wanted: Signature, tried_from_s: int, name: str) -> None:
    """Raise `InputError` unless what serves can be tried on the same windows, none of which it has seen."""
    try:
        check_signature(serving.manifest.signature, wanted)
    except ValueError as error:
        raise InputError(
            f"what serves {error}",
            where=f"model {name}",
            fix="ask for the same, give another --name, or roll back first",
        ) from error
    if serving.manifest.training.until_s > tried_from_s:
        raise InputError(
            f"what serves ({serving.version}) has learnt from what it would be tried on",
            where=f"model {name}",
            fix="give newer demand, or a smaller --test-fraction",
        )
