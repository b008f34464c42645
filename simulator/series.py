"""What the engine of a pod exposes: the series of vLLM's v1 engine, by their true names.

Names, types and labels: vllm-project/vllm `vllm/v1/metrics/loggers.py`, from about 0.12 on. Counters and
gauges of requests show whole numbers; what is behind them is a fluid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.counts import ITL_EDGES_S, TTFT_EDGES_S, PodCounts
from simulator.fluid import Floats, Pace

Labels = tuple[tuple[str, str], ...]

TTFT = "vllm:time_to_first_token_seconds"
ITL = "vllm:inter_token_latency_seconds"


@dataclass(frozen=True, slots=True)
class SeriesKind:
    """One series that every pod exposes.

    Attributes:
        name: Name of the series.
        family: Name of the metric that it belongs to.
        type: Prometheus type of the metric.
        text: What the metric means.
        labels: What tells the series apart within its metric.
        values: Its value by pod.
    """

    name: str
    family: str
    type: str
    text: str
    labels: Labels
    values: Callable[[PodCounts, Pace], Floats]


def _counter(
    name: str, text: str, values: Callable[[PodCounts, Pace], Floats], labels: Labels = ()
) -> SeriesKind:
    return SeriesKind(
        name, name, "counter", text, labels, lambda counts, pace: np.floor(values(counts, pace))
    )


def _gauge(name: str, text: str, values: Callable[[PodCounts, Pace], Floats]) -> SeriesKind:
    return SeriesKind(name, name, "gauge", text, (), values)


def _finished(reason: str, values: Callable[[PodCounts, Pace], Floats]) -> SeriesKind:
    text = "Requests that were served to the end."
    return _counter("vllm:request_success_total", text, values, (("finished_reason", reason),))


def _none(counts: PodCounts, _: Pace) -> Floats:
    return np.zeros_like(counts.running)


_TTFT_TEXT = "Time to first token, seconds."
_ITL_TEXT = "Time between two tokens of a request, seconds."

SERIES = (
    _gauge("vllm:num_requests_running", "Requests in the batch.", lambda counts, _: np.rint(counts.running)),
    _gauge("vllm:num_requests_waiting", "Requests in the queue.", lambda counts, _: np.rint(counts.queued)),
    _gauge(
        "vllm:kv_cache_usage_perc",
        "Share of the KV cache in use, 1 = 100 %.",
        lambda counts, pace: np.minimum(counts.running * pace.kv_use_per_request, 1.0),
    ),
    _counter("vllm:prompt_tokens_total", "Prompt tokens computed.", lambda counts, _: counts.prompt_tokens),
    _counter("vllm:generation_tokens_total", "Tokens generated.", lambda counts, _: counts.output_tokens),
    _finished("stop", lambda counts, _: counts.completions),
    _finished("length", _none),
    _finished("abort", _none),
    SeriesKind(f"{TTFT}_sum", TTFT, "histogram", _TTFT_TEXT, (), lambda counts, _: counts.ttft_sum_s),
    SeriesKind(
        f"{TTFT}_count", TTFT, "histogram", _TTFT_TEXT, (), lambda counts, _: np.floor(counts.ttft_count)
    ),
    SeriesKind(f"{ITL}_sum", ITL, "histogram", _ITL_TEXT, (), lambda counts, _: counts.itl_sum_s),
    SeriesKind(f"{ITL}_count", ITL, "histogram", _ITL_TEXT, (), lambda counts, _: np.floor(counts.itl_count)),
)
"""Every series but the buckets of the histograms, which nobody reads as often as the others are scraped."""


def readings(counts: PodCounts, pace: Pace) -> Floats:
    """Return what a scrape reads, shape (pods, series) in the order of `SERIES`."""
    return np.array([series.values(counts, pace) for series in SERIES]).T


def exposition(counts: PodCounts, pace: Pace, pod: int, model_name: str) -> str:
    """Return what the engine of the pod at this place answers to `/metrics`: Prometheus' text format."""
    common = (("engine", "0"), ("model_name", model_name))
    lines: list[str] = []
    family = ""
    for series, value in zip(SERIES, readings(counts, pace)[pod], strict=True):
        if series.family != family:
            family = series.family
            lines += [f"# HELP {family} {series.text}", f"# TYPE {family} {series.type}"]
            if series.type == "histogram":
                lines += _buckets(family, counts, pod, common)
        lines.append(_line(series.name, (*common, *series.labels), value))
    return "\n".join((*lines, ""))


def _buckets(family: str, counts: PodCounts, pod: int, common: Labels) -> list[str]:
    edges_s, under, count = (
        (TTFT_EDGES_S, counts.ttft_under, counts.ttft_count)
        if family == TTFT
        else (ITL_EDGES_S, counts.itl_under, counts.itl_count)
    )
    values = np.floor(np.append(under[pod], count[pod]))
    edges = [*(repr(float(edge_s)) for edge_s in edges_s), "+Inf"]
    return [
        _line(f"{family}_bucket", (*common, ("le", edge)), value)
        for edge, value in zip(edges, values, strict=True)
    ]


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{text}"' for label, text in labels)
    return f"{name}{{{inner}}} {float(value)!r}"
