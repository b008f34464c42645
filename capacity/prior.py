"""The law and the KV room of a model on a shape before anything was measured: a roofline and the slice law.

Decoding is bound by reading weights and context, prefill by multiplying. A slice has its share of the
memory bandwidth; its share of the multiprocessors counts a little more than in proportion. Over several cards
each holds and reads its part of weights and context, and they agree twice a layer on what comes out.

Against public fits of vLLM 0.17 on MIG slices of an A100-40GB (NEWSLabNTU/Delta-HPC,
`configs/simulation_config.yaml`) alpha comes out 2 to 17 % high and beta 14 % low to 9 % high; the tests
hold the table.
"""

from __future__ import annotations

from capacity.catalogue import ModelSpec
from capacity.hardware import Speed, speed_of
from capacity.law import Law
from fleet.boards import Board
from fleet.errors import InputError
from fleet.shape import Shape, slice_of

BANDWIDTH_EFFICIENCY = 0.78
"""Share of the peak bandwidth that decoding reaches; 0.73 to 0.84 in the fits named above."""

PREFILL_UTILISATION = 0.65
"""Share of the peak tensor throughput that prefill reaches on a whole card; 0.55 to 0.80."""

OVERHEAD_MS = 2.0
"""Scheduling and launch time of an iteration; 1 to 3 ms in `servcalc` 0.1.0."""

SM_EXPONENT = 0.85
"""Compute speed grows with multiprocessors to this power; 0.78 to 0.89 between slices in the fits."""

MEMORY_UTILISATION = 0.90
"""Share of the memory that the engine takes: vLLM's default `gpu_memory_utilization`."""

RUNTIME_GIB = 1.5
"""Memory for activations, graphs and context; 0.6 to 1.6 GiB behind the KV room in the fits."""

LINK_UTILISATION = 0.77
"""Share of the NVLink bandwidth that an all-reduce reaches: nccl-tests on 4 H100 show 366 GB/s per card (the
`nccl-nvlink-bandwidth` post of waynehacking8)."""

AGREEMENT_MS = 0.010
"""Least time of an all-reduce inside a node, however short the message (judgement; of the order of 10 us)."""

AGREEMENTS_PER_LAYER = 2
"""After attention, and after the MLP (Megatron-LM)."""

_ACTIVATION_BYTES = 2

_GIB = 2**30

_NO_FP8 = {"Volta", "Turing"}
"""Generations whose kernels do not even unpack 8-bit floats."""


def prior(model: ModelSpec, board: Board, shape: Shape) -> Law:
    """Return the law of `model` on a shape of `board`, before any measurement.

    `InputError` if nothing is known about the speed of the board, it has no such profile or NVLink does not
    join so many cards.
    """
    hardware, speed = slice_of(board, shape), speed_of(board)
    if shape.cards > speed.nvlink_cards:
        raise InputError(_unjoined(board, speed), where=f"shape {shape}", fix="use fewer cards")
    tflops = speed.fp8_tflops if model.format.is_fp8 else speed.bf16_tflops
    card_share = hardware.sm_share / shape.cards
    bytes_per_ms = speed.bandwidth_tb_per_s * 1e9 * BANDWIDTH_EFFICIENCY * hardware.bandwidth_share
    operations_per_ms = tflops * 1e9 * PREFILL_UTILISATION * shape.cards * card_share**SM_EXPONENT
    agreement_ms, agreement_ms_per_token = _agreeing(model, speed, shape.cards)
    copies = model.architecture.kv_copies(shape.cards)
    return Law(
        alpha_ms=model.streamed_bytes / bytes_per_ms + OVERHEAD_MS + agreement_ms,
        beta_ms_per_token=2 * model.active_parameters / operations_per_ms + agreement_ms_per_token,
        gamma_ms_per_kv_token=copies * model.kv_bytes_per_token / bytes_per_ms,
    )


def kv_tokens(model: ModelSpec, board: Board, shape: Shape) -> float:
    """Return the tokens of context that fit beside the weights; 0 if the weights do not fit."""
    room = usable_gib(board, shape) * _GIB - model.weight_bytes
    return max(0.0, room) / (model.architecture.kv_copies(shape.cards) * model.kv_bytes_per_token)


def usable_gib(board: Board, shape: Shape) -> float:
    """Return the memory for weights and context: what the engine takes, less what it needs for itself."""
    taken = MEMORY_UTILISATION * slice_of(board, shape).memory_gib
    return taken - RUNTIME_GIB * shape.cards


def fits(model: ModelSpec, board: Board, shape: Shape) -> bool:
    """Return whether the engine starts; errors as for `obstacle`."""
    return obstacle(model, board, shape) is None


def obstacle(model: ModelSpec, board: Board, shape: Shape) -> str | None:
    """Return why the engine does not start, in one line; `None` if it does.

    vLLM refuses heads that cannot be dealt out to the cards, and a KV cache too small for its longest
    sequence. `InputError` if nothing is known about the board.
    """
    speed, heads = speed_of(board), model.architecture.heads
    if shape.cards > speed.nvlink_cards:
        return _unjoined(board, speed)
    if heads % shape.cards:
        return f"{heads} attention heads cannot be dealt out to {shape.cards} cards"
    if model.format.is_fp8 and board.architecture in _NO_FP8:
        return f"{board.architecture} cards do not compute with weights in fp8"
    usable, weights = usable_gib(board, shape), model.weight_bytes / _GIB
    if weights > usable:
        return f"weights of {weights:.1f} GiB do not fit in {usable:.1f} GiB"
    room = kv_tokens(model, board, shape)
    if room < model.max_model_len:
        return f"context of {model.max_model_len} tokens does not fit, there is room for {room:.0f}"
    return None


def _agreeing(model: ModelSpec, speed: Speed, cards: int) -> tuple[float, float]:
    """Return what the all-reduces of an iteration take, ms: at least, and more per token (as in a ring)."""
    if cards == 1:
        return 0.0, 0.0
    times = AGREEMENTS_PER_LAYER * model.architecture.layers
    sent_bytes = model.architecture.hidden * _ACTIVATION_BYTES * 2 * (cards - 1) / cards
    return times * AGREEMENT_MS, times * sent_bytes / (speed.nvlink_gb_per_s * 1e6 * LINK_UTILISATION)


def _unjoined(board: Board, speed: Speed) -> str:
    if speed.nvlink_cards == 1:
        return f"no NVLink joins cards of board {board.id}"
    return f"NVLink joins at most {speed.nvlink_cards} cards of board {board.id}"
