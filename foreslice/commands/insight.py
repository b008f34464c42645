"""Commands that show how a fleet is: ``status``, ``explain``, ``graduation``."""

from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm, Workloads


def status(config_file: ConfigFile, output: OutputForm = Output.TEXT) -> None:
    """Say in the first line whether it is safe right now, then how every workload is, worst first."""
    from foreslice.insight.status import print_status

    print_status(config_file, as_json=output is Output.JSON)


def explain(
    workload: Annotated[str, typer.Argument(help="Workload as namespace/name.", show_default=False)],
    config_file: ConfigFile,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say why a workload stands as it stands, what it needs and why, and what was done to it last."""
    from foreslice.insight.explain import print_explanation

    print_explanation(workload, config_file, as_json=output is Output.JSON)


def graduation(
    config_file: ConfigFile,
    workloads: Workloads = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show what speaks for and against leaving more to foreslice: each workload's next mode."""
    from foreslice.insight.advance import print_graduation

    print_graduation(config_file, workloads or [], as_json=output is Output.JSON)
