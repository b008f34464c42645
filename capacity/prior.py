"""What the law of a model on a shape is before anything was measured: a roofline and the slice law.

Decoding is bound by reading weights and context, prefill by multiplying. A slice has its share of the
memory bandwidth; its share of the multiprocessors counts a little more than in proportion.

Against public fits of vLLM 0.17 on MIG slices of an A100-40GB (NEWSLabNTU/Delta-HPC,
`configs/simulation_config.yaml`) alpha comes out 2 to 17 % high and beta 14 % low to 9 % high; the tests
hold the table.
"""

from __future__ import annotations

import math

from capacity.catalogue import ModelSpec
from capacity.hardware import speed_of
from capacity.law import Law
from fleet.boards import Board
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

_GIB = 2**30

_Z90 = 1.2816
"""A normal variable stays below this many standard deviations with a probability of 90 %."""

_SIGMA = 0.15
"""Lognormal spread of the parameters; against the fits named above they err by -14 to +17 %."""

_SLICE_SIGMA = 0.20 / 1.645
"""Further spread on a slice: an error of the slice law of 20 % either way is taken as its 90 % range."""


def prior(model: ModelSpec, board: Board, shape: Shape) -> Law:
    """Return the law of `model` on a shape of `board`, before any measurement.

    `InputError` if nothing is known about the speed of the board or it has no such profile.
    """
    hardware = slice_of(board, shape)
    speed = speed_of(board)
    bytes_per_ms = speed.bandwidth_tb_per_s * 1e9 * BANDWIDTH_EFFICIENCY * hardware.bandwidth_share
    operations_per_ms = speed.bf16_tflops * 1e9 * PREFILL_UTILISATION * hardware.sm_share**SM_EXPONENT
    return Law(
        alpha_ms=model.weight_bytes / bytes_per_ms + OVERHEAD_MS,
        beta_ms_per_token=2 * model.parameters / operations_per_ms,
        gamma_ms_per_kv_token=model.kv_bytes_per_token / bytes_per_ms,
    )


def slow_prior(model: ModelSpec, board: Board, shape: Shape) -> Law:
    """Return the law that is slower than the true one with 90 % confidence; errors as for `prior`.

    The three parameters are taken to err together (one engine, one driver). A sustained rate falls with
    each of them, so that the rate under this law is its 10 % quantile, and lower than that if they do not.
    """
    sigma = _SIGMA if shape.is_whole else math.hypot(_SIGMA, _SLICE_SIGMA)
    return prior(model, board, shape).slower(math.exp(_Z90 * sigma))


def kv_tokens(model: ModelSpec, board: Board, shape: Shape) -> float:
    """Return the tokens of context that fit beside the weights; 0 if the weights do not fit."""
    usable = MEMORY_UTILISATION * slice_of(board, shape).memory_gib - RUNTIME_GIB
    return max(0.0, usable * _GIB - model.weight_bytes) / model.kv_bytes_per_token


def fits(model: ModelSpec, board: Board, shape: Shape) -> bool:
    """Return whether the engine starts: vLLM refuses unless its longest sequence fits in the KV cache."""
    return kv_tokens(model, board, shape) >= model.max_model_len
