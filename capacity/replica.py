"""The mean latencies of one replica at an arrival rate: the law and its batch queue together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capacity.law import TOKEN_BUDGET, Bools, Floats, Integers, Law, chunks, resident_tokens
from capacity.queueing import BatchQueue

MAX_BATCH = 256
"""Requests that an engine serves at once: vLLM's default `max_num_seqs` on most cards."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """Means at some arrival rate, one element per mix.

    Attributes:
        ttft_ms: Time to first token.
        itl_ms: Time between two tokens of a request.
        e2e_ms: Time from arrival to last token.
        wait_ms: The part of both spent waiting for a place in the batch.
        batch: Requests in service.
    """

    ttft_ms: Floats
    itl_ms: Floats
    e2e_ms: Floats
    wait_ms: Floats
    batch: Floats


class Replica:
    """Replicas with one law and KV room, or each with its own, at a token mix each.

    Attributes:
        full_rate_per_s: Requests/s that a full batch reaches, by mix.
        is_short_of_kv: Whether the KV cache limits that batch, by mix.
    """

    def __init__(self, law: Law, kv_tokens: Floats | float, prompts: Floats, outputs: Floats) -> None:
        """Describe replicas with room for `kv_tokens`, at mixes of which one request fits as a whole."""
        self._law, self._kv_tokens, self._prompts, self._outputs = law, kv_tokens, prompts, outputs
        self._request = law.request(prompts, outputs)
        self._work_ms = law.work_ms(prompts, outputs)
        self._empty_ms = law.residence_ms(prompts, outputs, np.zeros_like(prompts))
        places = np.clip(np.floor(kv_tokens / resident_tokens(prompts, outputs)), 1, MAX_BATCH)
        # Where iterations are full of tokens, more requests in service do not add to the rate.
        budget_batch = TOKEN_BUDGET * (chunks(prompts) + outputs) / (prompts + outputs)
        budget_rate = law.rate_per_s(prompts, outputs, budget_batch)
        served = np.minimum(np.arange(1.0, MAX_BATCH + 1), places[:, np.newaxis])
        residence_ms = self._empty_ms[:, np.newaxis] + self._work_ms[:, np.newaxis] * served
        rates = np.minimum(1000 * served / residence_ms, budget_rate[:, np.newaxis])
        self._queue = BatchQueue(rates, places)
        self.full_rate_per_s: Floats = rates[:, -1]
        self.is_short_of_kv: Bools = (places < MAX_BATCH) & (places < budget_batch)

    def of(self, these: Integers) -> Replica:
        """Return the replicas with these indices; each must have a law and KV room of its own."""
        rooms = np.take(self._kv_tokens, these)
        return Replica(self._law.at(these), rooms, self._prompts[these], self._outputs[these])

    def at(self, arrivals_per_s: Floats) -> Latencies:
        """Return the mean latencies at these rates, one per mix, above 0 and below the full rate."""
        steady = self._queue.at(arrivals_per_s)
        # The constant batch in which requests would stay as long as they do. It is larger than the mean
        # over time: more requests meet the full engine than the empty one.
        company = (1000 * steady.residence_s - self._empty_ms) / self._work_ms
        wait_ms = 1000 * steady.wait_s
        return Latencies(
            ttft_ms=wait_ms + self._request.ttft_ms(company),
            itl_ms=self._request.itl_ms(company),
            e2e_ms=wait_ms + 1000 * steady.residence_s,
            wait_ms=wait_ms,
            batch=arrivals_per_s * steady.residence_s,
        )
