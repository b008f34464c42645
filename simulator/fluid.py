"""Requests as a fluid that flows through engines: all pods at once, second by second.

A request waits while the batch has no room, then is resident for a time that grows with the batch
(`capacity.law`). Each step is implicit, dA = (in - A / residence(A)) dt with A at the end of the step, which
is a quadratic equation: stable however short a request is, and in a steady state exactly Little's law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from capacity.law import TOKEN_BUDGET, Law, chunks, resident_tokens
from capacity.replica import MAX_BATCH
from fleet.demand import Mix

Floats = NDArray[np.float64]

STEP_S = 1.0
"""Length of a step, seconds."""

QUEUE_PER_PLACE = 10
"""Requests that may wait for each place in the batch: llm-inferno, `pkg/config/defaults.go`."""

PATIENCE_S = 30.0
"""Wait above which clients are refused instead."""

FIRST_TOKEN_BIAS = 399 / 113 / 3.0
"""Time to first token over the law's: prompts that arrive together share the tokens of an iteration. From an
iteration-level simulation (512 prompt and 256 output tokens, 0.70 of the full rate): its p95 over the
law's mean, over the 3.0 of an exponential."""

ITL_BIAS = 33.1 / 31.0
"""Mean ITL of that simulation over the law's: lengths vary, and long requests keep company for longer."""

_MS_PER_S = 1000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast engines are, one element per pod.

    Times are linear in the requests A that are resident: `x_s + x_s_per_request * A`.

    Attributes:
        residence_s: Time in the batch of a request that finds it empty.
        residence_s_per_request: What each resident request adds.
        first_token_s: Time to first token of a request that finds the batch empty, wait left out.
        first_token_s_per_request: What each resident request adds.
        itl_s: Mean inter-token latency of a request that finds the batch empty.
        itl_s_per_request: What each resident request adds.
        places: Requests that fit in the batch.
        kv_use_per_request: Share of the KV cache that a resident request holds on average.
        prompt_tokens: Prompt tokens of a request.
        output_tokens: Output tokens of a request.
    """

    residence_s: Floats
    residence_s_per_request: Floats
    first_token_s: Floats
    first_token_s_per_request: Floats
    itl_s: Floats
    itl_s_per_request: Floats
    places: Floats
    kv_use_per_request: Floats
    prompt_tokens: Floats
    output_tokens: Floats

    @property
    def full_per_s(self) -> Floats:
        """Requests/s that leave a full batch."""
        return self.places / (self.residence_s + self.residence_s_per_request * self.places)

    @property
    def queue_limit(self) -> Floats:
        """Requests that may wait."""
        return np.minimum(QUEUE_PER_PLACE * self.places, PATIENCE_S * self.full_per_s)


def pace_of(engines: Sequence[tuple[Law, float, Mix]]) -> Pace:
    """Return the pace of engines, each given by its law, the tokens its KV cache holds, and its token mix."""
    rows = [
        _pace(law, kv_tokens, max(mix.prompt_tokens, 1.0), max(mix.output_tokens, 1.0))
        for law, kv_tokens, mix in engines
    ]
    return Pace(*np.array(rows, dtype=np.float64).reshape(-1, len(Pace.__slots__)).T)


@lru_cache(maxsize=4096)
def _pace(law: Law, kv_tokens: float, prompt: float, output: float) -> tuple[float, ...]:
    held = resident_tokens(prompt, output)
    # Iterations full of tokens serve no more requests at once: the others' prefill has to wait its turn.
    budgeted = TOKEN_BUDGET * (chunks(prompt) + output) / (prompt + output)
    places = max(1.0, min(MAX_BATCH, kv_tokens // held, budgeted))
    # Whoever arrives meets A others where arrivals are random, one fewer than fit where the batch is full.
    others = 1 - 1 / places
    times = []
    for of, bias in ((law.residence_ms, 1.0), (law.ttft_ms, FIRST_TOKEN_BIAS), (law.itl_ms, ITL_BIAS)):
        alone, paired = of(prompt, output, 1.0), of(prompt, output, 2.0)
        times += [alone * bias / _MS_PER_S, (paired - alone) * others * bias / _MS_PER_S]
    return (*times, places, held / kv_tokens, prompt, output)


@dataclass(frozen=True, slots=True)
class Flow:
    """What happened in consecutive steps, each array (steps, pods).

    Attributes:
        running: Requests resident at the end of the step.
        queued: Requests waiting at the end of the step.
        refused: Requests turned away in the step.
    """

    running: Floats
    queued: Floats
    refused: Floats


def flow(running: Floats, queued: Floats, arrivals: Floats, pace: Pace) -> Flow:
    """Return what follows from `running` and `queued` requests (pods) and `arrivals` (steps, pods)."""
    a, d, places, limit = pace.residence_s, pace.residence_s_per_request, pace.places, pace.queue_limit
    a_dt, four_a_d, two_a = a + STEP_S, 4 * a * d, 2 * a
    out = Flow(np.empty_like(arrivals), np.empty_like(arrivals), np.empty_like(arrivals))
    for step, arriving in enumerate(arrivals):
        present = running + queued + arriving
        # d A^2 + (a + dt - d S) A - a S = 0 for A, the residents, where S are present and dt = 1 s.
        b = a_dt - d * present
        running = np.minimum(two_a * present / (b + np.sqrt(b * b + four_a_d * present)), places)
        waiting = np.maximum(present - running - running * STEP_S / (a + d * running), 0.0)
        queued = np.minimum(waiting, limit)
        out.running[step] = running
        out.queued[step] = queued
        out.refused[step] = waiting - queued
    return out
