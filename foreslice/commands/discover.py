"""Command ``discover``: what there is, as a proposal of settings."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


def discover(
    prometheus: Annotated[str, typer.Option(help="Address of a Prometheus.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="File to write; default: print it.")] = None,
    kubeconfig: Annotated[Path | None, typer.Option(help="Default: what kubectl would take.")] = None,
    context: Annotated[str, typer.Option(help="Context of the kubeconfig; default: its current one.")] = "",
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Look here only; may be given often.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with a bearer token for Prometheus.")] = None,
    ca_file: Annotated[Path | None, typer.Option(help="Certificate of a private CA, PEM.")] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Look at a cluster and its Prometheus, and propose settings; reads only, with your own rights."""
    from foreslice.discovery.run import run_discover
    from predictor.sources.access import Access

    run_discover(
        prometheus,
        Access(token_file=token_file, ca_file=ca_file),
        kubeconfig,
        context,
        namespace or [],
        out,
        as_json=output is Output.JSON,
    )
