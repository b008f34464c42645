"""Command that makes a model of many series and stores it: ``train``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import (
    DemandColumn,
    Output,
    OutputForm,
    RecipeFile,
    SeriesColumn,
    TimeColumn,
)


class Backend(StrEnum):
    """Where a model is learnt."""

    HERE = "here"
    DASK = "dask"


def train(  # noqa: PLR0913, PLR0917 -- options
    store: Annotated[
        str, typer.Option(help="Folder or fsspec URL to store the model at.", show_default=False)
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Tidy CSV (.csv, .csv.gz) or Parquet file; without one, what the service would learn from.",
            show_default=False,
        ),
    ] = None,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            help="Settings: where demand is read from without FILE, and what recipes may name.",
            show_default=False,
        ),
    ] = None,
    recipe: RecipeFile = None,
    name: Annotated[str, typer.Option(help="Of the model.")] = "global",
    time: TimeColumn = "timestamp",
    by: SeriesColumn = "",
    value: DemandColumn = "value",
    windows: Annotated[str, typer.Option(help="Windows ahead; default: the recipe's.")] = "",
    quantiles: Annotated[str, typer.Option(help="Quantiles, rising; default: the recipe's.")] = "",
    test_fraction: Annotated[
        float, typer.Option(help="Share of the time, its end, that it is tried on.", min=0.01, max=0.99)
    ] = 0.4,
    backend: Annotated[
        Backend, typer.Option(help="Where the work is done; dask needs foreslice[dask] and --scheduler.")
    ] = Backend.HERE,
    scheduler: Annotated[
        str, typer.Option(help="Address of a Dask scheduler: tcp://HOST:8786.", show_default=False)
    ] = "",
    output: OutputForm = Output.TEXT,
) -> None:
    """Learn one model of all series, try it beside what serves, and store it, not yet to serve."""
    from foreslice.challenging import Asked, run_train
    from predictor.sources.demand_table import Columns

    asked = Asked(file, Columns(time, by, value), config_file, recipe, windows, quantiles)
    run_train(
        asked,
        test_fraction,
        (store, name),
        scheduler=scheduler if backend is Backend.DASK else None,
        as_json=output is Output.JSON,
    )
