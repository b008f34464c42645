"""Command that makes a model of many series and stores it: ``train``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


def train(  # noqa: PLR0913, PLR0917 -- options
    file: Annotated[
        Path, typer.Argument(help="Tidy CSV (.csv, .csv.gz) or Parquet file.", show_default=False)
    ],
    store: Annotated[
        str, typer.Option(help="Folder or fsspec URL to store the model at.", show_default=False)
    ],
    name: Annotated[str, typer.Option(help="Of the model.")] = "global",
    time: Annotated[
        str, typer.Option(help="Column with seconds or timestamps (UTC unless they say).")
    ] = "timestamp",
    by: Annotated[str, typer.Option(help="Column that tells series apart; empty = one series.")] = "",
    value: Annotated[str, typer.Option(help="Column with demand.")] = "value",
    windows: Annotated[str, typer.Option(help="Windows ahead.")] = "30m,60m",
    quantiles: Annotated[str, typer.Option(help="Quantiles, rising.")] = ".5,.9,.95,.99",
    test_fraction: Annotated[
        float, typer.Option(help="Share of the time, its end, that it is tried on.", min=0.01, max=0.99)
    ] = 0.4,
    output: OutputForm = Output.TEXT,
) -> None:
    """Learn one model of all series in a file, try it beside what serves, and store it, not yet to serve."""
    from foreslice.backtest import quantiles_of, windows_of
    from foreslice.challenging import run_train
    from predictor.backtest import Question
    from predictor.sources.demand_table import Columns

    run_train(
        file,
        Columns(time, by, value),
        Question(windows_of(windows), quantiles_of(quantiles)),
        test_fraction,
        (store, name),
        as_json=output is Output.JSON,
    )
