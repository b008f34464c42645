"""The command ``capacity`` from what was typed to what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capacity.ask import askable, capacity_of
from capacity.classic import sustained_batches
from fleet.boards import Board
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape, shape_named, shapes_of, slice_of
from fleet.workload import Slo
from foreslice import output
from foreslice.settings.durations import written
from foreslice.show import console
from foreslice.sizing import show
from foreslice.sizing.measured import fitted
from foreslice.sizing.picture import page
from foreslice.sizing.terms import Served, batch_time


def run_capacity(
    served: Served,
    board: Board,
    shape: str,
    tokens: tuple[float, float],
    slo: Slo,
    *,
    explain: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print what one replica sustains on a shape, or on every shape of the card; leave a picture in `plot`.

    `InputError` if something that was typed cannot be used.
    """
    model, mix = served.spec(), Mix(*tokens)
    shapes = [shape_named(board, shape)] if shape else askable(board, served.mechanism)
    known = fitted(served.benchmarks, model, board, served.mechanism)
    answers = capacity_of(model, board, shapes, mix, slo, served.mechanism, known)
    asked = show.Asked(model, board, mix, slo, served.mechanism, answers)
    if as_json:
        output.print_json(show.as_json(asked, with_arithmetic=explain))
    else:
        console().print(show.as_text(asked, with_arithmetic=explain))
    if plot is not None:
        with output.writable(plot):
            plot.parent.mkdir(parents=True, exist_ok=True)
            plot.write_text(page(asked), encoding="utf-8")


def run_batches(time: str, max_batch: int, board: Board, shape: str, slo: Slo, *, as_json: bool) -> None:
    """Print what a model instance behind a batching server sustains on a shape, or on every one of the card.

    `InputError` if something that was typed cannot be used.
    """
    takes = batch_time(time)
    if slo.e2e is None or slo.ttft or slo.itl:
        fix = "give --e2e-p95 or --e2e-p99 and no other"
        raise InputError("a batch has one latency, from arrival to answer", where="SLO", fix=fix)
    shapes: list[Shape] = [shape_named(board, shape)] if shape else [*shapes_of(board)]
    rows: list[dict[str, Any]] = []
    for one in shapes:
        sustained = sustained_batches(takes.on(slice_of(board, one)), max_batch, slo.e2e)
        rows.append(
            {
                "shape": one.name,
                "requests_per_s": sustained.requests_per_s,
                "max_batch_size": sustained.batch,
            }
        )
    if as_json:
        output.print_json({"board": board.id, "shapes": rows})
        return
    limit = f"{100 * slo.e2e.quantile:.0f} % within {written(slo.e2e.limit_s)}"
    console().print(show.batches_as_text(rows, f"{board.id}, batches of up to {max_batch}, {limit}"))
