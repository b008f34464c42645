"""The command ``capacity``: what one replica of a model sustains on a card, before anything runs there."""

from pathlib import Path
from typing import Annotated

import typer

from foreslice.commands.options import Output, OutputForm

_MODEL = (
    "Model: a name of the catalogue with its number format, or the path of a config.json of Hugging Face."
)
_SHAPE = "Shape: whole, 2x (cards), a MIG profile, or 50/100 (a share). Default: all of the card."
_BENCH = "Fit the law to a benchmark, [SHAPE=]FILE: JSON of GuideLLM or vllm bench serve, or CSV. Repeatable."
_BATCH = "Instead of a model: what a batch takes on the whole card, fixed + per request, as 4ms+0.5ms."


def capacity(  # noqa: PLR0913, PLR0917 -- each is an option of the command line
    gpu: Annotated[str, typer.Option(help="Card, e.g. h100-80gb.", show_default=False)],
    model: Annotated[str, typer.Option(help=_MODEL)] = "",
    shape: Annotated[str, typer.Option(help=_SHAPE)] = "",
    prompt_tokens: Annotated[float, typer.Option(help="Mean prompt of a request.", min=1)] = 1024,
    output_tokens: Annotated[float, typer.Option(help="Mean output of a request.", min=1)] = 256,
    ttft_p95: Annotated[str, typer.Option(help="Time to first token of 95 % of requests, as 500ms.")] = "",
    ttft_p99: Annotated[str, typer.Option(help="The same of 99 %.")] = "",
    itl_p95: Annotated[str, typer.Option(help="Mean time between tokens of 95 % of requests.")] = "",
    itl_p99: Annotated[str, typer.Option(help="The same of 99 %.")] = "",
    e2e_p95: Annotated[str, typer.Option(help="Time to the last token of 95 % of requests.")] = "",
    e2e_p99: Annotated[str, typer.Option(help="The same of 99 %.")] = "",
    number_format: Annotated[str, typer.Option("--format", help="Format of a config.json's weights.")] = "",
    kv_format: Annotated[str, typer.Option(help="Number format of the KV cache.")] = "bf16",
    max_model_len: Annotated[int, typer.Option(help="Longest sequence of the engine.", min=0)] = 0,
    mechanism: Annotated[str, typer.Option(help="What makes shapes real: dra, kai, hami, mps, ...")] = "dra",
    bench: Annotated[list[str] | None, typer.Option(help=_BENCH, show_default=False)] = None,
    batch_time: Annotated[str, typer.Option(help=_BATCH)] = "",
    max_batch: Annotated[int, typer.Option(help="Largest batch that such a model takes.", min=1)] = 32,
    explain: Annotated[bool, typer.Option("--explain", help="Show the arithmetic too.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Leave a picture of all shapes here (HTML).")] = None,
    output: OutputForm = Output.TEXT,
) -> None:
    """Say how many requests/s one replica sustains inside an SLO, what stops it, and how sure that is."""
    from foreslice.sizing.run import run_batches, run_capacity
    from foreslice.sizing.terms import Served, board_named, objectives

    board = board_named(gpu)
    given = {
        "ttft": {95: ttft_p95, 99: ttft_p99},
        "itl": {95: itl_p95, 99: itl_p99},
        "e2e": {95: e2e_p95, 99: e2e_p99},
    }
    slo = objectives(given)
    if batch_time:
        run_batches(batch_time, max_batch, board, shape, slo, as_json=output is Output.JSON)
        return
    served = Served(model, number_format, kv_format, max_model_len, mechanism, tuple(bench or ()))
    tokens = (prompt_tokens, output_tokens)
    run_capacity(served, board, shape, tokens, slo, explain=explain, plot=plot, as_json=output is Output.JSON)
