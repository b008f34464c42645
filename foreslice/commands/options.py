"""Options that several commands share, and the exit codes of them all."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

EXIT_BUG, EXIT_INPUT, EXIT_UNAVAILABLE, EXIT_STOPPED, EXIT_UNREAD = 1, 2, 3, 130, 141


class Output(StrEnum):
    """Forms of output."""

    TEXT = "text"
    JSON = "json"


ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="Settings file.", show_default=False)]
OutputForm = Annotated[Output, typer.Option("--output", "-o", help="Form of what is printed.")]
