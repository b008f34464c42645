"""Layouts of nodes under names that say what is in them.

The MIG manager acts on a change of the label's value alone: the same name with other content does nothing. So
a name is the hash of its content, and a suffix that alternates lets a change be asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actuator.manifest import digest_of

PREFIX = "foreslice-"
_SUFFIXES = ("a", "b")

Cut = Mapping[str, int] | None
"""What a card is cut into: instances by profile, `None` = it stays whole."""


def entries_of(cuts: Sequence[Cut]) -> list[dict[str, Any]]:
    """Return the entries of a configuration for a node with these cards, in the order of their indices.

    MIG mode is on for every card that is cut, with an empty table where it has no instances. Every card is
    named: what an entry leaves out is left to chance.
    """
    alike: dict[tuple[tuple[str, int], ...] | None, list[int]] = {}
    for index, cut in enumerate(cuts):
        key = None if cut is None else tuple(sorted((p, n) for p, n in cut.items() if n))
        alike.setdefault(key, []).append(index)
    return [
        {"devices": indices, "mig-enabled": key is not None, "mig-devices": dict(key or ())}
        for key, indices in alike.items()
    ]


def name_of(entries: Sequence[Mapping[str, Any]], after: str = "") -> str:
    """Return the name of a configuration, another one than the label has now.

    Args:
        entries: Its entries.
        after: The label's value now, empty = it has none.
    """
    first, second = (f"{PREFIX}{digest_of(list(entries))}-{suffix}" for suffix in _SUFFIXES)
    return second if after == first else first


def is_ours(name: str) -> bool:
    """Return whether a configuration has a name of ours; all others belong to people, and are left alone."""
    return name.startswith(PREFIX) and name.endswith(tuple(f"-{suffix}" for suffix in _SUFFIXES))


def is_as_named(name: str, entries: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a configuration is one of ours as we made it: what was edited is people's, too."""
    made = name_of(entries)
    return name in {made, other_of(made)}


def other_of(name: str) -> str:
    """Return the other name of a configuration of ours, so that asking for it again is a change of the label.

    What people named has no other name: it is asked for under its own.
    """
    if not is_ours(name):
        return name
    stem, _, suffix = name.rpartition("-")
    first, second = _SUFFIXES
    return f"{stem}-{second if suffix == first else first}"
