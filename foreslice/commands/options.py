"""Options that several commands share, and the exit codes of them all."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

EXIT_BUG, EXIT_INPUT, EXIT_UNAVAILABLE, EXIT_NOT_SO, EXIT_STOPPED, EXIT_UNREAD = 1, 2, 3, 4, 130, 141


class Output(StrEnum):
    """Forms of output."""

    TEXT = "text"
    JSON = "json"


DemandFile = Annotated[
    Path, typer.Argument(help="Tidy CSV (.csv, .csv.gz) or Parquet file.", show_default=False)
]
TimeColumn = Annotated[
    str, typer.Option("--time", help="Column with seconds or timestamps (UTC unless they say).")
]
SeriesColumn = Annotated[
    str, typer.Option("--by", help="Column that tells series apart; empty = one series.")
]
DemandColumn = Annotated[str, typer.Option("--value", help="Column with demand.")]
WindowsAhead = Annotated[str, typer.Option("--windows", help="Windows ahead.")]
QuantileList = Annotated[str, typer.Option("--quantiles", help="Quantiles, rising.")]
RecipeFile = Annotated[
    Path | None, typer.Option("--recipe", help="How models are learnt (YAML).", show_default=False)
]
AllowingFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="Settings file that allows what the recipe names.", show_default=False
    ),
]
ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", help="Settings file.", show_default=False, envvar="FORESLICE_CONFIG")
]
OutputForm = Annotated[Output, typer.Option("--output", "-o", help="Form of what is printed.")]
Workloads = Annotated[
    list[str] | None,
    typer.Argument(
        help="Workloads as namespace/name; default: all.", show_default=False, metavar="WORKLOAD..."
    ),
]
