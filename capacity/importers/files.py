"""A benchmark file of any known format as operating points."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from capacity.fit import Point
from capacity.importers import guidellm, table, vllm_bench
from capacity.importers.run import WHAT_IS_READ, Run
from fleet.errors import InputError
from fleet.shape import Shape


def read_benchmark(path: Path, shape: Shape) -> tuple[Point, ...]:
    """Return the operating points in a file; what it was measured on it does not say, `shape` does.

    Raises:
        InputError: The file cannot be read, is of no known format, or lacks a number.
    """
    where = str(path)
    try:
        runs = table.runs(path, where) if path.suffix.lower() == ".csv" else _from_json(path, where)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, fix=WHAT_IS_READ) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", where=where, fix=WHAT_IS_READ) from error
    except csv.Error as error:
        raise InputError(f"is no CSV ({error})", where=where, fix=WHAT_IS_READ) from error
    if not runs:
        raise InputError("holds no run", where=where, fix=WHAT_IS_READ)
    return tuple(run.point(shape) for run in runs)


def _from_json(path: Path, where: str) -> list[Run]:
    documents = _documents(path.read_text(encoding="utf-8-sig"), where)
    if len(documents) == 1 and guidellm.is_guidellm(documents[0]):
        return guidellm.runs(documents[0], where)
    if documents and all(map(vllm_bench.is_vllm_bench, documents)):
        return [vllm_bench.run(document, where) for document in documents]
    raise InputError("is no benchmark result of a known format", where=where, fix=WHAT_IS_READ)


def _documents(text: str, where: str) -> list[Any]:
    """Return the one JSON document, or one for each line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines]
        except json.JSONDecodeError:
            problem = f"is not JSON (line {error.lineno}: {error.msg})"
            raise InputError(problem, where=where, fix=WHAT_IS_READ) from error
