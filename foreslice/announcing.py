"""`foreslice boost`: a rise that somebody knows of, written into the settings file."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from fleet.errors import InputError
from foreslice.owners import tell, time_of
from foreslice.settings.insert import with_item
from foreslice.settings.load import load


def run_boost(
    config: Path, name: str, factor: str, *, begin: str, end: str, because: str, as_json: bool
) -> None:
    """Add a boost to the settings file, which a running service takes up, and print it.

    The file is replaced as a whole, and only by one that can be used.

    Args:
        config: Settings file.
        name: Workload as namespace/name.
        factor: Times what is usual, as `2x`.
        begin: When it begins: a time with an offset, or how long from now.
        end: When it is over, the same.
        because: What it is for.
        as_json: Print JSON.

    Raises:
        InputError: One of these cannot be used, or the file cannot be written.
    """
    load(config)
    item = {
        "workload": name,
        "factor": _times(factor),
        "from": time_of(begin, "--from"),
        "to": time_of(end, "--to"),
        "because": because,
    }
    line = (
        f"{{{', '.join(f'{key}: {json.dumps(value, ensure_ascii=False)}' for key, value in item.items())}}}"
    )
    text = with_item(config.read_text(encoding="utf-8"), "boosts", line)
    _replace(config, text)
    tell({"boost": item, "file": str(config)}, [f"{config}: boosts: {line}"], as_json=as_json)


def _times(text: str) -> float:
    try:
        return float(text.removesuffix("x"))
    except ValueError as error:
        raise InputError(f"{text} is no factor", where="FACTOR", fix="write e.g. 2x or 1.5x") from error


def _replace(config: Path, text: str) -> None:
    """Put a text in a file's place, if it can be used there: relative paths count from its folder."""
    try:
        handle, name = tempfile.mkstemp(dir=config.parent, prefix=f".{config.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        fix = "give a settings file that you may write"
        raise InputError(f"cannot be written ({error.strerror})", where=str(config), fix=fix) from error
    new = Path(name)
    try:
        load(new)
        new.chmod(config.stat().st_mode)
        new.replace(config)
    except InputError as error:
        what = str(error).replace(name, str(config))
        raise InputError(what, where="boost", fix="nothing was written") from error
    finally:
        new.unlink(missing_ok=True)
