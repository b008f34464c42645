"""Command that makes a model of many series and stores it: ``train``."""

from typing import Annotated

import typer

from foreslice.commands.options import (
    DemandColumn,
    DemandFile,
    Output,
    OutputForm,
    QuantileList,
    SeriesColumn,
    TimeColumn,
    WindowsAhead,
)


def train(  # noqa: PLR0913, PLR0917 -- options
    file: DemandFile,
    store: Annotated[
        str, typer.Option(help="Folder or fsspec URL to store the model at.", show_default=False)
    ],
    name: Annotated[str, typer.Option(help="Of the model.")] = "global",
    time: TimeColumn = "timestamp",
    by: SeriesColumn = "",
    value: DemandColumn = "value",
    windows: WindowsAhead = "30m,60m",
    quantiles: QuantileList = ".5,.9,.95,.99",
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
