"""Command that plays a recorded trace against rivals: ``replay``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


def replay(
    trace: Annotated[
        Path,
        typer.Option(
            help="Tidy CSV or Parquet: time, workload, rate, or a request a row.", show_default=False
        ),
    ],
    fleet: Annotated[
        Path, typer.Option(help="Fleet file, see config/replay/tenants.yaml.", show_default=False)
    ],
    policies: Annotated[str, typer.Option(help="Those to show, separated by commas; empty = all.")] = "",
    seed: Annotated[int, typer.Option(help="Draws the sizes of workloads.", min=0)] = 1,
    report: Annotated[
        Path | None, typer.Option(help="Leave pictures in this HTML file.", show_default=False)
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Measure what a forecast is worth on a recorded trace, against rivals at their best."""
    from foreslice.proof.replay import run_replay

    run_replay(trace, fleet, policies, seed, report, as_json_only=output is Output.JSON)
