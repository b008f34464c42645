"""Command ``doctor``: what is wrong with manifests, or with a cluster, and what to do about it."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.errors import InputError
from foreslice.commands.options import Output, OutputForm


def doctor(
    manifest: Annotated[
        list[Path],
        typer.Option(
            "--manifest",
            "-m",
            help="Manifest or Helm values to put right; may be given again.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 -- typer makes a new list of it for every call
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="Settings file whose cluster is looked into.", show_default=False
        ),
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Name every fault of a manifest and print it corrected; or say what a cluster lacks and what that costs.

    The corrected manifest is all that standard output gets, so that it can be piped on.
    """
    from foreslice.doctor.report import show_cluster, show_manifests

    if bool(manifest) == (config_file is not None):
        raise InputError(
            "one thing is examined at a time", where="doctor", fix="give --manifest FILE, or --config FILE"
        )
    if config_file is not None:
        show_cluster(config_file, as_json=output is Output.JSON)
    else:
        show_manifests(manifest, as_json=output is Output.JSON)
