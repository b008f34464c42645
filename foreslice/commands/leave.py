"""Commands that hold foreslice off, agree to what it advises, or take it away."""

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
    from foreslice.owners import run_pause

    run_pause(config_file, workloads or [], every=every, is_paused=True, as_json=output is Output.JSON)


def resume(
    config_file: ConfigFile, workloads: Names = None, every: All = False, output: OutputForm = Output.TEXT
) -> None:
    """Take a pause or a hold away."""
    from foreslice.owners import run_pause

    run_pause(config_file, workloads or [], every=every, is_paused=False, as_json=output is Output.JSON)


def hold(
    config_file: ConfigFile,
    until: Annotated[
        str, typer.Option(help="A time with an offset, or how long from now, as 4h.", show_default=False)
    ],
    workloads: Names = None,
    every: All = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Have nothing of workloads moved or removed until a time; additions go on."""
    from foreslice.owners import run_hold

    run_hold(config_file, workloads or [], every=every, until=until, as_json=output is Output.JSON)


def approve(
    config_file: ConfigFile,
    workload: Annotated[
        str, typer.Argument(help="Workload as namespace/name.", show_default=False, metavar="WORKLOAD")
    ],
    goal: Annotated[
        str, typer.Option(help="What it may be made, as Events and `foreslice explain` name it.")
    ] = "",
    until: Annotated[str, typer.Option(help="A time with an offset, or how long from now.")] = "1h",
    output: OutputForm = Output.TEXT,
) -> None:
    """Agree to what foreslice would make of a workload in mode advise."""
    from foreslice.owners import run_approve

    run_approve(config_file, workload, goal=goal, until=until, as_json=output is Output.JSON)


def boost(
    config_file: ConfigFile,
    workload: Annotated[
        str, typer.Argument(help="Workload as namespace/name.", show_default=False, metavar="WORKLOAD")
    ],
    factor: Annotated[
        str, typer.Argument(help="Times what is usual, as 2x.", show_default=False, metavar="FACTOR")
    ],
    begin: Annotated[
        str, typer.Option("--from", help="A time with an offset, or how long from now.", show_default=False)
    ],
    end: Annotated[
        str, typer.Option("--to", help="A time with an offset, or how long from now.", show_default=False)
    ],
    because: Annotated[str, typer.Option(help="What it is for.")] = "announced",
    output: OutputForm = Output.TEXT,
) -> None:
    """Announce a rise in demand: written into the settings file, so that it is carried when it begins."""
    from foreslice.announcing import run_boost

    as_json = output is Output.JSON
    run_boost(config_file, workload, factor, begin=begin, end=end, because=because, as_json=as_json)


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


def release(
    config_file: ConfigFile,
    workloads: Annotated[
        list[str] | None,
        typer.Argument(
            help="Workloads as namespace/name, in the settings or not.",
            show_default=False,
            metavar="WORKLOAD...",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All room that foreslice holds.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, what is held is only said.")] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Release room that is held for workloads; a service that runs may hold it again."""
    from foreslice.release import run_release

    run_release(config_file, workloads or [], every=every, is_dry=not yes, as_json=output is Output.JSON)


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
