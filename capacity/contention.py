"""How much slower an engine is beside others on one card, where a mechanism does not keep them apart.

Whoever shares a card without multiprocessors of its own waits for the others' kernels, and every engine reads
its own weights: the fixed time of an iteration grows more than the time per token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from capacity.law import Law
from fleet.errors import InputError


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
# multiprocessors by MPS). It is one pair of models on one card; more than one neighbour is extrapolated,
# which an image model on an A100 supports (nebuly-ai/nos, demos/gpu-sharing-comparison: 1.1 to 1.2 a
# neighbour in time slices, 0.43 under MPS, up to six neighbours).
_DYNAMO = "two Qwen3-4B on one A100, ai-dynamo/dynamo docs, Interpreting GPU Sharing Results"
TIME_SLICES = Contention(1.52, 0.95, _DYNAMO)
SHARED_SERVER = Contention(0.77, 0.86, _DYNAMO)

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
