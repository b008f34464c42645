"""The arithmetic behind a prior, line by line, for people who check it."""

from __future__ import annotations

from capacity.catalogue import ModelSpec
from capacity.contention import contention_of, expected_law
from capacity.formats import TABLE_BYTES
from capacity.hardware import speed_of
from capacity.prior import (
    AGREEMENT_MS,
    AGREEMENTS_PER_LAYER,
    BANDWIDTH_EFFICIENCY,
    LINK_UTILISATION,
    MEMORY_UTILISATION,
    OVERHEAD_MS,
    PREFILL_UTILISATION,
    RUNTIME_GIB,
    SM_EXPONENT,
    kv_tokens,
    prior,
    usable_gib,
)
from fleet.boards import Board
from fleet.shape import Shape, slice_of

_GIB = 2**30


def weight_lines(model: ModelSpec) -> list[str]:
    """Return how the memory of the weights and of a token of context comes about."""
    made_of = model.architecture
    tables, rest = made_of.table_parameters, made_of.parameters - made_of.table_parameters
    each = f"{model.format.bytes_per_weight:.4g} B"
    lines = [
        (
            f"weights: {_bn(tables)} in token tables x {TABLE_BYTES:.0f} B + {_bn(rest)} x {each} = "
            f"{_gb(model.weight_bytes)} = {model.weight_bytes / _GIB:.1f} GiB"
        )
    ]
    if made_of.experts is not None:
        lines.append(
            f"experts: {made_of.experts.active} of {made_of.experts.count} compute a token, "
            f"{_bn(made_of.active_parameters)} weights; a busy engine reads {_gb(model.streamed_bytes)}"
        )
    per_layer = f"2 x {made_of.kv_heads} heads x {made_of.head_dim}"
    if made_of.latent is not None:
        per_layer = f"({made_of.latent.kv_rank} + {made_of.latent.rope_dim})"
    lines.append(
        f"context: {made_of.layers} layers x {per_layer} x {model.bytes_per_kv:.0f} B = {_kib(model)} a token"
    )
    return lines


def memory_lines(model: ModelSpec, board: Board, shape: Shape) -> list[str]:
    """Return how the room for context comes about; errors as for `slice_of`."""
    usable, weights = usable_gib(board, shape), model.weight_bytes / _GIB
    each = slice_of(board, shape).memory_gib / shape.cards
    copies = model.architecture.kv_copies(shape.cards)
    room = f"room: ({usable:.1f} - {weights:.1f}) GiB"
    if weights > usable:
        room += ": the weights do not fit"
    else:
        tokens = kv_tokens(model, board, shape)
        each_takes = _kib(model) if copies == 1 else f"({_times(copies)}{_kib(model)})"
        room += f" / {each_takes} = {tokens:,.0f} tokens, longest {model.max_model_len:,}"
    return [
        (
            f"memory: {_times(shape.cards)}({MEMORY_UTILISATION} x {each:.1f} - {RUNTIME_GIB}) = "
            f"{usable:.1f} GiB usable"
        ),
        room,
    ]


def shared_lines(model: ModelSpec, board: Board, shape: Shape, mechanism: str) -> list[str]:
    """Return how the three times come about beside busy neighbours; errors as for `expected_law`."""
    alone, law = Shape(board.id), expected_law(model, board, shape, mechanism)
    fixed = law.alpha_ms / prior(model, board, alone).alpha_ms
    per_token = law.gamma_ms_per_kv_token / prior(model, board, alone).gamma_ms_per_kv_token
    return [
        *law_lines(model, board, alone),
        (
            f"beside busy neighbours ({mechanism}): alpha x {fixed:.2f} = {law.alpha_ms:.2f} ms; "
            f"beta and gamma x {per_token:.2f} ({contention_of(mechanism).source})"
        ),
    ]


def law_lines(model: ModelSpec, board: Board, shape: Shape) -> list[str]:
    """Return how the three times of an iteration come about; errors as for `prior`."""
    law, speed, hardware = prior(model, board, shape), speed_of(board), slice_of(board, shape)
    tflops = speed.fp8_tflops if model.format.is_fp8 else speed.bf16_tflops
    share = power = _times(shape.cards)
    if not shape.is_whole:
        share = f"{hardware.bandwidth_share:g} x "
        power = f"({hardware.sm}/{board.sm})^{SM_EXPONENT} x "
    bandwidth = f"({share}{speed.bandwidth_tb_per_s:g} TB/s x {BANDWIDTH_EFFICIENCY})"
    compute = f"({power}{tflops:g} TFLOPS x {PREFILL_UTILISATION})"
    fixed = per_token = ""
    if shape.cards > 1:
        times = AGREEMENTS_PER_LAYER * model.architecture.layers
        link = f"({speed.nvlink_gb_per_s:g} GB/s x {LINK_UTILISATION})"
        sent = f"{model.architecture.hidden} x 2 B x {2 * (shape.cards - 1)}/{shape.cards}"
        fixed = f" + {times} all-reduces x {AGREEMENT_MS} ms"
        per_token = f" + {times} x {sent} / {link}"
    copies = _times(model.architecture.kv_copies(shape.cards))
    return [
        (
            f"alpha: {_gb(model.streamed_bytes)} / {bandwidth} + {OVERHEAD_MS} ms{fixed} = "
            f"{law.alpha_ms:.2f} ms an iteration"
        ),
        (
            f"beta: 2 x {_bn(model.active_parameters)} / {compute}{per_token} = "
            f"{1000 * law.beta_ms_per_token:.1f} us a token computed"
        ),
        (
            f"gamma: {copies}{_kib(model)} / {bandwidth} = "
            f"{1e6 * law.gamma_ms_per_kv_token:.1f} ns a token of context read"
        ),
    ]


def _times(factor: int) -> str:
    return f"{factor} x " if factor > 1 else ""


def _bn(weights: int) -> str:
    return f"{weights / 1e9:.2f} bn"


def _gb(weight_bytes: float) -> str:
    return f"{weight_bytes / 1e9:.1f} GB"


def _kib(model: ModelSpec) -> str:
    return f"{model.kv_bytes_per_token / 1024:.4g} KiB"
