"""What `foreslice config check` says about a file."""

from __future__ import annotations

import json
from pathlib import Path

from fleet.errors import InputError
from foreslice.settings.load import InvalidSettings, load


def report(path: Path, *, as_json: bool) -> tuple[str, bool]:
    """Return the text or JSON to print about a settings file, and whether it can be used."""
    try:
        settings = load(path)
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
