"""What `foreslice config check` says about a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.settings.load import load
from foreslice.settings.schema import Settings
from foreslice.settings.yaml_file import InvalidSettings


@dataclass(frozen=True, slots=True)
class Proof:
    """What the match of a workload gets now.

    Attributes:
        series: The demand series, as `name of engine`.
        pods: Pods that these come from.
        faults: What is wrong, one line each.
    """

    series: tuple[str, ...]
    pods: tuple[str, ...]
    faults: tuple[str, ...]


Prove = Callable[[Settings, Path], Mapping[WorkloadKey, Proof]]


def report(path: Path, *, as_json: bool, prove: Prove | None = None) -> tuple[str, bool]:
    """Return the text or JSON to print about a settings file, and whether it can be used.

    Args:
        path: The file.
        as_json: Say it as JSON.
        prove: Asks after its workloads where they are; what it raises goes to the caller.
    """
    settings, findings = _read(path)
    proofs = prove(settings, path.parent) if prove is not None and settings is not None else {}
    findings += tuple(f"{path}: {key}: {fault}" for key, proof in proofs.items() for fault in proof.faults)
    if as_json:
        about = {"file": str(path), "usable": not findings, "findings": findings}
        live = {str(key): {"series": proof.series, "pods": proof.pods} for key, proof in proofs.items()}
        return json.dumps(about if prove is None else {**about, "live": live}), not findings
    if findings or settings is None:
        return "\n".join(findings), False
    lines = [f"{path}: can be used: {len(settings.workloads)} workload(s)"]
    lines += [f"{key}: {', '.join(proof.series)}: {len(proof.pods)} pod(s)" for key, proof in proofs.items()]
    return "\n".join(lines), True


def _read(path: Path) -> tuple[Settings | None, tuple[str, ...]]:
    try:
        return load(path), ()
    except InvalidSettings as error:
        return None, error.lines
    except InputError as error:
        return None, (str(error),)
