"""How much slower an engine is beside others on one card, where a mechanism does not keep them apart.

Whoever shares a card without multiprocessors of its own waits for the others' kernels, and every engine reads
its own weights: the fixed time of an iteration grows more than the time per token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from capacity.catalogue import ModelSpec
from capacity.law import Law
from capacity.prior import prior
from fleet.boards import Board
from fleet.errors import InputError
from fleet.shape import SHARE_UNITS, Shape


@dataclass(frozen=True, slots=True)
class Contention:
    """What one busy neighbour adds, as a share of the time alone.

    Attributes:
        fixed: To the fixed time of an iteration.
        per_token: To the time per token, computed or read.
        source: What the figures rest on.
    """

    fixed: float
    per_token: float
    source: str


NONE = Contention(0.0, 0.0, "own multiprocessors, memory slices and cache: MIG user guide")

# Fitted to tokens/s of two Qwen3-4B on one A100 against one alone, 1 to 16 requests each (ai-dynamo/dynamo
# docs, "Interpreting GPU Sharing Results": HAMi memory caps with the driver's time slices, and halves of the
# multiprocessors by MPS). The time per token is fitted best by 0.95 and 0.86, but below 1.0 two halves would
# together multiply faster than the card. It is one pair of models on one card; more than one neighbour is
# extrapolated, which an image model on an A100 supports (nebuly-ai/nos, demos/gpu-sharing-comparison: 1.1 to
# 1.2 a neighbour in time slices, 0.43 under MPS, up to six neighbours).
_DYNAMO = "two Qwen3-4B on one A100, ai-dynamo/dynamo docs, Interpreting GPU Sharing Results"
TIME_SLICES = Contention(1.52, 1.0, _DYNAMO)
SHARED_SERVER = Contention(0.70, 1.0, _DYNAMO)

CONTENTION: Mapping[str, Contention] = MappingProxyType(
    {
        "dra": NONE,
        "mig-manager": NONE,
        "device-plugin": NONE,
        "dra-shares": TIME_SLICES,
        "kai": TIME_SLICES,
        "kai-hami-core": TIME_SLICES,
        # Memory is kept by an MPS server; compute is time-sliced unless its mode is set to sm-sharing.
        "kai-nv-fractions": TIME_SLICES,
        "hami": TIME_SLICES,
        "time-slicing": TIME_SLICES,
        "mps": SHARED_SERVER,
    }
)


def contention_of(mechanism: str) -> Contention:
    """Return what a neighbour adds under a mechanism; `InputError` naming those that exist if it is none."""
    if mechanism not in CONTENTION:
        fix = f"use one of {', '.join(CONTENTION)}"
        raise InputError(f"no mechanism {mechanism}", where="contention table", fix=fix)
    return CONTENTION[mechanism]


def expected_law(model: ModelSpec, board: Board, shape: Shape, mechanism: str) -> Law:
    """Return the law of `model` on a shape that a mechanism makes real, before any measurement.

    Beside a share the rest of the card is taken to be as busy, in shares of the same size. Errors as for
    `prior`; `InputError` if there is no such mechanism, or it makes no shares.
    """
    if not shape.hundredths:
        return prior(model, board, shape)
    if contention_of(mechanism) is NONE:
        sharing = ", ".join(name for name, contention in CONTENTION.items() if contention is not NONE)
        raise InputError(
            f"mechanism {mechanism} makes no shares of a card",
            where=f"shape {shape}",
            fix=f"use one of {sharing}",
        )
    alone = prior(model, board, Shape(board.id))
    return contended(alone, mechanism, (SHARE_UNITS - shape.hundredths) / shape.hundredths)


def contended(law: Law, mechanism: str, busy_neighbours: float) -> Law:
    """Return the law of an engine that shares its card.

    Args:
        law: The law of the engine alone on the card.
        mechanism: Key of `CONTENTION`.
        busy_neighbours: Sum over the other engines of the share of time in which they are busy.

    `InputError` if there is no such mechanism.
    """
    contention = contention_of(mechanism)
    per_token = 1 + contention.per_token * busy_neighbours
    return Law(
        alpha_ms=law.alpha_ms * (1 + contention.fixed * busy_neighbours),
        beta_ms_per_token=law.beta_ms_per_token * per_token,
        gamma_ms_per_kv_token=law.gamma_ms_per_kv_token * per_token,
    )
