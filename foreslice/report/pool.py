"""What a standby pool took and gave in a replay, in words, rows and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np

from foreslice.replayed import Policy, Replayed
from foreslice.standby.diary import PoolDay
from predictor.ports import Floats
from simulator.traffic import MINUTE_S

HEAD = ("pool GPU-hours", "wakes", "by sleepers", "short")

USERS_HEAD = ("tenant", "wakes", "minutes awake", "requests")

SPANS_TOLD = 5
"""Times in which a pool was short that are told in words."""


def cells(day: Replayed) -> tuple[str, ...]:
    """Return the pool's part of a policy's row, under `HEAD`."""
    if day.pool is None:
        return ("-",) * len(HEAD)
    account = day.pool.account
    return (
        f"{account.gpu_hours:.1f}",
        str(account.wakes),
        f"{account.served_share:.2%}",
        f"{day.pool.short_share:.1%}",
    )


def user_rows(pool: PoolDay) -> list[tuple[str, ...]]:
    """Return one row a workload that used it, most requests first, under `USERS_HEAD`."""
    used = [(key, use) for key, use in pool.account.uses.items() if use.wakes or use.hours]
    used.sort(key=lambda entry: -entry[1].requests)
    return [(key.name, str(use.wakes), f"{60 * use.hours:.0f}", f"{use.requests:.0f}") for key, use in used]


def readings(by_policy: Mapping[Policy, Replayed]) -> Iterator[str]:
    """Yield what a pool took, gave and saved beside the same policy without one, one sentence each."""
    for policy, day in by_policy.items():
        if day.pool is None:
            continue
        yield _use(day, day.pool)
        if (alone := by_policy.get(policy.alone)) is not None:
            yield _beside(day, alone)


def as_json(day: Replayed) -> dict[str, Any] | None:
    """Return the same for scripts, `None` without a pool."""
    pool = day.pool
    if pool is None:
        return None
    return {
        "gpu_hours": round(pool.account.gpu_hours, 4),
        "slices": int(pool.slices.max()),
        "wakes": pool.account.wakes,
        "longest_wake_s": max(pool.wakes_s, default=None),
        "stuck": pool.stuck,
        "collisions": pool.collisions,
        "served_share": round(pool.account.served_share, 6),
        "short_share": round(pool.short_share, 6),
        "short": [
            {"from_s": from_s, "until_s": until_s, "slices": most}
            for from_s, until_s, most in _short(day.minutes_s, pool)
        ],
        "uses": {
            str(key): {
                "wakes": use.wakes,
                "hours": round(use.hours, 4),
                "requests": round(use.requests),
            }
            for key, use in pool.account.uses.items()
        },
    }


def _use(day: Replayed, pool: PoolDay) -> str:
    account = pool.account
    users = ", ".join(name for name, *_ in user_rows(pool)) or "nobody"
    woke = f", {max(pool.wakes_s):.0f} s at most" if len(pool.wakes_s) else ""
    spans = _short(day.minutes_s, pool)
    when = ", ".join(f"{_clock(from_s)} to {_clock(until_s)}" for from_s, until_s, _ in spans[:SPANS_TOLD])
    more = f" and {len(spans) - SPANS_TOLD} times more" if len(spans) > SPANS_TOLD else ""
    short = f"short in {pool.short_share:.1%} of the minutes ({when}{more})" if spans else "never short"
    failed = f" Engines that stuck: {pool.stuck}; two awake at once: {pool.collisions}."
    return (
        f"With {day.policy} the pool's slices, {pool.slices.max()} at most, are {account.gpu_hours:.1f} of "
        f"{day.summary.gpu_hours:.1f} GPU-hours, paid whether they serve or not. They served "
        f"{account.served_share:.2%} of the requests in {account.wakes} wakes{woke}, for {users}, and were "
        f"{short}.{failed}"
    )


def _beside(day: Replayed, alone: Replayed) -> str:
    with_it, without = day.summary, alone.summary
    return (
        f"Against {alone.policy}, the same without a pool, {day.policy} took "
        f"{with_it.gpu_hours / without.gpu_hours:.2f} of the GPU-hours, at {with_it.attainment:.2%} "
        f"attainment against {without.attainment:.2%} and with {with_it.unserved_share:.3%} of the work "
        f"unserved against {without.unserved_share:.3%}."
    )


def _short(minutes_s: Floats, pool: PoolDay) -> Sequence[tuple[int, int, int]]:
    """Return the times in which slices were asked for in vain: from, until, and how many at most."""
    minutes = zip(minutes_s.astype(np.int64).tolist(), pool.short.tolist(), strict=True)
    spans = [list(span) for is_short, span in groupby(minutes, key=lambda one: one[1] > 0) if is_short]
    return [(span[0][0], span[-1][0] + MINUTE_S, max(many for _, many in span)) for span in spans]


def _clock(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%d %H:%M")
