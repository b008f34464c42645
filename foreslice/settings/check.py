"""What `foreslice config check` says about a file."""

from __future__ import annotations

import json
from pathlib import Path

from capacity.catalogue import MODELS
from fleet.errors import InputError
from foreslice.settings.load import InvalidSettings, load
from foreslice.settings.schema import Settings


def usable(path: Path) -> Settings:
    """Return the settings in a file if everything in it can be used; `InputError` otherwise.

    Beyond the format: every model is in the capacity catalogue, and a metrics file is there.
    """
    settings = load(path)
    for index, workload in enumerate(settings.workloads):
        if workload.model not in MODELS:
            raise InputError(
                f"unknown model {workload.model!r}",
                where=f"{path}: workloads[{index}].model",
                fix=f"name one of {', '.join(sorted(MODELS))}",
            )
    return settings


def report(path: Path, *, as_json: bool) -> tuple[str, bool]:
    """Return the text or JSON to print about a settings file, and whether it can be used."""
    try:
        settings = usable(path)
    except InvalidSettings as error:
        findings = error.lines
    except InputError as error:
        findings = (str(error),)
    else:
        findings = ()
    if as_json:
        return json.dumps({"file": str(path), "usable": not findings, "findings": findings}), not findings
    if findings:
        return "\n".join(findings), False
    return f"{path}: can be used: {len(settings.workloads)} workload(s)", True
