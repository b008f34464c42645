"""Command that scores forecasts on demand that has already come: ``backtest``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import (
    AllowingFile,
    DemandColumn,
    DemandFile,
    Output,
    OutputForm,
    QuantileList,
    RecipeFile,
    SeriesColumn,
    TimeColumn,
    WindowsAhead,
)


def backtest(  # noqa: PLR0913, PLR0917 -- options
    file: DemandFile,
    time: TimeColumn = "timestamp",
    by: SeriesColumn = "",
    value: DemandColumn = "value",
    windows: WindowsAhead = "30m,60m",
    quantiles: QuantileList = ".5,.9,.95,.99",
    test_fraction: Annotated[
        float, typer.Option(help="Share of each series, its end, that is scored.", min=0.01, max=0.99)
    ] = 0.3,
    test_from: Annotated[
        str, typer.Option(help="Score from this time on instead, written as in the file.", show_default=False)
    ] = "",
    target: Annotated[
        str, typer.Option(help="Of each window: its highest step (peak) or its last (step).")
    ] = "peak",
    zone: Annotated[str, typer.Option(help="Time zone that users live by.")] = "UTC",
    country: Annotated[str, typer.Option(help="Country whose holidays count, ISO 3166; empty = none.")] = "",
    recipe: RecipeFile = None,
    config_file: AllowingFile = None,
    plot: Annotated[
        Path | None, typer.Option(help="Leave pictures in this HTML file.", show_default=False)
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Score forecasts of demand, step by step on its past, beside the rules that they must beat."""
    from foreslice.backtesting import Asked, run_backtest
    from predictor.calendar import Calendar
    from predictor.sources.demand_table import Columns

    asked = Asked(
        file=file,
        columns=Columns(time, by, value),
        windows=windows,
        quantiles=quantiles,
        test_fraction=test_fraction,
        test_from=test_from,
        target=target,
        calendar=Calendar(zone, country),
        recipe=recipe,
        config=config_file,
    )
    run_backtest(asked, plot=plot, as_json=output is Output.JSON)
