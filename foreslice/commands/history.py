"""Commands on the past: ``history export`` is what was asked, ``history changes`` what was done."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm, Workloads

history = typer.Typer(
    no_args_is_help=True, help="What was asked of the workloads in the past, and what was changed."
)


@history.command()
def export(
    config_file: ConfigFile,
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.", show_default=False)],
    since: Annotated[
        str | None, typer.Option("--from", help="First minute, ISO 8601, UTC; default: loop.history ago.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="End of the last minute; default: now.")] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Write the demand of every workload to a file, a row a minute; what is unknown stays empty."""
    from foreslice.history import run_export

    run_export(config_file, out, since, until, as_json=output is Output.JSON)


@history.command()
def changes(
    config_file: ConfigFile,
    workloads: Workloads = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show what was changed, newest first: the last twenty plans of each workload are kept in the cluster."""
    from foreslice.insight.changes import print_changes

    print_changes(config_file, workloads or [], as_json=output is Output.JSON)
