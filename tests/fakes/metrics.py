"""A metrics source that says what a test scripts, minute by minute, and keeps a note of what it was asked."""

import numpy as np

from fleet.errors import UnavailableError
from fleet.sample import Reason, Unknown, Value
from fleet.signal import Signal
from predictor.ports import BUCKET_S, InstantSamples, SignalBuckets

PROMPT, OUTPUT = 1000.0, 200.0


class FakeMetrics:
    """Requests/s by workload and minute since `start_s`; NaN is a minute that nobody scraped.

    Attributes:
        asked: (start_s, end_s) of every call of `samples` that was answered.
        is_down: Whether it answers not at all.
        has_history: Whether it answers for minutes that have closed.
        pods: Pods that are scraped, by workload; each serves its share.
        prompt: Tokens of a prompt, the same all the time unless changed.
        itl_s: Time between tokens that engines count, `None` = they do not.
    """

    def __init__(self, start_s, rates, pods=None):
        self.start_s = start_s
        self.rates = {key: np.asarray(values, dtype=float) for key, values in rates.items()}
        self.pods = dict.fromkeys(rates, ("pod-0",)) | (pods or {})
        self.prompt = PROMPT
        self.itl_s = None
        self.asked = []
        self.is_down = False
        self.has_history = True

    def rate(self, key, at_s):
        """Requests/s in the minute before `at_s`; the last one goes on for ever."""
        rates = self.rates[key]
        return float(rates[min(int((at_s - 1 - self.start_s) // BUCKET_S), len(rates) - 1)])

    def samples(self, signals, workloads, start_s, end_s):
        if self.is_down or not self.has_history:
            raise UnavailableError("the metrics source does not answer")
        self.asked.append((start_s, end_s))
        ends = range(start_s + BUCKET_S, end_s + 1, BUCKET_S)
        return {key: SignalBuckets(key, start_s, self._buckets(key, ends)) for key in workloads}

    def now(self, signals, workloads, at_s):
        if self.is_down:
            raise UnavailableError("the metrics source does not answer")
        return {key: InstantSamples(key, at_s, self._pods(key, at_s)) for key in workloads}

    def _buckets(self, key, ends):
        rates = np.array([self.rate(key, end) if end > self.start_s else np.nan for end in ends])
        done = rates * BUCKET_S
        steady = done * 0.0
        return {
            Signal.COMPLETIONS: done,
            Signal.PROMPT_TOKENS: done * self.prompt,
            Signal.OUTPUT_TOKENS: done * OUTPUT,
            Signal.WAITING: steady,
            Signal.RUNNING: steady + 1.0,
            Signal.KV_USE: steady + 0.1,
        }

    def _pods(self, key, at_s):
        pods = self.pods[key]
        rate = self.rate(key, at_s) / max(len(pods), 1)
        if np.isnan(rate):
            return {pod: {signal: Unknown(Reason.ABSENT) for signal in Signal} for pod in pods}
        done = rate * BUCKET_S
        one = {
            Signal.COMPLETIONS: done,
            Signal.PROMPT_TOKENS: done * self.prompt,
            Signal.OUTPUT_TOKENS: done * OUTPUT,
            Signal.WAITING: 0.0,
            Signal.RUNNING: 1.0,
            Signal.KV_USE: 0.1,
            Signal.TTFT_SUM: done * 0.1,
            Signal.TTFT_COUNT: done,
        }
        if self.itl_s is not None:
            tokens = done * OUTPUT
            one |= {Signal.ITL_COUNT: tokens, Signal.ITL_SUM: tokens * self.itl_s}
        return {pod: {signal: Value(number) for signal, number in one.items()} for pod in pods}
