"""``foreslice doctor``: what was found, for people and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from actuator.inventory.findings import Finding, Severity
from actuator.manifest import Json
from fleet.errors import InputError, RefusedError
from foreslice import output, show
from foreslice.doctor.cluster import Diagnosis, diagnose
from foreslice.doctor.examine import examine
from foreslice.doctor.features import Found, State
from foreslice.doors import api_server_of
from foreslice.inventory import as_the_api_has_it, documents_in
from foreslice.settings.load import load
from foreslice.settings.schema import KubernetesCluster

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_MARKS = {State.THERE: "green", State.MISSING: "yellow", State.UNKNOWN: "dim"}


def show_manifests(paths: Sequence[Path], *, as_json: bool) -> None:
    """Print manifests put right on standard output, and on standard error what was wrong with them.

    Raises:
        InputError: A file cannot be read as objects.
    """
    documents = [document for path in paths for document in _objects(path)]
    with as_the_api_has_it(", ".join(map(str, paths))):
        found = examine(documents)
    if as_json:
        output.print_json(
            {"findings": [_as_json(each) for each in found.findings], "corrected": list(found.corrected)}
        )
        return
    told = show.console(to_stderr=True)
    for each in found.findings:
        _tell(each, told)
    count = sum(each.severity is Severity.ERROR for each in found.findings)
    told.print("1 fault" if count == 1 else f"{count} faults", highlight=False)
    text = yaml.safe_dump_all(found.corrected, sort_keys=False, allow_unicode=True, width=1000)
    print(text, end="")  # noqa: T201 -- what the command is for


def show_cluster(config: Path, *, as_json: bool) -> None:
    """Print what the cluster of a settings file can do, what that lacks, and what is wrong with it.

    Raises:
        InputError: Settings cannot be used, or pods may not be read.
        UnavailableError: The API server did not answer.
    """
    settings = load(config)
    if not isinstance(settings.cluster, KubernetesCluster):
        fix = "it takes kind: kubernetes"
        raise InputError("there is no Kubernetes cluster in the settings", where="cluster.kind", fix=fix)
    namespace = settings.cluster.lease_namespace
    with closing(api_server_of(settings.cluster, config.parent)) as server:
        try:
            found = diagnose(server, namespace)
        except RefusedError as error:
            raise InputError(
                str(error), where=str(config), fix="use a kubeconfig that may read them"
            ) from error
    if as_json:
        output.print_json(_diagnosis(found))
    else:
        _print(found)


def _print(found: Diagnosis) -> None:
    console = show.console()
    missing = [each for each in found.features if each.state is State.MISSING]
    wrong = [each for each in found.findings if each.severity is Severity.ERROR]
    console.print(
        f"{len(wrong)} faults; {len(missing)} of {len(found.features)} abilities of DRA are missing"
    )
    table = show.table("KEP", "ability", "is", "seen", "without it")
    for each in found.features:
        table.add_row(*_row(each), style=_MARKS[each.state])
    console.print(table)
    for finding in found.findings:
        _tell(finding, console)
    for note in found.notes:
        console.print(f"not read: {note}", style="yellow", soft_wrap=True)


def _tell(found: Finding, console: Console) -> None:
    line = f"{found.severity}: {found.object}: {found.what}; {found.fix}"
    console.print(line, style=_STYLES[found.severity], soft_wrap=True, highlight=False, markup=False)


def _row(each: Found) -> Iterable[str]:
    lack = "" if each.state is State.THERE else each.feature.without
    return str(each.feature.kep), each.feature.name, each.state, each.seen, lack


def _diagnosis(found: Diagnosis) -> dict[str, Any]:
    return {
        "features": [
            {
                "kep": each.feature.kep,
                "name": each.feature.name,
                "gate": each.feature.gate or None,
                "state": each.state,
                "seen": each.seen,
                "without": each.feature.without,
            }
            for each in found.features
        ],
        "findings": [_as_json(each) for each in found.findings],
        "notes": list(found.notes),
    }


def _as_json(found: Finding) -> dict[str, str]:
    return {
        "severity": found.severity,
        "code": found.code,
        "object": found.object,
        "what": found.what,
        "fix": found.fix,
    }


def _objects(path: Path) -> Iterable[Json]:
    """Return the documents of a manifest; empty ones, as a last `---` leaves, are none."""
    documents = [each for each in documents_in(path) if each is not None]
    for document in documents:
        if not isinstance(document, dict):
            fix = "give objects, or a chart's values"
            raise InputError("a document is no object", where=str(path), fix=fix)
        items = document.get("items") if document.get("kind") == "List" else None
        yield from items if isinstance(items, list) else [document]
    if not documents:
        raise InputError("there is nothing in it", where=str(path), fix="give objects, or a chart's values")
