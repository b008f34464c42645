"""`foreslice backtest`: what was asked for is checked, run, and told as JSON, a table and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from fleet.errors import InputError
from foreslice import output, show
from foreslice.recipes import chosen
from foreslice.report.forecasts import page
from foreslice.report.scores import HEAD, Backtested, report, rows
from foreslice.settings.durations import seconds, written
from foreslice.settings.recipe_file import shipped
from predictor.backtest import LAST, LAST_WEEK, Cost, Progress, backtest
from predictor.calendar import Calendar
from predictor.conformal import ENOUGH, MEMORY_S
from predictor.features import Target
from predictor.recipe import Question, Recipes
from predictor.scorecard import card
from predictor.season import season_strength
from predictor.sources.demand_table import Columns, TidySeries, tidy_or_why_not
from predictor.sources.times import in_seconds
from predictor.steps import DAY_S

LEAST_BEFORE_S = DAY_S
"""History before the scored part without which nothing can be said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments as they were typed: see `foreslice backtest --help`."""

    file: Path
    columns: Columns
    windows: str
    quantiles: str
    test_fraction: float
    test_from: str
    target: str
    calendar: Calendar
    recipe: Path | None
    config: Path | None


def run_backtest(asked: Asked, *, plot: Path | None, as_json: bool) -> None:
    """Score forecasts of the series in a file, and print the figures.

    Raises `InputError` where the file or an argument cannot be used, or no series is long enough.
    """
    question = Question(
        windows_s=windows_of(asked.windows),
        quantiles=quantiles_of(asked.quantiles),
        target=_target(asked.target),
        calendar=asked.calendar,
    )
    recipes = Recipes(chosen(asked.recipe, asked.config, "own"), shipped("pooled"))
    if plot is not None:
        output.check_writable(plot)
    with show.progress() as on_progress:
        runs, skipped = _chosen(asked, question)
        done, cost = scored(runs, question, recipes, on_progress)
    done, unknown = _known(done)
    skipped |= unknown
    if not done:
        raise _nothing(asked.file, skipped)
    figures = {"file": str(asked.file), "target": question.target.value} | report(
        done, cost, question.quantiles, skipped
    )
    if plot is not None:
        plot.write_text(page(done, figures, question.quantiles), encoding="utf-8")
    if as_json:
        output.print_json(figures)
    else:
        _print(figures, skipped, show.console())


def scored(
    runs: list[tuple[TidySeries, int]], question: Question, recipes: Recipes, on_progress: Progress
) -> tuple[list[Backtested], Cost]:
    """Return series with the first step that is scored, scored, and the CPU time that ours took."""
    told, cost = backtest(
        [one.series for one, _ in runs], [test for _, test in runs], question, recipes, on_progress
    )
    done = []
    for (tidy, test_from), by_window in zip(runs, told, strict=True):
        past = tidy.series.part(0, test_from)
        done.append(
            Backtested(
                tidy=tidy,
                test_from=test_from,
                told=by_window,
                cards={
                    window_s: card(one, question.quantiles, tidy.series.steps_in(window_s))
                    for window_s, one in by_window.items()
                },
                season=(season_strength(past, DAY_S), season_strength(past, 7 * DAY_S)),
            )
        )
    return done, cost


def _chosen(asked: Asked, question: Question) -> tuple[list[tuple[TidySeries, int]], dict[str, str]]:
    """Return the series that can be scored with the first step that is, and why others cannot."""
    runs: list[tuple[TidySeries, int]] = []
    skipped: dict[str, str] = {}
    wrong: list[InputError] = []
    for name, tidy in tidy_or_why_not(asked.file, asked.columns):
        if isinstance(tidy, InputError):
            wrong.append(tidy)
            skipped[name] = tidy.what
            continue
        test_from = _test_from(tidy, asked)
        because = _too_little(tidy, test_from, question)
        if because:
            skipped[name] = because
        else:
            runs.append((tidy, test_from))
    if len(wrong) == len(skipped) and not runs:
        raise wrong[0]
    if not runs:
        raise _nothing(asked.file, skipped)
    return runs, skipped


def _known(done: list[Backtested]) -> tuple[list[Backtested], dict[str, str]]:
    """Return the series of which a window could be scored, and why others could not."""
    known = [run for run in done if any(run.cards.values())]
    unknown = [run for run in done if not any(run.cards.values())]
    return known, {run.tidy.name: "no window of its test is known whole" for run in unknown}


def _nothing(file: Path, skipped: dict[str, str]) -> InputError:
    name, because = next(iter(skipped.items()))
    return InputError(
        f"has no series that can be scored ({name}: {because})",
        where=str(file),
        fix="give at least three days of demand, and windows of whole steps",
    )


def _too_little(tidy: TidySeries, test_from: int, question: Question) -> str:
    series = tidy.series
    short = [window_s for window_s in question.windows_s if window_s % series.step_s]
    if short:
        return f"{written(short[0])} are not whole steps of {written(series.step_s)}"
    if ENOUGH * series.step_s > MEMORY_S:
        return f"{written(MEMORY_S)} hold not {ENOUGH} steps of {written(series.step_s)} to calibrate by"
    if test_from * series.step_s < LEAST_BEFORE_S:
        return f"{written(max(0, test_from) * series.step_s)} before the test are less than a day"
    if test_from >= len(series):
        return "it ends before the test begins"
    if np.isfinite(series.values[:test_from]).sum() < test_from / 10:
        return "less than a tenth of its steps before the test are known"
    return ""


def _test_from(tidy: TidySeries, asked: Asked) -> int:
    series = tidy.series
    if not asked.test_from:
        return round(len(series) * (1 - asked.test_fraction))
    return int(np.ceil((_moment(asked.test_from) - series.start_s) / series.step_s))


def _moment(text: str) -> float:
    try:
        return float(in_seconds(np.array([float(text)]))[0])
    except ValueError:
        stamp = pd.to_datetime(text, utc=True, errors="coerce")
    if pd.isna(stamp):
        raise InputError(
            f"{text!r} is no time",
            where="--test-from",
            fix="write it as the file does, e.g. 2026-05-01T00:00",
        )
    return float(stamp.timestamp())


def windows_of(text: str) -> tuple[int, ...]:
    """Return the windows in s that `--windows` names; `InputError` if it names none."""
    try:
        lengths_s = sorted({seconds(part) for part in text.split(",")})
    except ValueError as error:
        raise InputError(str(error), where="--windows", fix="write 30m,60m") from error
    if any(length_s != int(length_s) or not 0 < length_s <= DAY_S for length_s in lengths_s):
        raise InputError("is not from a second to a day", where="--windows", fix="write 30m,60m")
    return tuple(int(length_s) for length_s in lengths_s)


def quantiles_of(text: str) -> tuple[float, ...]:
    """Return the quantiles that `--quantiles` names; `InputError` if it names none."""
    try:
        quantiles = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError as error:
        raise InputError(
            f"{text!r} are no numbers", where="--quantiles", fix="write .5,.9,.95,.99"
        ) from error
    if not all(0 < quantile < 1 for quantile in quantiles):
        raise InputError(f"{text!r} are not between 0 and 1", where="--quantiles", fix="write .5,.9,.95,.99")
    return quantiles


def _target(text: str) -> Target:
    try:
        return Target(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is no target", where="--target", fix=f"choose {' or '.join(Target)}"
        ) from error


def _print(figures: dict[str, object], skipped: dict[str, str], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in HEAD:
        table.add_column(name, justify="right")
    for row in rows(figures):
        table.add_row(*row)
    console.print(table)
    console.print(
        f"\nours / bar: pinball loss over that of the better of {LAST} and {LAST_WEEK}, both calibrated as "
        "ours is; geometric mean and worst series."
    )
    for name, because in skipped.items():
        console.print(f"left out: {name} ({because})")
