"""What an SLO costs on recorded demand: cards that follow it, and cards that are sized for its peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocator.offers import offers_for
from capacity.ask import capacity_of
from capacity.estimate import CapacityModel
from fleet.boards import Board
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import Workload
from foreslice.outlook import mean_mix
from predictor.ports import BUCKET_S, DemandHistory, Floats

_HOURS_PER_DAY = 24


@dataclass(frozen=True, slots=True)
class Bill:
    """What carrying a workload inside its SLO takes.

    Attributes:
        obstacle: Why nothing carries it; `None` if something does, and only then the rest is set.
        shape: The shape that takes least while it follows demand.
        requests_per_s: What one replica of it sustains at least, at the mean mix.
        mean_replicas: Replicas of it that follow demand, on average.
        peak_replicas: Replicas of it at the peak.
        following_gpu_hours: Card-hours a day where replicas follow demand without an error.
        static_gpu_hours: Card-hours a day where replicas of the best shape for that are sized for the peak.
    """

    obstacle: str | None
    shape: Shape | None = None
    requests_per_s: float = 0.0
    mean_replicas: float = 0.0
    peak_replicas: int = 0
    following_gpu_hours: float = 0.0
    static_gpu_hours: float = 0.0


def bill_of(
    workload: Workload,
    boards: Sequence[Board],
    capacity: CapacityModel,
    demand: DemandHistory,
    held_s: float,
) -> Bill:
    """Return the bill of a workload's SLO on its recorded demand; minutes that nobody knows are left out.

    Replicas are there for the largest work of the next `held_s`, as long as it takes to have and to keep
    them, and of one shape throughout. Capacities are lower bounds, the lower of the mean mix and the mix at
    the peak. Unlike in the service no target gives way: what a lone request misses on the reference has no
    bill.
    """
    mean = mean_mix(demand, slice(None))
    if mean is None:
        return Bill("no demand is known")
    work = capacity.work(workload, demand.requests_per_s, demand.prompt_tokens, demand.output_tokens)
    at_peak = int(np.nanargmax(work))
    peak = mean_mix(demand, slice(at_peak, at_peak + 1)) or mean
    if why := _out_of_reach(workload, boards, capacity, mean):
        return Bill(why)
    offers = offers_for(workload, boards, capacity, (mean, peak))
    if not offers.by_shape:
        return Bill("no shape of one card keeps it with 90 % confidence")
    needed, limits = _held(work, max(1, round(held_s / BUCKET_S))), workload.limits
    replicas = {
        shape: np.maximum(np.ceil(needed / offer.work), limits.min_replicas)
        for shape, offer in offers.by_shape.items()
    }
    allowed = [shape for shape, counts in replicas.items() if counts.max() <= limits.max_replicas]
    if not allowed:
        return Bill(f"takes more than the {limits.max_replicas} replicas that limits allow")

    def a_day(shape: Shape, count: float) -> float:
        return _HOURS_PER_DAY * count * offers.by_shape[shape].gpu_share

    # Of two at one price the one that carries more, as in decisions.
    best = min(
        allowed, key=lambda shape: (a_day(shape, replicas[shape].mean()), -offers.by_shape[shape].work)
    )
    full_rate = capacity.sustained(workload, capacity.reference(workload), mean)
    return Bill(
        None,
        best,
        full_rate * offers.by_shape[best].work,
        float(replicas[best].mean()),
        int(replicas[best].max()),
        a_day(best, float(replicas[best].mean())),
        min(a_day(shape, float(replicas[shape].max())) for shape in allowed),
    )


def _out_of_reach(
    workload: Workload, boards: Sequence[Board], capacity: CapacityModel, mix: Mix
) -> str | None:
    """Return why not even the reference keeps the SLO at a mix; `None` if it does."""
    reference = capacity.reference(workload)
    board = next(board for board in boards if board.id == reference.board)
    (answer,) = capacity_of(capacity.model(workload), board, [reference], mix, workload.slo)
    if answer.requests_per_s > 0:
        return None
    return answer.obstacle or f"a request alone misses it on {reference}: {answer.binding}"


def _held(work: Floats, buckets: int) -> Floats:
    """Return the largest work of the next buckets, for each bucket of which the work is known."""
    known = np.isfinite(work)
    ahead = np.concatenate([np.where(known, work, 0.0), np.zeros(buckets - 1)])
    peaks: Floats = np.lib.stride_tricks.sliding_window_view(ahead, buckets).max(axis=1)[known]
    return peaks
