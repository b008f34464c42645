"""Command ``sharing``: who shares which card, what each was granted and uses, and who falls with it."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


def sharing(
    prometheus: Annotated[str, typer.Option(help="Address of a Prometheus; default: no readings.")] = "",
    kubeconfig: Annotated[Path | None, typer.Option(help="Default: what kubectl would take.")] = None,
    context: Annotated[str, typer.Option(help="Context of the kubeconfig; default: its current one.")] = "",
    token_file: Annotated[Path | None, typer.Option(help="File with a bearer token for Prometheus.")] = None,
    objects: Annotated[
        list[Path] | None, typer.Option(help="Dumped objects instead of a cluster; may be given again.")
    ] = None,
    metrics: Annotated[
        list[Path] | None, typer.Option(help="Scraped text instead of a Prometheus; may be given again.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Page to write, with a picture.")] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show who shares which card; reads only, with your own rights, or from files."""
    from foreslice.sharing.run import Dumped, Live, run_sharing
    from predictor.sources.access import Access

    source = (
        Dumped(objects or [], metrics or [])
        if objects or metrics
        else Live(kubeconfig, context, prometheus, Access(token_file=token_file))
    )
    run_sharing(source, out, as_json=output is Output.JSON)
