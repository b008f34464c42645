"""Commands that measure foreslice against others on published data: ``bench openb``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm

bench = typer.Typer(no_args_is_help=True, help="Measure decisions against others, on published data.")


class Variant(StrEnum):
    """Whether pods leave."""

    FILL = "fill"
    CHURN = "churn"


@bench.callback()
def _root() -> None:
    """Keep `openb` a command of its own, however few others there are."""


@bench.command()
def openb(
    nodes: Annotated[Path, typer.Option(help="openb's list of hosts, CSV or .gz.", show_default=False)],
    pods: Annotated[Path, typer.Option(help="openb's list of pods, CSV or .gz.", show_default=False)],
    seeds: Annotated[int, typer.Option(help="Orders of arrival, 42 and on.", min=1)] = 10,
    variant: Annotated[
        Variant, typer.Option(help="Pods fill an empty cluster, or leave again as well.")
    ] = Variant.FILL,
    output: OutputForm = Output.TEXT,
) -> None:
    """Place openb's pods by four rules, by its authors' protocol, and compare how much GPU is allocated."""
    from foreslice.openb import run_openb

    run_openb(nodes, pods, seeds=seeds, leave=variant is Variant.CHURN, as_json=output is Output.JSON)
