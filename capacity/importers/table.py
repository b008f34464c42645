"""Operating points in a CSV that anybody can write, one a row.

Columns: `prompt_tokens` and `output_tokens` (means of a request), `concurrency` (requests under way, held
constant), `itl_ms`; optional `ttft_ms` and `requests` (that the means are over, 100 where it is left out).
"""

from __future__ import annotations

import csv
from pathlib import Path

from capacity.importers.run import WHAT_IS_READ, Run, positive
from fleet.errors import InputError

_NEEDED = ("prompt_tokens", "output_tokens", "concurrency", "itl_ms")

_REQUESTS = 100.0


def runs(path: Path, where: str) -> list[Run]:
    """Return the rows; `InputError` naming the first column or value that is missing."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file, skipinitialspace=True)
        missing = [column for column in _NEEDED if column not in (table.fieldnames or ())]
        if missing:
            raise InputError(f"has no column {', '.join(missing)}", where=where, fix=WHAT_IS_READ)
        return [_run(row, f"{where}:{table.line_num}") for row in table]


def _run(row: dict[str, str], where: str) -> Run:
    prompt, output, concurrency, itl_ms = (positive(row, (column,), where) for column in _NEEDED)
    return Run(
        prompt,
        output,
        concurrency,
        is_closed=True,
        itl_ms=itl_ms,
        ttft_ms=positive(row, ("ttft_ms",), where) if row.get("ttft_ms") else None,
        requests=positive(row, ("requests",), where) if row.get("requests") else _REQUESTS,
    )
