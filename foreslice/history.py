"""`foreslice history export`: what was asked of each workload, minute by minute, as a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.compose import surroundings_of
from foreslice.selection import load_settled
from foreslice.settings.load import workloads_of
from foreslice.settings.schema import NoCluster, Settings
from predictor.demand import HISTORY_SIGNALS, USUAL_BUCKETS
from predictor.ports import BUCKET_S, MetricsSource, SignalBuckets
from predictor.sources.days import days
from predictor.steps import DAY_S
from predictor.tidy import State, tidy

_WRITERS = {
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".csv": lambda table, path: table.to_csv(path, index=False),
}


def run_export(config: Path, out: Path, since: str | None, until: str | None, *, as_json: bool) -> None:
    """Write the demand of every workload to a Parquet or CSV file, and print what is in it.

    Args:
        config: Settings file.
        out: File to write; its suffix says in which form.
        since: First minute, ISO 8601, UTC where no zone is given; default: as far back as forecasts learn.
        until: End of the last minute; default: now.
        as_json: Print what is in the file as JSON.

    Raises:
        InputError: Settings, times or the file's name cannot be used, or the file cannot be written.
        UnavailableError: The metrics source did not answer.
    """
    if out.suffix not in _WRITERS:
        raise InputError("has no known form", where=str(out), fix="end its name in .parquet or .csv")
    settings = load_settled(config)
    around = surroundings_of(without_cluster(settings), config.parent)
    end_s = _minute(until, "--to") if until else int(around.clock.now_s()) // BUCKET_S * BUCKET_S
    start_s = _minute(since, "--from") if since else end_s - int(settings.loop.history)
    if start_s >= end_s:
        raise InputError("the first minute is not before the last", where="--from", fix="name an earlier one")
    console = show.console(to_stderr=True)
    before_s = start_s - BUCKET_S * USUAL_BUCKETS  # what demand is judged by began before
    told = read_history(around.metrics, [w.key for w in workloads_of(settings)], before_s, end_s, console)
    table = pd.concat([tidy(buckets, start_s) for buckets in told.values()], ignore_index=True)
    with output.writable(out):
        _WRITERS[out.suffix](table, out)
    _say(table, out, as_json=as_json)


def without_cluster(settings: Settings) -> Settings:
    """Return settings under which no cluster is waited for: history has no need of one."""
    if settings.cluster.kind == "kubernetes":
        return settings.model_copy(update={"cluster": NoCluster(), "acting": False})
    return settings


def _minute(text: str, option: str) -> int:
    """Return the whole minute that a time is in, seconds since the epoch."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is no time", where=option, fix="write it as 2026-03-01 or 2026-03-01T12:00Z"
        ) from error
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return int(at.timestamp()) // BUCKET_S * BUCKET_S


def read_history(
    metrics: MetricsSource, keys: list[WorkloadKey], start_s: int, end_s: int, console: Console
) -> Mapping[WorkloadKey, SignalBuckets]:
    """Return what demand is told from, in these seconds; read day by day, so that one sees how far it is."""
    parts: list[Mapping[WorkloadKey, SignalBuckets]] = []
    with Progress(console=console, transient=True) as progress:
        spans = [(max(start_s, day_s), min(end_s, day_s + DAY_S)) for day_s in days(start_s, end_s)]
        for from_s, to_s in progress.track(spans, description="reading history"):
            parts.append(metrics.samples(HISTORY_SIGNALS, keys, from_s, to_s))
    return {key: _joined([part[key] for part in parts]) for key in keys}


def _joined(parts: list[SignalBuckets]) -> SignalBuckets:
    return SignalBuckets(
        parts[0].workload,
        parts[0].start_s,
        {signal: np.concatenate([part.values[signal] for part in parts]) for signal in HISTORY_SIGNALS},
        tuple(span for part in parts for span in part.partial_s),
    )


def _say(table: pd.DataFrame, out: Path, *, as_json: bool) -> None:
    """Print how many minutes of each workload are known how far."""
    counts = table.value_counts(["workload", "state"])
    minutes = {
        workload: {state.value: int(counts.get((workload, state.value), 0)) for state in State}
        for workload in table["workload"].unique()
    }
    since, until = table["time"].iloc[0], table["time"].iloc[-1] + pd.Timedelta(seconds=BUCKET_S)
    if as_json:
        about = {"file": str(out), "from": since.isoformat(), "to": until.isoformat(), "minutes": minutes}
        output.print_json(about)
        return
    shown = Table(box=None, pad_edge=False)
    shown.add_column("workload")
    for state in State:
        shown.add_column(state.value, justify="right")
    for workload, row in minutes.items():
        shown.add_row(workload, *map(str, row.values()))
    show.console().print(shown)
    show.console().print(f"\n{out}: minutes from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC")
