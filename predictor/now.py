"""Offered demand in this minute, out of the newest readings, and why it must not support a removal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import log
from types import MappingProxyType
from typing import TypeGuard

from fleet.demand import DemandOrigin, Mix, NowReading
from fleet.sample import Idle, Reason, Sample, Unknown, Value, known
from fleet.signal import Signal
from fleet.workload import LatencyTarget, Slo
from predictor.demand import HISTORY_SIGNALS, KV_FULL, MIX_REQUESTS
from predictor.ports import InstantSamples
from predictor.series import WINDOW_S

NOW_SIGNALS = (*HISTORY_SIGNALS, Signal.TTFT_SUM, Signal.TTFT_COUNT, Signal.ITL_SUM, Signal.ITL_COUNT)
"""What `now_reading` reads."""

UNBOUND = Slo()

Pod = Mapping[Signal, Sample]

_ABSENT, _EMPTY = Unknown(Reason.ABSENT), Unknown(Reason.EMPTY)
_NOT_EXPORTED = Unknown(Reason.NOT_EXPORTED)

_VITAL = (
    Signal.COMPLETIONS,
    Signal.PROMPT_TOKENS,
    Signal.OUTPUT_TOKENS,
    Signal.WAITING,
    Signal.RUNNING,
    Signal.KV_USE,
)
"""What each pod has to say, so far as its engine exports it."""


FRESH_S = 120.0
"""A pod that has been ready for less may not have been scraped twice: once a minute or more is usual."""


def now_reading(
    samples: InstantSamples,
    expected_pods: frozenset[str],
    last_mix: Mix | None,
    slo: Slo = UNBOUND,
    fresh_pods: frozenset[str] = frozenset(),
    carries: Mapping[str, float] = MappingProxyType({}),
) -> NowReading:
    """Return what the newest readings say, and why they must not support a removal if they must not.

    What came to the router counts, else what came to the engines. Where they do not count that, first
    tokens stand in for it if every pod counts them: a request gives its first token long before it ends.
    What is still in front of that waits, and is counted as waiting. A sum over the pods that answered is a
    lower bound when others did not; that is a reason for distrust, not for silence.

    Pods that cannot have been read yet are no reason for distrust, as long as half or more have been: each
    may have been sent what the busiest pod was, and the more the more it carries, as routers by load send.
    That is told beside what was counted. Nothing is idle then.

    Args:
        samples: Newest readings, of `NOW_SIGNALS`.
        expected_pods: Pods that are ready and so have to be among the samples.
        last_mix: Token mix known before; it stands where too little finished in the last minute.
        slo: Objectives; while a mean is beyond its objective's limit, the objective is taken to be missed.
        fresh_pods: Those of the expected that have been ready for less than `FRESH_S`.
        carries: Work that a pod carries, above 0; a pod that is not named carries as much as any other.
    """
    pods = {name: pod for name, pod in samples.pods.items() if name in expected_pods or _counts_requests(pod)}
    unread = frozenset(name for name in fresh_pods & expected_pods if not _is_read(pods.get(name, {})))
    if 2 * len(unread) > len(expected_pods):
        unread = frozenset()
    read = {name: pod for name, pod in pods.items() if name not in unread}
    routers = {name: pod for name, pod in samples.pods.items() if _is_exported(pod, Signal.ROUTER_ARRIVALS)}
    origin, arrived = _arrived(read.values(), routers.values())
    waiting = _sum((_total(routers.values(), Signal.ROUTER_WAITING), _total(pods.values(), Signal.WAITING)))
    running = _total(pods.values(), Signal.RUNNING)
    distrust = (
        *_producers_missing(read, routers, expected_pods - unread),
        *_censoring(pods, routers, waiting),
        *_missed(pods, slo),
    )
    is_running = running == _NOT_EXPORTED or known(running) == 0.0
    mix = _mix(pods.values()) or last_mix
    answered = frozenset(name for name, pod in pods.items() if _answers(pod))
    slow = frozenset(name for name, pod in pods.items() if _is_slow(pod, slo))
    return NowReading(
        workload=samples.workload,
        at_s=samples.at_s,
        arrivals_per_s=_per_s(arrived, is_confirmed=not (distrust or unread) and is_running),
        unseen_per_s=0.0 if origin is DemandOrigin.ROUTER else _unseen_per_s(unread, read, carries),
        waiting=waiting,
        running=running,
        mix=mix,
        distrust=distrust,
        origin=origin,
        answered=answered,
        inside=answered - slow,
        outside=slow,
        drain_s=max((s for pod in pods.values() if (s := _drain_s(pod, mix)) is not None), default=None),
    )


def _is_read(pod: Pod) -> bool:
    """Return whether a pod says all that it has to: the counters among that take two scrapes."""
    return bool(pod) and not any(_is_unknown(_sample(pod, signal)) for signal in (*_VITAL, Signal.TTFT_COUNT))


def _unseen_per_s(unread: Collection[str], read: Mapping[str, Pod], carries: Mapping[str, float]) -> float:
    """Return the most that may have come to pods, by what the others were sent and what each carries."""
    if not unread:
        return 0.0
    sent = {name: known(_arrived([pod], ())[1]) or 0.0 for name, pod in read.items()}

    def most(new: str) -> float:
        larger = (carries[new] / carries[old] if {new, old} <= carries.keys() else 1.0 for old in sent)
        return max((max(1.0, by) * came for by, came in zip(larger, sent.values(), strict=True)), default=0.0)

    return sum(map(most, unread)) / WINDOW_S


def _is_unknown(sample: Sample) -> TypeGuard[Unknown]:
    return isinstance(sample, Unknown) and sample.reason is not Reason.NOT_EXPORTED


def _answers(pod: Pod) -> bool:
    """Return whether a pod gave answers, or first tokens, in the last minute."""
    return any(known(_sample(pod, signal)) for signal in (Signal.TTFT_COUNT, Signal.COMPLETIONS))


def _arrived(pods: Iterable[Pod], routers: Iterable[Pod]) -> tuple[DemandOrigin, Sample]:
    """Return the requests of the last minute as the most upstream counter that says something has them."""
    pods = list(pods)
    came = _total(routers, Signal.ROUTER_ARRIVALS)
    if known(came) is not None:
        return DemandOrigin.ROUTER, came
    came = _total(pods, Signal.ARRIVALS)
    if known(came) is not None and all(_is_exported(pod, Signal.ARRIVALS) for pod in pods):
        return DemandOrigin.ENGINES, came
    is_early = bool(pods) and all(_is_known(pod, Signal.TTFT_COUNT) for pod in pods)
    counted = (Signal.TTFT_COUNT,) if is_early else (Signal.COMPLETIONS, Signal.FAILURES)
    told = _total(pods, counted[0])
    if known(told) is None:
        return DemandOrigin.NOWHERE, told
    rest = [_total(pods, signal) for signal in (*counted[1:], Signal.REFUSALS)]
    return DemandOrigin.FIRST_TOKENS if is_early else DemandOrigin.ENDINGS, _sum((told, *rest))


def _counts_requests(pod: Pod) -> bool:
    return _is_known(pod, Signal.COMPLETIONS) or _is_known(pod, Signal.ARRIVALS)


def _is_known(pod: Pod, signal: Signal) -> bool:
    return known(_sample(pod, signal)) is not None


def _is_exported(pod: Pod, signal: Signal) -> bool:
    return signal in pod and pod[signal] != _NOT_EXPORTED


def _sample(pod: Pod, signal: Signal) -> Sample:
    return pod.get(signal, _ABSENT)


def _total(pods: Iterable[Pod], signal: Signal) -> Sample:
    """Sum what is known; unknown only where no pod says anything."""
    return _sum([pod.get(signal, _ABSENT) for pod in pods])


def _sum(samples: Iterable[Sample]) -> Sample:
    nothing: Sample = _EMPTY
    numbers = []
    for sample in samples:
        # Nearly all are values, and this is asked some dozens of times for each workload and tick.
        number = sample.value if type(sample) is Value else known(sample)
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


def _mix(pods: Iterable[Pod]) -> Mix | None:
    pods = list(pods)
    finished, prompt, output = (
        known(_total(pods, signal))
        for signal in (Signal.COMPLETIONS, Signal.PROMPT_TOKENS, Signal.OUTPUT_TOKENS)
    )
    if finished is None or prompt is None or output is None or finished < MIX_REQUESTS:
        return None
    return Mix(prompt_tokens=prompt / finished, output_tokens=output / finished)


def _producers_missing(
    pods: Mapping[str, Pod], routers: Mapping[str, Pod], expected_pods: frozenset[str]
) -> Iterable[str]:
    """Say who ought to say something and does not, one line each."""
    missing = sorted(expected_pods - pods.keys())
    if not expected_pods:
        yield "no ready pod that could measure demand"
    if missing:
        yield f"{len(missing)} of {len(expected_pods)} ready pods not scraped: {', '.join(missing)}"
    for name in sorted(expected_pods & pods.keys()):
        for signal in _VITAL:
            sample = _sample(pods[name], signal)
            if _is_unknown(sample):
                yield f"{signal} of pod {name} unknown: {sample.reason}"
    for name in sorted(routers):
        sample = routers[name][Signal.ROUTER_ARRIVALS]
        if isinstance(sample, Unknown):
            yield f"arrivals at router {name} unknown: {sample.reason}"


def _censoring(pods: Mapping[str, Pod], routers: Mapping[str, Pod], waiting: Sample) -> Iterable[str]:
    """Say why demand may have been more than what was counted, one line each."""
    queued = known(waiting)
    if queued:
        yield f"{queued:.0f} requests waiting"
    refusals = (_total(pods.values(), Signal.REFUSALS), _total(routers.values(), Signal.ROUTER_REFUSALS))
    refused = known(_sum(refusals))
    if refused:
        yield f"{refused:.0f} requests refused"
    for name in sorted(pods):
        kv_use = known(_sample(pods[name], Signal.KV_USE))
        if kv_use is not None and kv_use > KV_FULL:
            yield f"KV cache of pod {name} is {kv_use:.0%} full"


def _drain_s(pod: Pod, mix: Mix | None) -> float | None:
    """Return how long the last of what a pod serves now may take, in seconds, `None` where that is not known.

    Lengths of answers are about exponential (ServeGen, arXiv 2505.09999), so that of `n` requests
    of mean length m the last is done after m (ln n + ln 20) with a chance of .95.
    """
    running, count, tokens = (
        known(_sample(pod, signal)) for signal in (Signal.RUNNING, Signal.TTFT_COUNT, Signal.ITL_COUNT)
    )
    first_s, rest_s = (known(_sample(pod, signal)) for signal in (Signal.TTFT_SUM, Signal.ITL_SUM))
    if mix is None or not running or not tokens or rest_s is None:
        return None
    wait_s = first_s / count if first_s is not None and count else 0.0
    mean_s = wait_s + mix.output_tokens * rest_s / tokens
    return mean_s * (log(max(running, 1.0)) + log(20.0))


def _is_slow(pod: Pod, slo: Slo) -> bool:
    """Return whether a pod lets requests wait, or a mean of it is beyond its objective."""
    if known(_sample(pod, Signal.WAITING)):
        return True
    return any(
        _is_beyond(known(_sample(pod, summed)), known(_sample(pod, counted)), target)
        for _, target, summed, counted in _terms(slo)
    )


def _missed(pods: Mapping[str, Pod], slo: Slo) -> Iterable[str]:
    """Say which objective is missed, one line each: who waits too long may go, or hold back."""
    for name, target, summed, counted in _terms(slo):
        total, count = (known(_total(pods.values(), signal)) for signal in (summed, counted))
        if total is not None and count is not None and _is_beyond(total, count, target):
            yield f"mean {name} of {total / count:.3g} s is beyond its objective of {target.limit_s:g} s"


def _terms(slo: Slo) -> Iterator[tuple[str, LatencyTarget, Signal, Signal]]:
    """Yield the objectives that there are, and what their means are made of."""
    if slo.ttft is not None:
        yield "time to first token", slo.ttft, Signal.TTFT_SUM, Signal.TTFT_COUNT
    if slo.itl is not None:
        yield "inter-token latency", slo.itl, Signal.ITL_SUM, Signal.ITL_COUNT


def _is_beyond(total: float | None, count: float | None, target: LatencyTarget) -> bool:
    """Return whether a mean is known and beyond its objective.

    A minute has too few requests for a quantile of .95 and more, and buckets are coarse. A mean beyond the
    limit is a miss for sure unless a few requests took many times as long.
    """
    if total is None or count is None or count < MIX_REQUESTS:
        return False
    return total > target.limit_s * count
