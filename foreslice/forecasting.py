"""How the running service forecasts one workload: the ladder, and the gate that it has to pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from allocator.need import Timing
from allocator.offers import offers_for
from capacity.catalogue import ModelSpec
from capacity.estimate import CapacityModel
from fleet.boards import Board
from fleet.workload import Workload
from foreslice.outlook import DEFAULT_MIX
from predictor.ladder import Ladder
from predictor.learning import Train
from predictor.ports import Forecaster
from predictor.value.gate import HOUR_MIN, Gate, Terms


def gated_ladders(
    train: Train, timing: Timing, boards: Sequence[Board], models: Mapping[str, ModelSpec]
) -> Callable[[Workload], Forecaster]:
    """Return what makes the forecaster of a workload.

    Args:
        train: Begins to make a learned rung.
        timing: Times that capacity is ordered and given up by.
        boards: Kinds of cards: the smallest shape that carries a workload is what it grows and shrinks by.
        models: Models by what workloads call them.
    """
    capacity = CapacityModel(boards, models)

    def ladder(workload: Workload) -> Forecaster:
        offers = offers_for(workload, boards, capacity, (DEFAULT_MIX,))
        terms = Terms(
            lead_s=timing.lead_s + timing.tick_s,
            quiet_s=timing.quiet_s,
            quantile=workload.tier.demand_quantile,
            unserved=workload.tier.unserved_share,
            grain=min(offers.works.values(), default=0.0),
            fewest=workload.limits.min_replicas,
        )
        return Ladder(workload.key, train, Gate(terms, crc32(str(workload.key).encode()) % HOUR_MIN))

    return ladder
