"""The performance law of an engine that batches continuously, and what one request costs under it.

An iteration takes a fixed time (weights are read once), plus a time per token computed, plus a time
per token of context read. Everything else follows from how many requests share the iterations. The
formulas are those of llm-inferno/queue-analysis, `pkg/analyzer/queueanalyzer.go` (three parameters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Real = TypeVar("Real", float, Floats)
"""A number, or an array of them: every formula holds element by element."""

TOKEN_BUDGET = 2048
"""Tokens that an iteration may compute: vLLM's `max_num_batched_tokens`, chunked prefill, most cards."""


def chunks(prompt_tokens: Real) -> Real:
    """Return the number of iterations over which the prefill of a prompt is spread, at least 1."""
    return -(-prompt_tokens // TOKEN_BUDGET)


def resident_tokens(prompt_tokens: Real, output_tokens: Real) -> Real:
    """Return the tokens of KV cache that a request met in service holds on average, by means over requests.

    Over its stay a request holds its prompt and half of its output; but those met in service are the long
    ones, with outputs of twice the mean where lengths spread like a geometric distribution's.
    """
    return prompt_tokens + output_tokens


@dataclass(frozen=True, slots=True)
class Law:
    """The time of one iteration of one model on one shape.

    Prompt and output tokens are those of one request, at least 1 each. `batch` counts the requests
    that share the iterations, the one looked at included; it need not be whole (a mean).

    The parameters are numbers, or arrays as `stacked` makes them: every formula then holds element by
    element, one law for each request.

    Attributes:
        alpha_ms: Time of any iteration, ms.
        beta_ms_per_token: Time per token computed, prefill or decode, ms.
        gamma_ms_per_kv_token: Time per token of context read, ms.
    """

    alpha_ms: float
    beta_ms_per_token: float
    gamma_ms_per_kv_token: float

    def slower(self, factor: float) -> Law:
        """Return the law in which everything takes `factor` times as long."""
        return Law(
            self.alpha_ms * factor, self.beta_ms_per_token * factor, self.gamma_ms_per_kv_token * factor
        )

    def for_each(self, requests: Floats) -> Law:
        """Return the law with arrays for parameters, one element for each of these requests."""
        parameters = (self.alpha_ms, self.beta_ms_per_token, self.gamma_ms_per_kv_token)
        return Law(*(cast("float", np.broadcast_to(parameter, requests.shape)) for parameter in parameters))

    def at(self, indices: Integers) -> Law:
        """Return a law with arrays for parameters at some of its elements."""
        parameters = (self.alpha_ms, self.beta_ms_per_token, self.gamma_ms_per_kv_token)
        return Law(*(cast("float", np.take(parameter, indices)) for parameter in parameters))

    def iteration_ms(self, tokens: Real, kv_tokens: Real) -> Real:
        """Return the time of an iteration that computes `tokens` and reads `kv_tokens` of context."""
        return self.alpha_ms + self.beta_ms_per_token * tokens + self.gamma_ms_per_kv_token * kv_tokens

    def prefill_work_ms(self, prompt_tokens: Real) -> Real:
        """Return the time that the prefill of one request adds to the iterations it is spread over."""
        reads_per_token = (chunks(prompt_tokens) + 1) / 2
        return (self.beta_ms_per_token + self.gamma_ms_per_kv_token * reads_per_token) * prompt_tokens

    def decode_work_ms(self, prompt_tokens: Real, output_tokens: Real) -> Real:
        """Return the time that the decoding of one request adds to the iterations it is spread over."""
        mean_context = prompt_tokens + (output_tokens + 1) / 2
        return output_tokens * (self.beta_ms_per_token + self.gamma_ms_per_kv_token * mean_context)

    def work_ms(self, prompt_tokens: Real, output_tokens: Real) -> Real:
        """Return the time that one request adds in all: its inverse is the rate that no batch exceeds."""
        return self.prefill_work_ms(prompt_tokens) + self.decode_work_ms(prompt_tokens, output_tokens)

    def delta_ms(self, prompt_tokens: Real, output_tokens: Real) -> Real:
        """Return the time that one request adds to each iteration while it is served, on average."""
        iterations = chunks(prompt_tokens) + output_tokens
        return self.work_ms(prompt_tokens, output_tokens) / iterations

    def residence_ms(self, prompt_tokens: Real, output_tokens: Real, batch: Real) -> Real:
        """Return how long a request is served, its wait before that left out."""
        iterations = chunks(prompt_tokens) + output_tokens
        return iterations * self.alpha_ms + self.work_ms(prompt_tokens, output_tokens) * batch

    def rate_per_s(self, prompt_tokens: Real, output_tokens: Real, batch: Real) -> Real:
        """Return the requests/s that leave an engine which always serves `batch` of them."""
        return 1000 * batch / self.residence_ms(prompt_tokens, output_tokens, batch)

    def prefill_ms(self, prompt_tokens: Real, output_tokens: Real, batch: Real) -> Real:
        """Return the time from the first iteration of a request to its first token."""
        return self.request(prompt_tokens, output_tokens).prefill_ms(batch)

    def itl_ms(self, prompt_tokens: Real, output_tokens: Real, batch: Real) -> Real:
        """Return the mean time between two tokens of a request."""
        return self.request(prompt_tokens, output_tokens).itl_ms(batch)

    def ttft_ms(self, prompt_tokens: Real, output_tokens: Real, batch: Real) -> Real:
        """Return the time to first token of a request that finds a free place in the batch.

        It joins when the iteration that is running ends. That one is counted in full: long iterations
        are met more often than short ones, so the rest of one is close to the mean of all.
        """
        return self.request(prompt_tokens, output_tokens).ttft_ms(batch)

    def request(self, prompt_tokens: Real, output_tokens: Real) -> Request[Real]:
        """Return what a request costs, to be asked at many batches."""
        return Request(
            alpha_ms=self.alpha_ms,
            chunks=chunks(prompt_tokens),
            prefill_work_ms=self.prefill_work_ms(prompt_tokens),
            decode_ms_per_token=self.decode_work_ms(prompt_tokens, output_tokens) / output_tokens,
            delta_ms=self.delta_ms(prompt_tokens, output_tokens),
        )


def stacked(laws: Sequence[Law]) -> Law:
    """Return one law with arrays for parameters, an element for each of these laws."""
    parameters = np.array([astuple(law) for law in laws], dtype=np.float64).reshape(len(laws), 3).T
    return Law(*(cast("float", parameter) for parameter in parameters))


@dataclass(frozen=True, slots=True)
class Request(Generic[Real]):
    """What one request costs under a law, whatever the batch.

    Attributes:
        alpha_ms: Time of any iteration.
        chunks: Iterations of its prefill.
        prefill_work_ms: Time that its prefill adds to them.
        decode_ms_per_token: Time that each of its output tokens adds to an iteration.
        delta_ms: Time that it adds to each iteration while it is served, on average.
    """

    alpha_ms: float
    chunks: Real
    prefill_work_ms: Real
    decode_ms_per_token: Real
    delta_ms: Real

    def prefill_ms(self, batch: Real) -> Real:
        """Return the time from the first iteration of the request to its first token."""
        return self.chunks * (self.alpha_ms + self._company_ms(batch)) + self.prefill_work_ms

    def itl_ms(self, batch: Real) -> Real:
        """Return the mean time between two of its tokens."""
        return self.alpha_ms + self._company_ms(batch) + self.decode_ms_per_token

    def ttft_ms(self, batch: Real) -> Real:
        """Return the time to its first token where a place in the batch is free (see `Law.ttft_ms`)."""
        return self.itl_ms(batch) + self.prefill_ms(batch)

    def _company_ms(self, batch: Real) -> Real:
        """Return the time that the others in the batch add to an iteration."""
        return (batch - 1) * self.delta_ms
