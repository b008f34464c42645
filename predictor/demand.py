"""Offered demand in the past, out of signals: what arrived, what it asked for, and where nobody can say.

What comes to a router was offered, whatever became of it. Engines mostly count what they finish: what was
offered to them is that plus what piled up meanwhile, and while requests queue, are refused or the KV cache is
full even that is only a lower bound, because callers give up or hold back.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fleet.signal import Signal
from predictor.ports import BUCKET_S, Bools, DemandHistory, Floats, SignalBuckets

HISTORY_SIGNALS = (
    Signal.ROUTER_ARRIVALS,
    Signal.ROUTER_REFUSALS,
    Signal.ROUTER_WAITING,
    Signal.ARRIVALS,
    Signal.COMPLETIONS,
    Signal.FAILURES,
    Signal.REFUSALS,
    Signal.PROMPT_TOKENS,
    Signal.OUTPUT_TOKENS,
    Signal.WAITING,
    Signal.RUNNING,
    Signal.KV_USE,
)
"""What `demand_history` reads."""

KV_FULL = 0.9
"""KV use above which an engine holds requests back (design: trust)."""

MIX_REQUESTS = 30
"""Finished requests that a token mix is averaged over at least, so that one long answer is no mix."""

RETRIED = 0.1
"""Share of failed requests above the usual at which callers are taken to ask again."""

USUAL_BUCKETS = 180
"""Buckets that the usual share of failures is taken from: its q .10, which a retry storm of two hours does
not move. Some callers cancel as a habit (completion while typing), so that no share is abnormal by itself."""


def demand_history(buckets: SignalBuckets) -> DemandHistory:
    """Return the demand offered in each bucket: router arrivals, else the engines', else what ended and grew.

    Where the engines' count is reckoned from what grew, the first bucket is unknown, as its growth is: ask
    for one more than is needed. Engines that export no queue at all are taken at what ended. While far more
    requests fail than usual, they are taken to be asked again and again: then nobody can say what was
    offered, it is unknown.
    """
    unread = np.full(max((len(values) for values in buckets.values.values()), default=0), np.nan)
    read = {signal: buckets.values.get(signal, unread) for signal in HISTORY_SIGNALS}
    failures = _or_none(read[Signal.FAILURES])
    ended = read[Signal.COMPLETIONS] + failures
    offered = np.maximum(ended + _or_none(read[Signal.REFUSALS]) + _growth(read), 0.0)
    for arrivals in (read[Signal.ARRIVALS], read[Signal.ROUTER_ARRIVALS]):
        offered = np.where(np.isnan(arrivals), offered, arrivals)
    mix = _trailing_ratios(ended, (read[Signal.PROMPT_TOKENS], read[Signal.OUTPUT_TOKENS]))
    return DemandHistory(
        workload=buckets.workload,
        start_s=buckets.start_s,
        requests_per_s=np.where(_is_retried(ended, failures), np.nan, offered) / BUCKET_S,
        prompt_tokens=mix[0],
        output_tokens=mix[1],
        is_censored=_is_censored(read),
    )


def _or_none(rare: Floats) -> Floats:
    """Take what is counted as zero where there is no series: it begins with the first of its kind.

    A scrape that failed leaves the common counters unknown as well, so that nothing unknown becomes zero.
    """
    return np.nan_to_num(rare, nan=0.0)


def _growth(read: Mapping[Signal, Floats]) -> Floats:
    """Return by how much more is in flight; of a gauge that was never read nothing is known to grow."""
    gauges = [read[signal] for signal in (Signal.RUNNING, Signal.WAITING)]
    exported = [gauge for gauge in gauges if np.isfinite(gauge).any()]
    return sum((np.diff(gauge, prepend=np.nan) for gauge in exported), np.zeros(len(gauges[0])))


def _is_retried(ended: Floats, failures: Floats) -> Bools:
    """Return where the share of requests that failed is far above the usual."""
    if not failures.any():
        return np.zeros(len(failures), dtype=np.bool_)
    share = np.divide(failures, ended, out=np.full_like(ended, np.nan), where=ended >= MIX_REQUESTS)
    usual = pd.Series(share).rolling(USUAL_BUCKETS, min_periods=1).quantile(0.1).to_numpy()
    return share > usual + RETRIED


def _is_censored(read: Mapping[Signal, Floats]) -> Bools:
    """A queue at both ends of a bucket stood all through it; one at its end alone is a burst being served."""
    is_queued = (read[Signal.WAITING] > 0) | (read[Signal.ROUTER_WAITING] > 0)
    is_refusing = (read[Signal.REFUSALS] > 0) | (read[Signal.ROUTER_REFUSALS] > 0)
    is_standing = is_queued & np.concatenate((is_queued[:1], is_queued[:-1]))
    return is_standing | is_refusing | (read[Signal.KV_USE] > KV_FULL)


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
