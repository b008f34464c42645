"""What a fleet should be, from files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foreslice.planning import question_of, report_of


def make_plan(snapshot: str | Path, config: str | Path, demand: str | Path | None = None) -> dict[str, Any]:
    """Return the plan for a snapshot under the policies of settings: what `foreslice plan -o json` prints.

    Pure: the same files give the same plan. Work is in full reference replicas, prices are in cards.

    Args:
        snapshot: File that `foreslice snapshot` wrote.
        config: Settings.
        demand: File of `namespace/name: work` lines in place of what was seen.

    Raises:
        InputError: A file cannot be used, or they do not fit each other.
    """
    return report_of(question_of(Path(snapshot), Path(config), None if demand is None else Path(demand)))
