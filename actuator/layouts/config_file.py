"""Configurations of ours in a file that belongs to others: they come and go, and nothing else moves.

The file is edited as text, so that comments and order of what people wrote stay; what comes out is read again
and must say what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import yaml

from actuator.layouts.format import configs_in
from actuator.layouts.named import is_as_named
from fleet.errors import RefusedError

_TABLE = re.compile(r"^mig-configs:[ \t]*(#.*)?\n", re.MULTILINE)
_KEY = re.compile(r"^(?P<indent> +)(?P<name>[^\s#:-][^:\n]*):", re.MULTILINE)


def with_configs(text: str, ours: Mapping[str, Sequence[Mapping[str, Any]]], where: str) -> str:
    """Return a file with exactly these configurations of ours, and all others as they were.

    One that has a name of ours, and in it what the name does not say, was edited by hand and is another's.

    Args:
        text: The file as it is: `config.yaml` of the ConfigMap.
        ours: Configurations of ours by name; those of ours that are not named go.
        where: What the file is, for messages.

    Raises:
        InputError: The MIG manager does not take the file as it is.
        RefusedError: The file is laid out in a way in which it cannot be edited without touching the rest.
    """
    before = configs_in(text, where)
    theirs = {name: entries for name, entries in before.items() if not is_as_named(name, entries)}
    wanted = {**theirs, **{name: list(entries) for name, entries in ours.items()}}
    edited = _without(text, before.keys() - theirs.keys())
    table = _TABLE.search(edited)
    if table is None:
        raise RefusedError(f"{where}: mig-configs is not a block of its own lines: nothing is put into it")
    first = _KEY.search(edited, table.end())
    indent = first["indent"] if first else "  "
    block = "".join(_block(name, entries, indent) for name, entries in ours.items())
    edited = edited[: table.end()] + block + edited[table.end() :]
    if dict(configs_in(edited, where)) != wanted:
        raise RefusedError(f"{where}: cannot be edited without touching what others wrote")
    return edited


def _without(text: str, names: Collection[str]) -> str:
    """Return a file without the blocks of these configurations."""
    if not names:
        return text
    table = _TABLE.search(text)
    first = _KEY.search(text, table.end()) if table else None
    if table is None or first is None:
        return text
    lines, kept, is_going = text[table.end() :].splitlines(keepends=True), [], False
    for line in lines:
        if (key := _KEY.match(line)) and key["indent"] == first["indent"]:
            is_going = key["name"].strip("\"'") in names
        elif line.strip() and not line.startswith(first["indent"]):
            is_going = False
        if not is_going:
            kept.append(line)
    return text[: table.end()] + "".join(kept)


def _block(name: str, entries: Iterable[Mapping[str, Any]], indent: str) -> str:
    lines = [f"{indent}{name}:\n"]
    for entry in entries:
        flow = yaml.safe_dump(dict(entry), default_flow_style=True, sort_keys=False, width=10_000).strip()
        lines.append(f"{indent}- {flow}\n")
    return "".join(lines)
