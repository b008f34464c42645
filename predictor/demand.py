"""Offered demand out of signals: what arrived, what it asked for, and where nobody can say.

Engines count what they finish. What was offered is that plus what piled up meanwhile; while requests queue
or the KV cache is full even that is only a lower bound, because callers give up or hold back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fleet.demand import Mix, NowReading
from fleet.sample import Idle, Reason, Sample, Unknown, Value, known
from fleet.signal import Signal
from predictor.ports import BUCKET_S, Bools, DemandHistory, Floats, InstantSamples, SignalBuckets
from predictor.series import WINDOW_S

HISTORY_SIGNALS = (
    Signal.COMPLETIONS,
    Signal.PROMPT_TOKENS,
    Signal.OUTPUT_TOKENS,
    Signal.WAITING,
    Signal.RUNNING,
    Signal.KV_USE,
)
"""What `demand_history` reads."""

NOW_SIGNALS = (*HISTORY_SIGNALS, Signal.TTFT_COUNT)
"""What `now_reading` reads."""

KV_FULL = 0.9
"""KV use above which an engine holds requests back (design: trust)."""

MIX_REQUESTS = 30
"""Finished requests that a token mix is averaged over at least, so that one long answer is no mix."""

_ABSENT = Unknown(Reason.ABSENT)

_VITAL = (Signal.COMPLETIONS, Signal.WAITING, Signal.RUNNING, Signal.KV_USE)


def demand_history(buckets: SignalBuckets) -> DemandHistory:
    """Return the demand offered in each bucket: completions plus the growth of running and waiting.

    The first bucket is unknown, as its growth is: ask for one more than is needed. Engines that export no
    queue at all are taken at their completions.
    """
    unread = np.full(max((len(values) for values in buckets.values.values()), default=0), np.nan)
    read = {signal: buckets.values.get(signal, unread) for signal in HISTORY_SIGNALS}
    completions, waiting = read[Signal.COMPLETIONS], read[Signal.WAITING]
    in_flight = read[Signal.RUNNING] + waiting
    growth = np.diff(in_flight, prepend=np.nan) if np.isfinite(in_flight).any() else np.zeros(len(unread))
    mix = _trailing_ratios(completions, (read[Signal.PROMPT_TOKENS], read[Signal.OUTPUT_TOKENS]))
    return DemandHistory(
        workload=buckets.workload,
        start_s=buckets.start_s,
        requests_per_s=np.maximum(completions + growth, 0.0) / BUCKET_S,
        prompt_tokens=mix[0],
        output_tokens=mix[1],
        is_censored=_is_censored(waiting, read[Signal.KV_USE]),
    )


def now_reading(samples: InstantSamples, expected_pods: frozenset[str], last_mix: Mix | None) -> NowReading:
    """Return what the newest readings say, and why they must not support a removal if they must not.

    First tokens are counted as arrivals where every pod counts them: a request gives its first token long
    before it ends. What is still in front of that waits, and is counted as waiting. A sum over the pods that
    answered is a lower bound when others did not; that is a reason for distrust, not for silence.

    Args:
        samples: Newest readings, of `NOW_SIGNALS`.
        expected_pods: Pods that are ready and so have to be among the samples.
        last_mix: Token mix known before; it stands where too little finished in the last minute.
    """
    pods = {
        name: pod
        for name, pod in samples.pods.items()
        if name in expected_pods or known(_sample(pod, Signal.COMPLETIONS)) is not None
    }
    has_first_tokens = all(known(_sample(pod, Signal.TTFT_COUNT)) is not None for pod in pods.values())
    arrived = _total(pods.values(), Signal.TTFT_COUNT if has_first_tokens else Signal.COMPLETIONS)
    waiting, running = _total(pods.values(), Signal.WAITING), _total(pods.values(), Signal.RUNNING)
    missing = sorted(expected_pods - pods.keys())
    distrust = tuple(_distrust(pods, missing, expected_pods, waiting))
    return NowReading(
        workload=samples.workload,
        at_s=samples.at_s,
        arrivals_per_s=_per_s(arrived, is_confirmed=not distrust and known(running) == 0.0),
        waiting=waiting,
        running=running,
        mix=_mix(pods.values()) or last_mix,
        distrust=distrust,
    )


def _is_censored(waiting: Floats, kv_use: Floats) -> Bools:
    """A queue at both ends of a bucket stood all through it; one at its end alone is a burst being served."""
    is_queued = waiting > 0
    return (is_queued & np.concatenate((is_queued[:1], is_queued[:-1]))) | (kv_use > KV_FULL)


def _trailing_ratios(requests: Floats, tokens: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return tokens per request over the fewest last buckets in which `MIX_REQUESTS` finished.

    A ratio of sums: buckets that are not known in full add nothing. NaN before enough has finished.
    """
    is_known = np.isfinite(requests) & np.isfinite(tokens[0]) & np.isfinite(tokens[1])
    sums = [np.concatenate(([0.0], np.where(is_known, x, 0.0).cumsum())) for x in (requests, *tokens)]
    finished = sums[0]
    start = np.searchsorted(finished, finished[1:] - MIX_REQUESTS, side="right") - 1
    is_enough = start >= 0
    start = np.maximum(start, 0)
    requests_in = np.where(is_enough, finished[1:] - finished[start], np.nan)
    prompt, output = ((total[1:] - total[start]) / requests_in for total in sums[1:])
    return prompt, output


def _sample(pod: Mapping[Signal, Sample], signal: Signal) -> Sample:
    return pod.get(signal, _ABSENT)


def _total(pods: Iterable[Mapping[Signal, Sample]], signal: Signal) -> Sample:
    """Sum what is known; unknown only where no pod says anything."""
    nothing: Sample = Unknown(Reason.EMPTY)
    numbers = []
    for pod in pods:
        sample = _sample(pod, signal)
        number = known(sample)
        if number is None:
            nothing = sample
        else:
            numbers.append(number)
    return Value(sum(numbers)) if numbers else nothing


def _per_s(arrived: Sample, *, is_confirmed: bool) -> Sample:
    """Turn requests in the window into a rate; zero is idle only where every producer confirms it."""
    if not isinstance(arrived, Value):
        return arrived
    if arrived.value == 0.0 and is_confirmed:
        return Idle()
    return Value(arrived.value / WINDOW_S)


def _mix(pods: Iterable[Mapping[Signal, Sample]]) -> Mix | None:
    pods = list(pods)
    finished, prompt, output = (
        known(_total(pods, signal))
        for signal in (Signal.COMPLETIONS, Signal.PROMPT_TOKENS, Signal.OUTPUT_TOKENS)
    )
    if finished is None or prompt is None or output is None or finished < MIX_REQUESTS:
        return None
    return Mix(prompt_tokens=prompt / finished, output_tokens=output / finished)


def _distrust(
    pods: Mapping[str, Mapping[Signal, Sample]],
    missing: list[str],
    expected_pods: frozenset[str],
    waiting: Sample,
) -> Iterable[str]:
    """Say what is wrong, one line each: producers absent, signals unknown, demand censored."""
    if not expected_pods:
        yield "no ready pod that could measure demand"
    if missing:
        yield f"{len(missing)} of {len(expected_pods)} ready pods not scraped: {', '.join(missing)}"
    for name in sorted(expected_pods & pods.keys()):
        for signal in _VITAL:
            sample = _sample(pods[name], signal)
            if isinstance(sample, Unknown):
                yield f"{signal} of pod {name} unknown: {sample.reason}"
    queued = known(waiting)
    if queued:
        yield f"{queued:.0f} requests waiting"
    for name in sorted(pods):
        kv_use = known(_sample(pods[name], Signal.KV_USE))
        if kv_use is not None and kv_use > KV_FULL:
            yield f"KV cache of pod {name} is {kv_use:.0%} full"
