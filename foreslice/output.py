"""What commands leave: JSON and nothing else on standard output, and files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fleet.errors import InputError


def print_json(answer: Mapping[str, Any]) -> None:
    """Print what a command answers, for scripts."""
    print(json.dumps(answer, indent=2))  # noqa: T201 -- what the command is for


@contextmanager
def writable(file: Path) -> Iterator[None]:
    """Say of a file that cannot be written which it is: any `OSError` inside becomes an `InputError`."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})",
            where=str(file),
            fix="name a file in a folder that can be written",
        ) from error


def check_writable(file: Path) -> None:
    """Raise `InputError` if a file cannot be written: asked before the work of which it is to tell."""
    with writable(file):
        file.open("ab").close()


def let_go() -> None:
    """Send nowhere what is printed from here on, and what Python still holds back until it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
