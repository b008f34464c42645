"""What a person types about a model, a card and objectives, in the vocabulary of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from capacity.catalogue import ModelSpec, model_spec
from capacity.classic import BatchTime
from capacity.contention import contention_of
from capacity.formats import FORMATS, KV_BYTES
from capacity.huggingface import model_of
from fleet.boards import BOARDS, Board
from fleet.errors import InputError
from fleet.workload import LatencyTarget, Slo
from foreslice.settings.durations import EndToEnd, FirstToken, InterToken, seconds
from foreslice.settings.model import read_config

_LIMITS: Mapping[str, TypeAdapter[float]] = {
    "ttft": TypeAdapter(FirstToken),
    "itl": TypeAdapter(InterToken),
    "e2e": TypeAdapter(EndToEnd),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A model as the command line names it; empty and 0 = not given.

    Attributes:
        model: Name of the catalogue, or path of a config.json.
        number_format: Format of the weights of a config.json.
        kv_format: Format of the KV cache.
        max_model_len: Longest sequence.
        mechanism: What makes its shapes real.
        benchmarks: Benchmark files of it, each as `[SHAPE=]FILE`.
    """

    model: str
    number_format: str = ""
    kv_format: str = "bf16"
    max_model_len: int = 0
    mechanism: str = "dra"
    benchmarks: tuple[str, ...] = ()

    def spec(self) -> ModelSpec:
        """Return what serving it costs; `InputError` if something about it is not known."""
        contention_of(self.mechanism)
        if not self.model:
            fix = "name one, as llama-3.1-8b-bf16, or the path of a config.json"
            raise InputError("no model is named", where="--model", fix=fix)
        _among(self.kv_format, KV_BYTES, "--kv-format")
        if self.number_format:
            _among(self.number_format, FORMATS, "--format")
        if self._is_path:
            config = read_config(Path(self.model))
            return model_of(
                config,
                self.model,
                number_format=self.number_format or None,
                kv_format=self.kv_format,
                max_model_len=self.max_model_len or None,
            )
        if self.number_format:
            fix = "end the name with it, as llama-3.1-8b-fp8"
            raise InputError("is for a config.json, not for a name", where="--format", fix=fix)
        known = model_spec(self.model)
        longest = self.max_model_len or known.max_model_len
        return replace(known, bytes_per_kv=KV_BYTES[self.kv_format], max_model_len=longest)

    @property
    def _is_path(self) -> bool:
        return self.model.endswith(".json") or "/" in self.model or Path(self.model).is_dir()


def board_named(name: str) -> Board:
    """Return the board with this id; `InputError` naming those like it if there is none."""
    if name in BOARDS:
        return BOARDS[name]
    near = [board for board in BOARDS if board.startswith(name)] or get_close_matches(
        name, BOARDS, cutoff=0.5
    )
    raise InputError(f"no card {name}", where="--gpu", fix=f"use one of {', '.join(near or BOARDS)}")


def objectives(given: Mapping[str, Mapping[int, str]]) -> Slo:
    """Return the SLO of what was typed by term and percentile; empty text = not given.

    `InputError` if a limit is no plausible duration, a term has two, or none has one.
    """
    terms = {}
    for term, limits in given.items():
        named = {percentile: text for percentile, text in limits.items() if text}
        if len(named) > 1:
            raise InputError("more than one percentile", where=f"--{term}-p95", fix="name one of a term")
        for percentile, text in named.items():
            where = f"--{term}-p{percentile}"
            terms[term] = LatencyTarget(percentile / 100, limit_s(term, text, where))
    if not terms:
        fix = "give --ttft-p95, --itl-p95 or --e2e-p95, as 500ms"
        raise InputError("no objective is named", where="SLO", fix=fix)
    return Slo(**terms)


def limit_s(term: str, text: str, where: str) -> float:
    """Return the limit of a term in seconds; `InputError` if it is no plausible duration."""
    try:
        return _LIMITS[term].validate_python(text)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"{text!r}: {problem}", where=where, fix="give a duration, as 500ms") from error


def batch_time(text: str) -> BatchTime:
    """Return what a batch takes, of `4ms+0.5ms`; `InputError` if it is nothing like it."""
    match = re.fullmatch(r"([^+]+)\+([^+]+)", text)
    try:
        parts = [1000 * seconds(part) for part in match.groups()] if match is not None else []
    except ValueError:
        parts = []
    if sum(parts) > 0:
        return BatchTime(*parts)
    fix = "give two durations, fixed + per request, as 4ms+0.5ms"
    raise InputError(f"{text!r} is no time of a batch", where="--batch-time", fix=fix)


def _among(name: str, known: Mapping[str, object], where: str) -> None:
    if name not in known:
        raise InputError(f"no number format {name}", where=where, fix=f"use one of {', '.join(known)}")
