"""Command that says what could be saved on a user's own metrics: ``savings``."""

from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm


def savings(
    config_file: ConfigFile,
    prometheus: Annotated[
        str, typer.Option(help="Address of a Prometheus; empty = what the settings name.")
    ] = "",
    last: Annotated[str, typer.Option(help="How far back.")] = "14d",
    output: OutputForm = Output.TEXT,
) -> None:
    """Say what slices that move ahead of demand would have saved lately, read only, as a range."""
    from foreslice.proof.savings import run_savings

    run_savings(config_file, prometheus, last, as_json=output is Output.JSON)
