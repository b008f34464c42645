"""How many requests/s one replica sustains inside its SLO, and what stops it from sustaining more.

The largest arrival rate at which the mean latencies of the batch queue stay within the means that the SLO
allows, and at most 0.70 of the rate that a full batch reaches: above that the model is too kind (mean TTFT
at 0.85 is half of the simulated one), and a burst has no room.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from capacity.law import TOKEN_BUDGET, Bools, Floats, Law, chunks
from capacity.queueing import BatchQueue
from capacity.tails import itl_tail, ttft_tail
from fleet.demand import Mix
from fleet.workload import Slo

UTILISATION_CAP = 0.70
"""Largest share of the full-batch rate; queueing is paid for here and nowhere else."""

MAX_BATCH = 256
"""Requests that an engine serves at once: vLLM's default `max_num_seqs` on most cards."""

_HALVINGS = 30
"""Steps of the bisection: the rate is exact to 1e-9 of the cap."""

_FELT_WAIT = 0.01
"""Share of the TTFT target above which waiting for room in the KV cache is what uses it up."""


class Binding(StrEnum):
    """What stops a replica from sustaining more."""

    COMPUTE = "compute"
    COMPUTE_TTFT = "compute (TTFT)"
    COMPUTE_ITL = "compute (ITL)"
    KV = "KV room"


@dataclass(frozen=True, slots=True)
class Sustained:
    """What one replica carries at one token mix.

    Attributes:
        requests_per_s: Largest rate inside the SLO, 0 if there is none.
        batch: Requests in service at that rate, on average.
        binding: What stops it from carrying more.
    """

    requests_per_s: float
    batch: float
    binding: Binding


@dataclass(frozen=True, slots=True)
class MeanTargets:
    """Largest mean latencies that the SLO allows, ms, one element per mix; infinite without a term."""

    ttft_ms: Floats
    itl_ms: Floats


def mean_targets(slo: Slo, size: int) -> MeanTargets:
    """Return the means that keep the SLO's quantiles, for `size` mixes."""
    ttft_ms = 1000 * slo.ttft.limit_s / ttft_tail(slo.ttft.quantile) if slo.ttft else np.inf
    itl_ms = 1000 * slo.itl.limit_s / itl_tail(slo.itl.quantile) if slo.itl else np.inf
    return MeanTargets(np.full(size, ttft_ms), np.full(size, itl_ms))


def sustained_per_s(law: Law, kv_tokens: float, mix: Mix, slo: Slo) -> Sustained:
    """Return what one replica with this law and KV room (tokens) sustains at `mix` inside `slo`."""
    prompts, outputs = np.array([mix.prompt_tokens]), np.array([mix.output_tokens])
    return sustained(law, kv_tokens, prompts, outputs, mean_targets(slo, 1))[0]


def sustained(
    law: Law, kv_tokens: float, prompts: Floats, outputs: Floats, targets: MeanTargets
) -> list[Sustained]:
    """Return what one replica sustains at each mix; fewer than one prompt or output token counts as one.

    Complexity: mixes x `MAX_BATCH` x 30 steps.
    """
    prompts, outputs = np.maximum(prompts, 1.0), np.maximum(outputs, 1.0)
    alone = np.ones_like(prompts)
    # A request holds its prompt and, on average, half of its output; alone it must fit as a whole.
    places = np.minimum(np.floor(kv_tokens / (prompts + outputs / 2)), MAX_BATCH)
    has_room = prompts + outputs <= kv_tokens
    keeps_ttft = law.ttft_ms(prompts, outputs, alone) < targets.ttft_ms
    keeps_itl = law.itl_ms(prompts, outputs, alone) < targets.itl_ms
    answers = [
        Sustained(
            0.0, 0.0, Binding.KV if not room else Binding.COMPUTE_TTFT if not ttft else Binding.COMPUTE_ITL
        )
        for room, ttft in zip(has_room, keeps_ttft, strict=True)
    ]
    served = np.flatnonzero(has_room & keeps_ttft & keeps_itl)
    if len(served):
        engine = _Engine(law, prompts[served], outputs[served], places[served])
        within = MeanTargets(targets.ttft_ms[served], targets.itl_ms[served])
        for index, answer in zip(served, engine.largest(within), strict=True):
            answers[index] = answer
    return answers


@dataclass(frozen=True, slots=True)
class _Latencies:
    """Means at some arrival rate, one element per mix."""

    ttft_ms: Floats
    itl_ms: Floats
    wait_ms: Floats
    batch: Floats

    def within(self, targets: MeanTargets) -> Bools:
        return (self.ttft_ms <= targets.ttft_ms) & (self.itl_ms <= targets.itl_ms)


class _Engine:
    """One replica at several mixes, each with its own queue."""

    def __init__(self, law: Law, prompts: Floats, outputs: Floats, places: Floats) -> None:
        self._law, self._prompts, self._outputs = law, prompts, outputs
        # Where iterations are full of tokens, more requests in service do not add to the rate.
        budget_batch = TOKEN_BUDGET * (chunks(prompts) + outputs) / (prompts + outputs)
        budget_rates = law.rate_per_s(prompts, outputs, budget_batch)
        batches = np.minimum(np.arange(1.0, MAX_BATCH + 1), places[:, np.newaxis])
        rates = law.rate_per_s(prompts[:, np.newaxis], outputs[:, np.newaxis], batches)
        self._queue = BatchQueue(np.minimum(rates, budget_rates[:, np.newaxis]), places)
        self._cap_per_s = UTILISATION_CAP * np.minimum(rates[:, -1], budget_rates)
        self._is_short_of_kv = (places < MAX_BATCH) & (places < budget_batch)

    def at(self, arrivals_per_s: Floats) -> _Latencies:
        """Return the mean latencies at these arrival rates, each above 0 and at most the cap."""
        law, prompts, outputs = self._law, self._prompts, self._outputs
        steady = self._queue.at(arrivals_per_s)
        # The batch in which requests would be served for as long as they are: larger than the mean over
        # time, because more requests meet the full engine than the empty one.
        fixed_ms = law.residence_ms(prompts, outputs, np.zeros_like(prompts))
        batch = (1000 * steady.residence_s - fixed_ms) / law.work_ms(prompts, outputs)
        return _Latencies(
            ttft_ms=1000 * steady.wait_s + law.ttft_ms(prompts, outputs, batch),
            itl_ms=law.itl_ms(prompts, outputs, batch),
            wait_ms=1000 * steady.wait_s,
            batch=arrivals_per_s * steady.residence_s,
        )

    def largest(self, targets: MeanTargets) -> list[Sustained]:
        """Return the largest rates within targets that are met by a request alone."""
        high = self._cap_per_s
        low = np.zeros_like(high)
        trial = high
        for _ in range(_HALVINGS):
            is_within = self.at(trial).within(targets)
            low, high = np.where(is_within, trial, low), np.where(is_within, high, trial)
            trial = (low + high) / 2
        point = self.at(high)
        bindings = self._bindings(point, targets, is_at_cap=low == self._cap_per_s)
        return [
            Sustained(float(rate), float(batch), binding)
            for rate, batch, binding in zip(low, point.batch, bindings, strict=True)
        ]

    def _bindings(self, point: _Latencies, targets: MeanTargets, *, is_at_cap: Bools) -> list[Binding]:
        """Name what is short just above the largest rate."""
        is_itl = ~is_at_cap & (point.itl_ms > targets.itl_ms)
        is_waiting = ~is_itl & (point.wait_ms > _FELT_WAIT * targets.ttft_ms)
        is_kv = self._is_short_of_kv & (is_at_cap | is_waiting)
        names = np.select(
            [is_kv, is_at_cap, is_itl],
            [Binding.KV, Binding.COMPUTE, Binding.COMPUTE_ITL],
            Binding.COMPUTE_TTFT,
        )
        return [Binding(name) for name in names]
