"""Commands that hold foreslice off or take it away: ``pause``, ``resume``, ``restore``, ``watchdog``."""

from typing import Annotated

import typer

from foreslice.commands.options import ConfigFile, Output, OutputForm

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Workloads as namespace/name.", show_default=False, metavar="WORKLOAD..."),
]
All = Annotated[bool, typer.Option("--all", help="Every workload of the settings file.")]


def pause(
    config_file: ConfigFile, workloads: Names = None, every: All = False, output: OutputForm = Output.TEXT
) -> None:
    """Have workloads left as they are: an annotation on their Deployments that the service obeys."""
    from foreslice.leave import run_pause

    run_pause(config_file, workloads or [], every=every, is_paused=True, as_json=output is Output.JSON)


def resume(
    config_file: ConfigFile, workloads: Names = None, every: All = False, output: OutputForm = Output.TEXT
) -> None:
    """Take a pause away."""
    from foreslice.leave import run_pause

    run_pause(config_file, workloads or [], every=every, is_paused=False, as_json=output is Output.JSON)


def restore(
    config_file: ConfigFile,
    workloads: Names = None,
    every: All = False,
    wait: Annotated[str, typer.Option(help="How long to wait for replicas to become ready.")] = "30m",
    output: OutputForm = Output.TEXT,
) -> None:
    """Give workloads back: their own Deployment holds what stands now, copies end, and they stay paused."""
    from foreslice.leave import run_restore

    run_restore(config_file, workloads or [], every=every, wait=wait, as_json=output is Output.JSON)


def watchdog(
    config_file: ConfigFile,
    after: Annotated[
        str, typer.Option(help="Time without a leader after which workloads are raised.")
    ] = "10m",
    output: OutputForm = Output.TEXT,
) -> None:
    """Raise workloads to their safe configuration if foreslice is gone; to be run by a CronJob."""
    from foreslice.leave import run_watchdog

    run_watchdog(config_file, after=after, as_json=output is Output.JSON)
