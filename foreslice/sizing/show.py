"""Answers about capacity for people (a table) and for scripts (JSON)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from capacity.arithmetic import law_lines, memory_lines, shared_lines, weight_lines
from capacity.ask import Answer
from capacity.belief import Source
from capacity.catalogue import ModelSpec
from fleet.boards import Board
from fleet.demand import Mix
from fleet.shape import Shape, slice_of
from fleet.workload import Slo
from foreslice.settings.durations import written

_PRIOR = "Source: prior (data sheets, roofline, slice law), not measured."
_IMPORT = "Source: import (fitted to benchmark files; shapes not measured follow by the slice law)."
_INFERRED = "* multiprocessors or memory of this slice are inferred, no real card was seen to print them"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about capacity with its answers.

    Attributes:
        model: What is served.
        board: Kind of card.
        mix: Tokens of a request.
        slo: Objectives.
        mechanism: What makes shapes real.
        answers: One for each shape asked about.
    """

    model: ModelSpec
    board: Board
    mix: Mix
    slo: Slo
    mechanism: str
    answers: tuple[Answer, ...]

    def is_inferred(self, shape: Shape) -> bool:
        """Return whether figures of a slice were not seen on a real card."""
        named = [profile for profile in self.board.profiles if profile.name == shape.profile]
        return any(profile.is_inferred for profile in named)

    def gpu_share(self, shape: Shape) -> float:
        """Return what a shape costs in cards."""
        return slice_of(self.board, shape).gpu_share

    @property
    def is_measured(self) -> bool:
        """Whether a benchmark stands behind the figures."""
        return any(answer.source is Source.IMPORT for answer in self.answers)

    @property
    def rests_on(self) -> str:
        """What the figures rest on, in one sentence."""
        return _IMPORT if self.is_measured else _PRIOR

    @property
    def title(self) -> str:
        """What was asked, in one line."""
        tokens = f"{self.mix.prompt_tokens:g} prompt and {self.mix.output_tokens:g} output tokens"
        return f"{self.model.name} on {self.board.id}, {tokens}, {spelled(self.slo)}"


def spelled(slo: Slo) -> str:
    """Return objectives as people write them: `TTFT p95 1s, ITL p95 60ms`."""
    terms = {"TTFT": slo.ttft, "ITL": slo.itl, "e2e": slo.e2e}
    named = ((name, term) for name, term in terms.items() if term is not None)
    return ", ".join(f"{name} p{100 * term.quantile:.0f} {written(term.limit_s)}" for name, term in named)


def as_json(asked: Asked, *, with_arithmetic: bool) -> dict[str, Any]:
    """Return everything about the answers; rates are requests/s of one replica."""
    return {
        "model": asked.model.name,
        "board": asked.board.id,
        "mechanism": asked.mechanism,
        "prompt_tokens": asked.mix.prompt_tokens,
        "output_tokens": asked.mix.output_tokens,
        "slo": spelled(asked.slo),
        "shapes": [
            {
                "shape": answer.shape.name,
                "gpu_share": asked.gpu_share(answer.shape),
                "requests_per_s": answer.requests_per_s,
                "requests_per_s_low": answer.requests_per_s_low,
                "batch": answer.batch,
                "binding": answer.binding,
                "obstacle": answer.obstacle,
                "kv_tokens": answer.kv_tokens,
                "source": answer.source,
                "is_inferred": asked.is_inferred(answer.shape),
                **({"arithmetic": [*_arithmetic(asked, answer)]} if with_arithmetic else {}),
            }
            for answer in asked.answers
        ],
    }


def as_text(asked: Asked, *, with_arithmetic: bool) -> RenderableType:
    """Return a table, one row a shape, and under it what the figures are."""
    table = Table(box=None, pad_edge=False)
    for name in ("shape", "cards", "requests/s", "at least", "per card", "batch", "KV room"):
        table.add_column(name, justify="left" if name == "shape" else "right")
    table.add_column("stopped by")
    for answer in asked.answers:
        share, mark = asked.gpu_share(answer.shape), "*" if asked.is_inferred(answer.shape) else ""
        rates = [f"{answer.requests_per_s:.2f}", f"{answer.requests_per_s_low:.2f}"]
        cells = [*rates, f"{answer.requests_per_s / share:.2f}", f"{answer.batch:.0f}"]
        room = f"{answer.kv_tokens:,.0f}"
        if answer.obstacle is not None:
            cells, room = ["-"] * len(cells), "-"
        stopped_by = answer.obstacle or str(answer.binding)
        if answer.obstacle is None and answer.requests_per_s == 0:
            stopped_by += ": one request alone misses it"
        table.add_row(f"{answer.shape.name}{mark}", f"{share:.2f}", *cells, room, stopped_by)
    lines = [_INFERRED] if any(asked.is_inferred(answer.shape) for answer in asked.answers) else []
    if any((answer.obstacle or "").startswith("context") for answer in asked.answers):
        lines.append("An engine that is started with a shorter longest sequence (--max-model-len) may fit.")
    lines.append(
        "Requests/s of one replica inside the SLO; at least = exceeded with 90 % confidence. "
        f"{asked.rests_on}"
    )
    if asked.is_measured and with_arithmetic:
        lines.append("The arithmetic is that of the prior, before the benchmark.")
    arithmetic = [*_all_arithmetic(asked)] if with_arithmetic else []
    notes = [Text(line, style="dim") for line in lines]
    return Group(Text(asked.title, style="bold"), table, *notes, *(Text(line) for line in arithmetic))


def batches_as_text(rows: Sequence[dict[str, Any]], title: str) -> RenderableType:
    """Return a table of what batching servers sustain, one row a shape."""
    table = Table(box=None, pad_edge=False)
    for name in ("shape", "requests/s", "max_batch_size"):
        table.add_column(name, justify="left" if name == "shape" else "right")
    for row in rows:
        is_kept = row["max_batch_size"] > 0
        cells = (f"{row['requests_per_s']:.1f}", str(row["max_batch_size"])) if is_kept else ("-", "-")
        table.add_row(row["shape"], *cells)
    note = (
        "Requests/s of one instance; on slices the time of a batch follows the multiprocessors. Not measured."
    )
    return Group(Text(title, style="bold"), table, Text(note, style="dim"))


def _all_arithmetic(asked: Asked) -> Iterator[str]:
    yield ""
    yield from weight_lines(asked.model)
    for answer in asked.answers:
        yield f"{answer.shape}:"
        yield from (f"  {line}" for line in _arithmetic(asked, answer))


def _arithmetic(asked: Asked, answer: Answer) -> Iterator[str]:
    yield from memory_lines(asked.model, asked.board, answer.shape)
    if answer.obstacle is not None:
        return
    if answer.shape.hundredths:
        yield from shared_lines(asked.model, asked.board, answer.shape, asked.mechanism)
    else:
        yield from law_lines(asked.model, asked.board, answer.shape)
