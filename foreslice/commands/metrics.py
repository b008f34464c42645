"""Commands on metrics: ``metrics inspect``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm

metrics = typer.Typer(no_args_is_help=True, help="Look at metrics as foreslice reads them.")


@metrics.callback()
def _group() -> None:
    """Keep the name of the one command."""


@metrics.command()
def inspect(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_URL",
            help="What an engine answers at /metrics, an answer of Prometheus' API, or - for standard input.",
            show_default=False,
        ),
    ],
    engine: Annotated[str, typer.Option(help="Whose series these are; auto = as their names show.")] = "auto",
    config_file: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Settings file that describes more engines.", show_default=False),
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Print the normalised signals of a scrape, where they are from, and what is absent or doubtful."""
    from foreslice.inspection import inspect as inspect_metrics

    inspect_metrics(source, engine, config_file, is_json=output is Output.JSON)
