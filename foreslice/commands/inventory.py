"""Command ``inventory``: what dumped objects say of a cluster, without asking it."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm


def inventory(
    objects: Annotated[
        list[Path],
        typer.Option(
            help="Dumped objects, YAML or JSON; more may follow. Kinds: Node, Pod, ResourceSlice, "
            "ResourceClaim, ResourceClaimTemplate, DeviceTaintRule, Queue, BindRequest, ConfigMap.",
            show_default=False,
        ),
    ],
    more: Annotated[
        list[Path],
        typer.Argument(help="More of them, as a pattern leaves them.", show_default=False),
    ] = [],  # noqa: B006 -- typer makes a new list of it for every call
    logs: Annotated[
        list[Path], typer.Option(help="Logs of the device plug-in; may be given again.", show_default=False)
    ] = [],  # noqa: B006 -- typer makes a new list of it for every call
    at: Annotated[
        str,
        typer.Option(help="When the dump was made, RFC 3339; ages are counted to it.", show_default=False),
    ] = "",
    output: OutputForm = Output.TEXT,
) -> None:
    """Show what is understood of dumped objects: cards, layouts, shares, tenants, and what is wrong."""
    from foreslice.inventory import show_inventory

    show_inventory([*objects, *more], logs, at, as_json=output is Output.JSON)
