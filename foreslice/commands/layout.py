"""Commands on layouts of nodes: ``layout show | assert | diff`` of a dump, ``layout apply`` and ``slice``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import EXIT_NOT_SO, ConfigFile, Output, OutputForm

layout = typer.Typer(
    no_args_is_help=True, help="What nodes' cards are cut or sliced into, and how one node is changed."
)

Objects = Annotated[
    list[Path],
    typer.Option(
        help="Dumped objects, YAML or JSON; may be given again: Nodes, Pods, ConfigMaps, mig-parted files.",
        show_default=False,
    ),
]
Node = Annotated[str, typer.Option(help="Name of the node.", show_default=False)]


@layout.command()
def show(objects: Objects, output: OutputForm = Output.TEXT) -> None:
    """Show card by card what the wanted configuration makes of every node, and whether the node shows it."""
    from foreslice.layouts import show_layouts

    show_layouts(objects, as_json=output is Output.JSON)


@layout.command("assert")
def assert_(
    objects: Objects,
    node: Node,
    wanted: Annotated[
        str,
        typer.Option("--is", help="Configuration that it should have; default: the one it is labelled with."),
    ] = "",
    output: OutputForm = Output.TEXT,
) -> None:
    """Leave with 0 if a node shows what a configuration makes of it, else with 4; labels are no evidence."""
    from foreslice.layouts import is_shown

    if not is_shown(objects, node, wanted, as_json=output is Output.JSON):
        raise typer.Exit(EXIT_NOT_SO)


@layout.command()
def diff(
    objects: Objects,
    node: Node,
    to: Annotated[str, typer.Option(help="Configuration that it should get.", show_default=False)],
    output: OutputForm = Output.TEXT,
) -> None:
    """Show what a change of layout takes, and what speaks against it: then it leaves with 4."""
    from foreslice.layouts import show_change

    if show_change(objects, node, to, as_json=output is Output.JSON):
        raise typer.Exit(EXIT_NOT_SO)


@layout.command()
def apply(
    config_file: ConfigFile,
    node: Node,
    manager: Annotated[
        str,
        typer.Option(help="The MIG manager's ConfigMap, as namespace/name.", show_default=False),
    ],
    to: Annotated[str, typer.Option(help="A configuration that the ConfigMap has.")] = "",
    cut: Annotated[
        str, typer.Option(help="What the cards are cut into: '0: 3g.40gb + 4g.40gb; 1-7: 7 x 1g.10gb'.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, the next step is only said.")] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Bring a node to another layout: drained by evictions, verified by its devices, taken back if it fails.

    May be stopped and run again. Leaves with 4 while the node does not have the layout.
    """
    from foreslice.relayout import Order, apply_layout

    order = Order(node, to, cut, manager)
    if not apply_layout(config_file, order, is_dry=not yes, as_json=output is Output.JSON):
        raise typer.Exit(EXIT_NOT_SO)


@layout.command("slice")
def slice_(
    config_file: ConfigFile,
    node: Node,
    plugin: Annotated[
        str,
        typer.Option(help="The device plugin's ConfigMap, as namespace/name.", show_default=False),
    ],
    replicas: Annotated[
        int,
        typer.Option(
            help="How often each card is to be offered; 1 = whole.", min=1, max=100, show_default=False
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, the next step is only said.")] = False,
    output: OutputForm = Output.TEXT,
) -> None:
    """Have a node's cards offered in so many time slices: drained before, verified by what can be allocated.

    May be stopped and run again. Leaves with 4 while the node does not offer them.
    """
    from foreslice.reslice import apply_slices

    if not apply_slices(config_file, node, plugin, replicas, is_dry=not yes, as_json=output is Output.JSON):
        raise typer.Exit(EXIT_NOT_SO)
