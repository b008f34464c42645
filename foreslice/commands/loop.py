"""Commands that turn the loop: ``run`` on what settings name, ``demo`` on a simulated fleet."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm


def run(
    config_file: ConfigFile,
    once: Annotated[bool, typer.Option("--once", help="One tick, then print what it saw and leave.")] = False,
    listen: Annotated[
        str, typer.Option(help="Address and port to serve at, instead of those of the settings.")
    ] = "",
    output: OutputForm = Output.TEXT,
) -> None:
    """Turn the loop: observe, forecast, decide and, where settings allow it, act."""
    from foreslice.run import run_forever, run_once

    if once:
        run_once(config_file, as_json=output is Output.JSON)
    else:
        run_forever(config_file, as_json=output is Output.JSON, listen=listen)


def demo(
    seed: Annotated[
        int, typer.Option(help="Another seed is another day: sizes, arrivals, delays.", min=0)
    ] = 1,
    out: Annotated[Path, typer.Option(help="Folder for summary.json and report.html.")] = Path("out/demo"),
    output: OutputForm = Output.TEXT,
) -> None:
    """Replay one real day of several tenants on a simulated fleet, against three rivals."""
    from foreslice.demo import run_demo

    run_demo(seed=seed, out=out, as_json=output is Output.JSON)
