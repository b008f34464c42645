"""Command that plays a recorded trace against rivals: ``replay``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


class Level(StrEnum):
    """How closely a fleet is followed."""

    COARSE = "coarse"
    FINE = "fine"


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
    level: Annotated[
        Level,
        typer.Option(
            help="coarse: many policies, no queue; fine: the service's own loop on simulated engines."
        ),
    ] = Level.COARSE,
    seed: Annotated[int, typer.Option(help="Draws sizes; if fine, delays and engines, too.", min=0)] = 1,
    report: Annotated[
        Path | None, typer.Option(help="Leave pictures in this HTML file.", show_default=False)
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Measure what a forecast is worth on a recorded trace, against rivals at their best."""
    from foreslice.proof.fine import run_fine
    from foreslice.proof.replay import run_replay

    run = run_fine if level is Level.FINE else run_replay
    run(trace, fleet, policies, seed, report, as_json_only=output is Output.JSON)
