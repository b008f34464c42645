"""Days on which requests rise at the same time, or do not: as engines meet them, and as they were scraped."""

from collections.abc import Iterator

import numpy as np

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from tests.builders.engines import MIX, workload
from tests.prometheus.server import series_text

DAY_S = 86_400
HISTORY_S = 3 * DAY_S + 3_600
RISEN_S = 3_600
STEP_S = 30
LOW, HIGH = 0.3, 1.3
"""Work in whole cards, of which one is reckoned to carry 0.83: one replica is enough, then it is not."""

_GAUGES = {"num_requests_waiting": 0, "num_requests_running": 4, "kv_cache_usage_perc": 0.02}


class Days:
    """Requests of workload `chat`: at `rise_s` they go up for an hour, and did so on the days before.

    Implements `simulator.engine.Demand`. With `was_flat` the days before knew no rise.
    """

    def __init__(self, rise_s: int, *, was_flat: bool = False) -> None:
        self._rise_s = rise_s
        self._was_flat = was_flat
        model, tenant = CapacityModel([H100_80GB]), workload("chat")
        self._full_per_s = model.sustained(tenant, model.reference(tenant), MIX)

    def rates(self, times):
        """Return requests/s at these times."""
        is_risen = (times - self._rise_s) % DAY_S < RISEN_S
        if self._was_flat:
            is_risen &= times >= self._rise_s
        return np.where(is_risen, HIGH, LOW) * self._full_per_s

    def seconds(self, from_s: int, count: int):
        """Return the requests that arrive in each of `count` seconds, shape (count, 1)."""
        return self.rates(from_s + np.arange(count))[:, np.newaxis]

    def mixes(self, at_s: int) -> tuple[Mix]:
        """Return the tokens of a request."""
        return (MIX,)

    def past(self, namespace: str, end_s: int) -> Iterator[tuple[str, int, float]]:
        """Yield what was scraped from an engine that served it all until now: series, time, value."""
        times = np.arange(end_s - HISTORY_S, end_s, STEP_S)
        yield from scraped(namespace, "chat", times, self.rates(times), MIX)


def scraped(
    namespace: str, model_name: str, times, rates, mix: Mix, pod: str = ""
) -> Iterator[tuple[str, int, float]]:
    """Yield what was scraped every `STEP_S` of an engine that served these rates: series, time, value.

    Of one that is not there any more unless a pod is named.
    """
    finished = np.floor(np.cumsum(rates * STEP_S))
    counters = {
        "request_success_total": finished,
        "prompt_tokens_total": finished * mix.prompt_tokens,
        "generation_tokens_total": finished * mix.output_tokens,
        "time_to_first_token_seconds_count": finished,
    }
    gauges = {name: np.full(len(times), float(value)) for name, value in _GAUGES.items()}
    about = {"namespace": namespace, "pod": pod or f"{model_name}-before", "model_name": model_name}
    for name, values in (counters | gauges).items():
        text = series_text(f"vllm:{name}", about)
        yield from ((text, t_s, value) for t_s, value in zip(times.tolist(), values.tolist(), strict=True))
