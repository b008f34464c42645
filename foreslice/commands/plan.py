"""Commands on one moment: ``snapshot`` keeps what a plan depends on, ``plan`` plans from it or from now."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm


def snapshot(
    config_file: ConfigFile,
    out: Annotated[Path, typer.Option(help="File to write.", show_default=False)],
) -> None:
    """Write cluster and needs as a plan sees them, with nodes, cards and pods numbered in place of names."""
    from foreslice.planning import write_snapshot

    write_snapshot(config_file, out)
    typer.echo(f"written: {out}", err=True)


def plan(
    config_file: ConfigFile,
    snapshot_file: Annotated[
        Path | None,
        typer.Option("--snapshot", "-s", help="Snapshot to plan from, in place of now.", show_default=False),
    ] = None,
    demand: Annotated[
        Path | None,
        typer.Option(help="Work by workload to plan for in place of the snapshot's, YAML or JSON."),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Say what the next tick would write, as kubectl diff does.")
    ] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say what the fleet should be, why, and how few cards any plan would take, or what would be written."""
    from foreslice.planning import print_plan

    print_plan(snapshot_file, config_file, demand, diff=diff, as_json=output is Output.JSON)
