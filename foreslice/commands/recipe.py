"""Commands on recipes: ``recipe check``, ``recipe schema``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import AllowingFile, Output, OutputForm

recipe = typer.Typer(no_args_is_help=True, help="How models are learnt: check a recipe, or print the schema.")


@recipe.command()
def check(
    path: Annotated[Path, typer.Argument(help="Recipe (YAML).", show_default=False)],
    config_file: AllowingFile = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say whether a recipe can be used, and if not, what is wrong with it where."""
    from foreslice.recipes import run_check

    run_check(path, config_file, as_json=output is Output.JSON)


@recipe.command()
def schema() -> None:
    """Print the JSON schema of a recipe."""
    from foreslice.settings.recipe import json_schema_text

    typer.echo(json_schema_text(), nl=False)
