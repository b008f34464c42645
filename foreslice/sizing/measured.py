"""Benchmark files that a person names, as what is known of a model's laws on a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from capacity.catalogue import ModelSpec
from capacity.contention import expected_law
from capacity.fit import Fit, Point, fit
from capacity.importers.files import read_benchmark
from capacity.prior import obstacle
from fleet.boards import Board
from fleet.errors import InputError
from fleet.shape import Shape, shape_named


def fitted(benchmarks: Sequence[str], model: ModelSpec, board: Board, mechanism: str) -> Fit | None:
    """Return the fit to all points in files named `[SHAPE=]FILE`, whole card where no shape is named.

    `None` without files. `InputError` if one cannot be used, or its shape cannot run the model.
    """
    points: list[Point] = []
    for named in benchmarks:
        shape, path = _told(named, board)
        if problem := obstacle(model, board, shape):
            fix = "name the shape that it was measured on, as 3g.40gb=FILE"
            raise InputError(f"{model.name} on {shape.name}: {problem}", where=f"--bench {named}", fix=fix)
        points += read_benchmark(path, shape)
    if not points:
        return None
    priors = {point.shape: expected_law(model, board, point.shape, mechanism) for point in points}
    return fit(points, priors, imported=True)


def _told(named: str, board: Board) -> tuple[Shape, Path]:
    """Split at the first `=`, unless there is a file whose name has one."""
    name, mark, path = named.partition("=")
    if mark and not Path(named).exists():
        return shape_named(board, name), Path(path)
    return Shape(board.id), Path(named)
