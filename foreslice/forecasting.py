"""How the running service forecasts one workload: the ladder, and the gate that it has to pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from allocator.need import Timing
from allocator.offers import offers_for
from capacity.catalogue import ModelSpec
from capacity.estimate import CapacityModel
from fleet.boards import Board
from fleet.workload import Workload
from foreslice.notches import Learnt
from foreslice.outlook import DEFAULT_MIX
from predictor.drift import DriftWatch
from predictor.ladder import Ladder
from predictor.learning import Train
from predictor.ports import Forecaster
from predictor.value.gate import HOUR_MIN, Gate, Terms


@dataclass(frozen=True, slots=True)
class GatedLadders:
    """Makes the forecaster of a workload.

    Attributes:
        train: Begins to make a learned rung.
        learnt: What forecasts of the workloads share.
        timing: Times that capacity is ordered and given up by.
        boards: Kinds of cards: by the smallest shape that carries it a workload grows and shrinks.
        models: Models by what workloads call them.
    """

    train: Train
    learnt: Learnt
    timing: Timing
    boards: Sequence[Board]
    models: Mapping[str, ModelSpec]

    def __call__(self, workload: Workload) -> Forecaster:
        """Return one that has seen nothing."""
        capacity = CapacityModel(self.boards, self.models)
        offers = offers_for(workload, self.boards, capacity, (DEFAULT_MIX,))
        terms = Terms(
            lead_s=lambda: self.learnt.leads_s.get(workload.key, self.timing.lead_s) + self.timing.tick_s,
            quiet_s=self.timing.quiet_s,
            quantile=lambda: self.learnt.notches.of(workload.tier),
            unserved=workload.tier.unserved_share,
            grain=min(offers.works.values(), default=0.0),
            fewest=workload.limits.min_replicas,
        )
        turn = crc32(str(workload.key).encode()) % HOUR_MIN
        return Ladder(workload.key, self.train, Gate(terms, turn), self.learnt.shelf, DriftWatch(turn))
