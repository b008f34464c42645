"""What other packers would do with the same fleet, each by its published rule.

A scheduler is told what each pod asks for; so workloads are first sized by the most work per part of a card,
with either as many of those as carry it, or one fewer and the smallest piece that carries the rest. Every
rival is given both and keeps the better.
"""

from collections import Counter
from math import ceil

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

from allocator.packing.first_fit import pack as first_fit_decreasing
from fleet.mig import Placement, free_starts, mask, undominated_counts
from fleet.shape import Shape, slice_of


def sized(problem, *, tail):
    """Profiles asked for, workload by workload in the order in which they come."""
    board = problem.stocks[0].board
    asked = []
    for one in problem.asks:
        per_card = {
            shape: work / slice_of(board, shape).gpu_share for shape, work in one.works.items() if work > 0
        }
        best = max(sorted(per_card), key=lambda shape: per_card[shape])
        replicas = max(1, ceil(one.work / one.works[best] - 1e-9))
        asked += [best.profile] * (replicas - 1)
        rest = one.work - (replicas - 1) * one.works[best]
        enough = [shape for shape, work in one.works.items() if work >= rest - 1e-9]
        smallest = min(sorted(enough), key=lambda shape: slice_of(board, shape).gpu_share)
        asked.append(smallest.profile if tail else best.profile)
    return asked


def cards_of_first_fit_decreasing(problem):
    """Largest first, each on the first card where it fits."""
    board = problem.stocks[0].board
    return min(len(first_fit_decreasing(board, Counter(sized(problem, tail=tail)))) for tail in (True, False))


def cards_of_hami(problem):
    """HAMi, GPU policy `binpack`: the card with the highest use of slots, cores and memory after placement.

    Score 10 x (slots + cores + memory used, each as a part); of the free placements the one that leaves the
    longest free run, then the most placements, then the higher start (Project-HAMi/HAMi
    docs/develop/scheduler-policy.md, pkg/scheduler/policy/gpu_policy.go; MIG placement since its PR 2855).
    """
    return min(_one_by_one(problem, tail, _hami_score, _hami_start) for tail in (True, False))


def cards_of_kai(problem):
    """KAI, `gpupack`: the card of which most is used; a fresh one scores 0 (pkg/scheduler/plugins/gpupack).

    Where on the card is not its choice: the first free start in published order.
    """
    return min(_one_by_one(problem, tail, _kai_score, _first_start) for tail in (True, False))


def _one_by_one(problem, tail, score, start_on):
    """Cards in use once every pod was placed as it came; cards cut alike are alike."""
    board = problem.stocks[0].board
    cards, fits, best_of = Counter(), {}, {}
    for profile in sized(problem, tail=tail):
        best = None
        for layout in cards:
            if (layout, profile) not in fits:
                free = free_starts(board, layout, profile)
                fits[layout, profile] = (
                    layout | {Placement(profile, start_on(board, layout, profile, free))} if free else None
                )
                best_of[layout, profile] = score(board, layout, profile)
            if fits[layout, profile] and (best is None or best_of[layout, profile] > best_of[best, profile]):
                best = layout
        if best is None:
            best = frozenset()
            start = start_on(board, best, profile, free_starts(board, best, profile))
            fits[best, profile], best_of[best, profile] = frozenset({Placement(profile, start)}), 0.0
            cards[best] += 1
        cards[best] -= 1
        cards[fits[best, profile]] += 1
        if not cards[best]:
            del cards[best]
    return sum(cards.values())


def _used(board, layout):
    held = [board.profile(placement.profile) for placement in layout]
    cores = sum(profile.compute_slices for profile in held) / board.compute_slices
    return cores, sum(profile.memory_slices for profile in held) / board.grid


def _hami_score(board, layout, profile):
    placed = [*layout, Placement(profile, 0)]
    cores, memory = _used(board, placed)
    return 10 * (len(placed) / board.compute_slices + cores + memory)


def _kai_score(board, layout, profile):
    return _used(board, layout)[1]


def _first_start(board, layout, profile, free):
    return min(free)


def _hami_start(board, layout, profile, free):
    def left(start):
        after = layout | {Placement(profile, start)}
        taken = 0
        for placement in after:
            taken |= mask(board, placement)
        runs = "".join("1" if taken >> unit & 1 else "0" for unit in range(board.grid)).split("1")
        survivors = sum(len(free_starts(board, after, p.name)) for p in board.profiles)
        return max(len(run) for run in runs), survivors, start

    return max(free, key=left)


def cards_of_plain_milp(problem, limit_s=20.0):
    """Pieces of workloads and cuts of cards as integers of one program; HiGHS, for `limit_s` of wall time."""
    board = problem.stocks[0].board
    names = [p.name for p in board.profiles if not p.media_extension]
    cuts = np.array(sorted(undominated_counts(board, names)))
    asks, kinds = len(problem.asks), len(names)
    rows = lil_array((kinds + asks, len(cuts) + asks * kinds))
    rows[:kinds, : len(cuts)] = cuts.T
    for n, one in enumerate(problem.asks):
        for k, name in enumerate(names):
            work = one.works.get(Shape(board.id, name), 0.0)
            if work:
                column = len(cuts) + n * kinds + k
                rows[k, column], rows[kinds + n, column] = -1.0, work
    needed = np.concatenate([np.zeros(kinds), [one.work for one in problem.asks]])
    cost = np.concatenate([np.ones(len(cuts)), np.zeros(asks * kinds)])
    found = milp(
        cost,
        constraints=LinearConstraint(rows.tocsr(), needed, np.inf),
        integrality=np.ones(cost.size),
        bounds=Bounds(0, np.inf),
        options={"time_limit": limit_s},
    )
    return round(found.fun) if found.x is not None else None
