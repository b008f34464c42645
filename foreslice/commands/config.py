"""Commands on settings files: ``config check``, ``config schema``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import EXIT_INPUT, Output, OutputForm

config = typer.Typer(no_args_is_help=True, help="Check settings, or print their schema.")


@config.command()
def check(
    path: Annotated[Path, typer.Argument(help="Settings file.", show_default=False)],
    live: Annotated[
        bool, typer.Option("--live", help="Also prove each match: one demand series, and the live pods.")
    ] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say whether a settings file can be used, and if not, what is wrong with it where."""
    from foreslice.settings.check import report

    prove = None
    if live:
        from foreslice.discovery.prove import prove as prove_live

        prove = prove_live
    lines, is_good = report(path, as_json=output is Output.JSON, prove=prove)
    typer.echo(lines, err=not is_good and output is Output.TEXT)
    if not is_good:
        raise typer.Exit(EXIT_INPUT)


@config.command()
def schema() -> None:
    """Print the JSON schema of the settings file."""
    from foreslice.settings.schema import json_schema_text

    typer.echo(json_schema_text(), nl=False)
