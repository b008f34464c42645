"""``foreslice inventory``: files in, tables or JSON out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml
from rich.console import Group

from actuator.inventory.understand import dump_of, understand
from actuator.manifest import Json, seconds_of
from fleet.errors import InputError
from foreslice import output, show

_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a time is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def show_inventory(objects: Sequence[Path], logs: Sequence[Path], at: str, *, as_json: bool) -> None:
    """Print what the files show; `InputError` naming the file that cannot be used."""
    documents = [document for path in objects for document in objects_in(path)]
    try:
        now_s = seconds_of(at) if at else None
    except ValueError as wrong:
        fix = "write it as 2026-01-01T13:00:00Z"
        raise InputError(f"{at!r} is no time", where="--at", fix=fix) from wrong
    with as_the_api_has_it(", ".join(map(str, objects))):
        shown = understand(dump_of(documents, "\n".join(map(text_in, logs)), now_s))
    if as_json:
        output.print_json(shown)
    else:
        show.console().print(_tables(shown))


def text_in(path: Path) -> str:
    """Return the text of a file; `InputError` naming it if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else "no UTF-8"
        raise InputError(f"cannot be read ({reason})", where=str(path), fix="give a text file") from wrong


def objects_in(path: Path) -> list[object]:
    """Return the documents of a file; `InputError` naming it if they are no objects of a cluster."""
    documents = list(documents_in(path))
    with as_the_api_has_it(str(path)):
        dump_of(documents)
    return documents


@contextmanager
def as_the_api_has_it(where: str) -> Iterator[None]:
    """Say of objects that cannot be read where they are from: fields that are missing, or of another kind."""
    try:
        yield
    except InputError as wrong:
        raise InputError(wrong.what, where=where, fix=wrong.fix) from wrong
    except (LookupError, TypeError, AttributeError, ValueError) as wrong:
        what = f"an object is not as the API has it ({type(wrong).__name__}: {wrong})"
        fix = "give objects as `kubectl get ... -o yaml` writes them, whole"
        raise InputError(what, where=where, fix=fix) from wrong


def documents_in(path: Path) -> Iterator[object]:
    """Return what a YAML or JSON file holds, whatever it is; `InputError` naming it if it is neither."""
    text = text_in(path)
    try:
        # JSON is YAML too, but a dump of a large cluster is read a hundred times faster as what it is.
        yield from [json.loads(text)] if path.suffix == ".json" else yaml.load_all(text, _Loader)
    except (yaml.YAMLError, ValueError) as wrong:
        what = " ".join(str(wrong).split())
        raise InputError(f"is no YAML or JSON ({what})", where=str(path), fix="correct it") from wrong


def _tables(shown: Json) -> Group:
    nodes = show.table("node", "board", "whole", "unhealthy", "MIG", "layout")
    for node in shown["nodes"]:
        mig = ", ".join(f"{n} x {profile}" for profile, n in node["instances"].items() if n)
        nodes.add_row(
            node["name"],
            node["board"] or f"{node['product']} (not known)",
            str(node["whole_gpus"]),
            str(node["unhealthy_gpus"]),
            mig or "-",
            f"{node['layout_config'] or '-'}: {node['layout_state']}",
        )
    tenants = show.table("tenant", "mechanism", "holds", "cards")
    for tenant in shown["tenants"]:
        tenants.add_row(tenant["pod"], tenant["mechanism"], tenant["holds"], " ".join(tenant["gpus"]) or "-")
    shares = show.table("shared card", "mechanism", "counts", "used", "of", "tenants")
    for use in shown["shares"]:
        shares.add_row(
            use["card"],
            use["mechanism"],
            use["unit"],
            str(use["used"]),
            str(use["total"]),
            str(use["tenants"]),
        )
    queues = show.table("queue", "allocated", "guaranteed left", "possible left", "reclaimable")
    for name, queue in shown["queues"].items():
        left = (queue[key] for key in ("allocated", "guaranteed_left", "possible_left", "reclaimable"))
        queues.add_row(name, *("no bound" if value is None else f"{value:g}" for value in left))
    findings = show.table("finding", "on", "what", "what to do")
    for found in shown["findings"]:
        style = _STYLES[found["severity"]]
        findings.add_row(found["severity"], found["object"], found["what"], found["fix"], style=style)
    devices = shown["devices"]
    counts = ", ".join(
        [f"{len(devices['whole'])} whole", *(f"{n} x {p}" for p, n in devices["instances"].items())]
    )
    lines = (
        [f"DRA devices: {counts}; free: {', '.join(map(str, devices['free'])) or 'none'}"]
        if shown["boards"]
        else []
    )
    tables = (table for table in (nodes, tenants, shares, queues, findings) if table.row_count)
    return Group(*tables, *lines, f"{len(shown['findings'])} findings")
