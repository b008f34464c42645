"""Commands on settings files: ``config check``, ``config import``, ``config schema``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import EXIT_INPUT, Output, OutputForm

config = typer.Typer(no_args_is_help=True, help="Check settings, import objectives, or print the schema.")


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


@config.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="File of another tool, YAML or JSON.", show_default=False)],
    output: OutputForm = Output.TEXT,
) -> None:
    """Print objectives of Dynamo's planner, WVA, GuideLLM or inference-perf as settings would have them."""
    from foreslice import output as standard_output
    from foreslice.settings.objectives.read import as_json, as_settings, read

    found = read(path)
    if output is Output.JSON:
        standard_output.print_json(as_json(found))
    else:
        typer.echo(as_settings(found), nl=False)


@config.command()
def schema() -> None:
    """Print the JSON schema of the settings file."""
    from foreslice.settings.schema import json_schema_text

    typer.echo(json_schema_text(), nl=False)
