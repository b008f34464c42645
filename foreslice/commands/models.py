"""Commands on stored models: ``models list | show | verify | promote | rollback | compare``."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import EXIT_INPUT, AllowingFile, Output, OutputForm

models = typer.Typer(
    no_args_is_help=True, help="Stored models: what there is, what serves, and whether it may."
)

Store = Annotated[
    str, typer.Option("--store", help="Folder or fsspec URL that holds them.", show_default=False)
]
Version = Annotated[str, typer.Argument(metavar="NAME/VERSION", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
Which = Annotated[
    str, typer.Argument(metavar="NAME[/VERSION]", help="Default version: what serves.", show_default=False)
]


@models.command("list")
def list_(store: Store, config_file: AllowingFile = None, output: OutputForm = Output.TEXT) -> None:
    """List all versions, which of them serves, and what is wrong with any."""
    from foreslice.models import print_list, registry_at

    print_list(registry_at(store, config_file), as_json=output is Output.JSON)


@models.command()
def show(
    which: Which,
    store: Store,
    config_file: AllowingFile = None,
    plot: Annotated[
        Path | None, typer.Option(help="Leave the card with plots in this HTML file.", show_default=False)
    ] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Show all that is said of a version."""
    from foreslice.models import print_one, registry_at

    print_one(registry_at(store, config_file), which, plot=plot, as_json=output is Output.JSON)


@models.command()
def verify(
    store: Store,
    which: Annotated[
        str | None,
        typer.Argument(metavar="[NAME/VERSION]", help="Default: all versions.", show_default=False),
    ] = None,
    config_file: AllowingFile = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Read versions whole and let them answer their golden input; exit code 2 if any does not hold."""
    from foreslice.models import print_verified, registry_at

    if not print_verified(registry_at(store, config_file), which, as_json=output is Output.JSON):
        raise typer.Exit(EXIT_INPUT)


@models.command()
def promote(
    version: Version, store: Store, config_file: AllowingFile = None, output: OutputForm = Output.TEXT
) -> None:
    """Let a version serve, if it is sound, has won and is calibrated; else what serves stays."""
    from foreslice.models import registry_at, run_promote

    run_promote(registry_at(store, config_file), version, as_json=output is Output.JSON)


@models.command()
def rollback(
    name: Name, store: Store, config_file: AllowingFile = None, output: OutputForm = Output.TEXT
) -> None:
    """Let the version before serve again, or none if there was none."""
    from foreslice.models import registry_at, run_rollback

    run_rollback(registry_at(store, config_file), name, as_json=output is Output.JSON)


@models.command()
def compare(
    challenger: Version,
    rival: Which,
    store: Store,
    config_file: AllowingFile = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Set two versions side by side on the windows that both were scored on, and say what the gate says."""
    from foreslice.models import print_comparison, registry_at

    print_comparison(registry_at(store, config_file), challenger, rival, as_json=output is Output.JSON)
