"""`foreslice train`: a model of all series of a file, tried beside what serves, and stored."""

from __future__ import annotations

from pathlib import Path

from fleet.errors import InputError
from foreslice import output, show
from foreslice.clock import WallClock
from predictor.backtest import Question
from predictor.registry.artefact import Artefact, check_signature
from predictor.registry.challenge import challenger, signature_of
from predictor.registry.gate import objections
from predictor.registry.manifest import Signature
from predictor.registry.registry import Registry
from predictor.sources.demand_table import Columns, read_tidy


def run_train(
    file: Path, columns: Columns, question: Question, tried: float, at: tuple[str, str], *, as_json: bool
) -> None:
    """Learn, try, store, and print the version with what the gate says of it.

    Args:
        file: Tidy CSV or Parquet.
        columns: Names of its columns.
        question: What is forecast.
        tried: Share of the time, its end, that is not learnt from.
        at: URL of the store, and name of the model.
        as_json: Print JSON.

    Raises:
        InputError: The file cannot be used, or what serves cannot be tried on it.
    """
    store, name = at
    registry = Registry(store)
    serving = registry.champion(name).artefact
    series = [one.series for one in read_tidy(file, columns)]
    start_s, end_s = min(one.start_s for one in series), max(one.end_s for one in series)
    tried_from_s = round(end_s - tried * (end_s - start_s))
    if serving is not None:
        _check(serving, signature_of(series[0], question), tried_from_s, name)
    made = challenger(
        name,
        series,
        question=question,
        tried_from_s=tried_from_s,
        champions={serving.version: serving.model} if serving is not None else {},
        made_s=int(WallClock().now_s()),
    )
    version = registry.publish(made, name)
    champion = serving.version if serving is not None else None
    against = objections(registry.manifest(name, version), champion)
    if as_json:
        output.print_json({"model": name, "version": version, "objections": against})
        return
    console = show.console()
    console.print(f"stored: {name}/{version}", markup=False)
    for line in against or ["the gate has no objection: `foreslice models promote` lets it serve"]:
        console.print(line, markup=False, soft_wrap=True)


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
