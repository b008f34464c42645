"""Command ``pool``: what a standby pool that workloads share would save."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.errors import InputError
from foreslice.commands.options import Output, OutputForm

LONGEST_WAKE_S = 60.0
"""A minute, the step of a replay: what takes longer to wake is no standby."""


def pool(  # noqa: PLR0913, PLR0917 -- options
    trace: Annotated[
        Path, typer.Option(help="Tidy CSV or Parquet: time, workload, rate, or a request a row.")
    ],
    fleet: Annotated[Path, typer.Option(help="Fleet file, see config/replay/pool.yaml.")],
    sleepers: Annotated[
        int, typer.Option(min=0, help="Engines whose weights a slice's host can keep; 0 = of any workload.")
    ] = 0,
    wake: Annotated[str, typer.Option(help="Until a woken engine serves, 60 s at most.")] = "10s",
    workloads: Annotated[
        int,
        typer.Option(
            min=0, help="Draw so many by --seed; more than the trace has: again, by days shifted. 0 = all."
        ),
    ] = 0,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Try a forecast as the baseline, too; takes minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draws the sizes of workloads.")] = 1,
    report: Annotated[
        Path | None, typer.Option(help="Write a page: who sleeps together, who used it, when it was short.")
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say what a pool of spare slices, shared by sleeping engines, would save on a recorded trace."""
    from foreslice.proof.pool import run_pool
    from foreslice.proof.pool_output import Asked
    from foreslice.settings.durations import seconds

    try:
        wake_s = seconds(wake)
    except ValueError as error:
        raise InputError(str(error), where="--wake", fix="write e.g. 10s") from error
    if not 0 <= wake_s <= LONGEST_WAKE_S:
        raise InputError(f"{wake} is out of range", where="--wake", fix="give 60s at most")
    asked = Asked(sleepers or None, wake_s, forecast, workloads or None)
    run_pool(trace, fleet, asked, seed, report, as_json=output is Output.JSON)
