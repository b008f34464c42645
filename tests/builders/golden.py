"""Golden objects with their mutations, read from `tests/data/golden`."""

import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1] / "data" / "golden"
KINDS = tuple(sorted(folder.name for folder in ROOT.iterdir() if folder.is_dir()))


@dataclass(frozen=True)
class Mutation:
    """A change of a golden object that its reader does not take.

    Attributes:
        why: What is wrong with it.
        at: Path of what is changed.
        body: The object after it.
        is_refused_by_server: The API server itself says so.
    """

    why: str
    at: tuple[str | int, ...]
    body: Any
    is_refused_by_server: bool


def text_of(kind):
    """Return the golden file of a kind as it stands."""
    return (ROOT / kind / "golden.yaml").read_text()


@cache
def objects_of(kind):
    """Return its objects."""
    return list(yaml.safe_load_all(text_of(kind)))


@cache
def format_of(kind):
    """Return the schema of its format."""
    return yaml.safe_load((ROOT / kind / "format.yaml").read_text())


def mutations_of(kind):
    """Return its mutations."""
    listed = yaml.safe_load((ROOT / kind / "mutations.yaml").read_text())
    return [_mutation(objects_of(kind), one) for one in listed]


def _mutation(objects, listed):
    body = copy.deepcopy(objects[listed.get("of", 0)])
    *path, last = listed["at"]
    at = body
    for step in path:
        at = at[step]
    if "put" in listed:
        at[last] = listed["put"]
    else:
        del at[last]
    return Mutation(listed["why"], tuple(listed["at"]), body, listed.get("server", False))
