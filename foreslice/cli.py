"""The command line: ``foreslice``."""

from importlib.metadata import version
from typing import Annotated

import typer

app = typer.Typer(name="foreslice", no_args_is_help=True, add_completion=False)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"foreslice {version('foreslice')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Size the GPU slices of an inference fleet ahead of its traffic."""


def main() -> None:
    """Run the command that the arguments name."""
    app()
