"""What one replica of a model sustains on each shape of a card, as a table."""

from __future__ import annotations

import pandas as pd

from capacity.ask import askable
from capacity.ask import capacity_of as answers_of
from capacity.catalogue import model_spec
from fleet.demand import Mix
from fleet.shape import shape_named
from foreslice.sizing.measured import fitted
from foreslice.sizing.terms import board_named, objectives


def capacity_of(  # noqa: PLR0913 -- the terms of the question
    model: str,
    gpu: str,
    *,
    shape: str = "",
    prompt_tokens: float = 1024,
    output_tokens: float = 256,
    ttft_p95: str = "",
    itl_p95: str = "",
    e2e_p95: str = "",
    mechanism: str = "dra",
    benchmarks: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Return what one replica sustains inside an SLO, a row a shape.

    Columns: `shape`, `requests_per_s` (expected), `requests_per_s_low` (exceeded with 90 % confidence),
    `binding` (what stops it from carrying more), `kv_tokens` (room for context), `source` (prior or fitted:
    what that rests on), `obstacle` (why its engine does not start, else empty).

    Args:
        model: Name in the catalogue, as "qwen2.5-7b-bf16".
        gpu: Card, as "h100-80gb".
        shape: One shape ("whole", a MIG profile); default: all of the card.
        prompt_tokens: Mean prompt of a request.
        output_tokens: Mean output of a request.
        ttft_p95: Time to first token of 95 % of requests, as "500ms".
        itl_p95: Mean time between the tokens of a request, likewise.
        e2e_p95: Time to the last token, likewise.
        mechanism: What makes shapes real: dra, kai, hami, mps, ...
        benchmarks: Benchmark files to fit the law to, each `[SHAPE=]FILE`.

    Raises:
        InputError: Something that was named is not known, or there is no objective.

    Example:
        >>> from foreslice import capacity_of
        >>> sizes = capacity_of("qwen2.5-7b-bf16", "h100-80gb", ttft_p95="1s", itl_p95="50ms")
        >>> sizes.loc[sizes["shape"] == "3g.40gb", "source"].item()
        'prior'
    """
    board, known = board_named(gpu), model_spec(model)
    slo = objectives({"ttft": {95: ttft_p95}, "itl": {95: itl_p95}, "e2e": {95: e2e_p95}})
    shapes = [shape_named(board, shape)] if shape else askable(board, mechanism)
    law = fitted(benchmarks, known, board, mechanism)
    answers = answers_of(known, board, shapes, Mix(prompt_tokens, output_tokens), slo, mechanism, law)
    return pd.DataFrame(
        {
            "shape": [answer.shape.name for answer in answers],
            "requests_per_s": [answer.requests_per_s for answer in answers],
            "requests_per_s_low": [answer.requests_per_s_low for answer in answers],
            "binding": [str(answer.binding or "") for answer in answers],
            "kv_tokens": [answer.kv_tokens for answer in answers],
            "source": [str(answer.source) for answer in answers],
            "obstacle": [answer.obstacle or "" for answer in answers],
        }
    )
