"""A line more in a list of a settings file, and every other byte as it was."""

from __future__ import annotations

import yaml

from fleet.errors import InputError


def with_item(text: str, key: str, item: str) -> str:
    """Return a YAML text with one more item in the list under a key at its top.

    Args:
        text: A YAML mapping.
        key: A key of it; the list is begun where there is none.
        item: The item, in one line of YAML.

    Raises:
        InputError: What stands under the key is no list in lines of its own.
    """
    root = yaml.compose(text, yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    found = next((value for name, value in pairs if name.value == key), None)
    lines = text.splitlines(keepends=True)
    if found is None:
        end = "" if not lines or lines[-1].endswith("\n") else "\n"
        return f"{text}{end}{key}:\n  - {item}\n"
    if not isinstance(found, yaml.SequenceNode) or found.flow_style:
        raise InputError(
            "is no list in lines of its own",
            where=key,
            fix=f"add {item}",
        )
    at = found.start_mark
    lines.insert(at.line, f"{' ' * at.column}- {item}\n")
    return "".join(lines)
