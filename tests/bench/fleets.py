"""Made-up fleets to pack, by named seeds: sizes, demands and capacities are drawn, nothing is measured.

Four in ten workloads take any slice, 35 % want 20 GB or more, 15 % want 40 GB, one in ten a whole card.
Demand is heavy-tailed (Pareto, shape 1.2) and adds up to nine tenths of the cards named. A slice carries less
than its part of a card, by a power between 1 and 1.35 of a mixture of its compute and its memory.
"""

from dataclasses import replace

import numpy as np

from allocator.packing.problem import Ask, Problem, Stock
from fleet.boards import A100_40GB, A100_80GB, H100_80GB
from fleet.shape import Shape, share_of
from fleet.workload import Limits, Router, WorkloadKey

SEEDS = range(20)
PROFILES = tuple(p.name for p in H100_80GB.profiles if not p.media_extension)
LEAST_GIB = (0, 19, 39, 79)
SHARES = (10, 15, 20, 25, 30, 40, 50)
KINDS = ((A100_40GB, 0.5, 0.4, 0.15), (A100_80GB, 0.7, 0.6, 0.25), (H100_80GB, 1.0, 1.0, 0.45))
"""Board, price, speed, and cards in each of two fault domains as a part of the workloads."""

SHARED_SPEED = 0.8
"""What is left of a card's speed where tenants share it without partitions."""

ANY_REPLICAS = Limits(0, 1_000_000)


def demands(rng, cards, workloads):
    """Work asked for, shape (workloads,)."""
    heavy = rng.pareto(1.2, workloads) + 1
    return heavy / heavy.sum() * cards * 0.9


def on_slices(seed, cards=1000, workloads=1000, router=Router.LEAST_LOADED):
    """One kind of card, as many as it takes, cut with MIG."""
    rng = np.random.default_rng(seed)
    work = demands(rng, cards, workloads)
    least = rng.choice(LEAST_GIB, workloads, p=[0.4, 0.35, 0.15, 0.1])
    power, mixture = rng.uniform(1.0, 1.35, workloads), rng.uniform(0, 1, workloads)
    asks = [
        Ask(
            WorkloadKey("bench", f"w{n:05d}"),
            float(work[n]),
            _slices(H100_80GB, least[n], mixture[n], power[n], 1.0),
            router,
            ANY_REPLICAS,
        )
        for n in range(workloads)
    ]
    return Problem((Stock(H100_80GB, profiles=PROFILES),), tuple(asks))


def shifted(problem, seed):
    """The same fleet later: each demand times a lognormal (sigma 0.15), and 3 % more of all."""
    rng = np.random.default_rng(seed + 1000)
    by = 1.03 * np.exp(0.15 * rng.standard_normal(len(problem.asks)))
    asks = [
        replace(one, work=one.work * factor) for one, factor in zip(problem.asks, by.tolist(), strict=True)
    ]
    return replace(problem, asks=tuple(asks))


def full(seed, workloads=1000):
    """Three kinds of cards with prices, two fault domains, three queues, a third of it on shares."""
    rng = np.random.default_rng(seed)
    work = demands(rng, workloads, workloads)
    asks = []
    for n in range(workloads):
        least = rng.choice(LEAST_GIB, p=[0.4, 0.35, 0.15, 0.1])
        power, mixture = rng.uniform(1.0, 1.35), rng.uniform(0, 1)
        is_shared = least < LEAST_GIB[-1] and rng.random() < 1 / 3 / 0.9
        works = {}
        for board, _, speed, _ in KINDS:
            works |= (
                _shared(board, least, power, speed)
                if is_shared
                else _slices(board, least, mixture, power, speed)
            )
        router = Router.EQUAL if rng.random() < 0.5 else Router.LEAST_LOADED
        spread, queues = bool(rng.random() < 0.3), (f"team-{rng.integers(3)}",) if is_shared else ()
        key = WorkloadKey("bench", f"w{n:05d}")
        asks.append(Ask(key, float(work[n]), works, router, ANY_REPLICAS, spread, queues))
    stocks = tuple(
        Stock(board, domain, price, int(workloads * part), shares=SHARES)
        for board, price, _, part in KINDS
        for domain in ("a", "b")
    )
    return Problem(stocks, tuple(asks), {f"team-{n}": float(workloads) for n in range(3)})


def _slices(board, least_gib, mixture, power, speed):
    """Work by MIG profile of at least so much memory, the largest always among them."""
    large = [p for p in board.profiles if p.memory_gib >= min(least_gib, board.profiles[-1].memory_gib)]
    part = {
        p.name: mixture * p.compute_slices / board.compute_slices
        + (1 - mixture) * p.memory_slices / board.grid
        for p in large
        if not p.media_extension
    }
    return {Shape(board.id, name): speed * float(one**power) for name, one in part.items()}


def _shared(board, least_gib, power, speed):
    """Work by share of a card with at least so much memory."""
    large = [share for share in SHARES if share / 100 * board.memory_gib >= min(least_gib, 20)]
    return {share_of(board, s): SHARED_SPEED * speed * float((s / 100) ** power) for s in large}


def tightened(problem, packing, part=0.97):
    """The same with queues that may use a little less than they would take."""
    taken = packing.packed.columns.charge.sum(axis=0).tolist()
    return replace(problem, queues={n: part * gpus for n, gpus in zip(problem.queues, taken, strict=True)})
