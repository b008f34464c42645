"""The command ``what-if``: what an SLO would cost."""

from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm

_SET = "What to try: WORKLOAD.slo.TERM.PERCENTILE=LIMIT,LIMIT,..., as chat.slo.ttft.p95=500ms,1s,2s."


def what_if(
    config_file: ConfigFile,
    change: Annotated[str, typer.Option("--set", help=_SET, show_default=False)],
    gpu_price: Annotated[float | None, typer.Option(help="Price of a card-hour.", min=0)] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say what an SLO would cost in cards, on the demand that was recorded, before it is set."""
    from foreslice.sizing.what_if import run_what_if

    run_what_if(config_file, change, gpu_price, as_json=output is Output.JSON)
