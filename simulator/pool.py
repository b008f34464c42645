"""A pool of slices that sleeping engines of several workloads share: who gets them, and what that serves.

The coarse level: by step, no queue. A slice serves one workload at a time; the fullest are served first. The
pool reacts to the demand of the step itself, less the time that waking takes (vLLM's sleep mode wakes within
seconds, vllm-project/vllm pull request 22310); for that long, slices are where the step before needed them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts

_ROUND_OFF = 1e-9


@dataclass(frozen=True, slots=True)
class Excess:
    """Demand beyond what is ready, in slices of the pool, by step and workload.

    Attributes:
        full: Slices that are filled.
        part: What is left over, as part of a slice.
    """

    full: Counts
    part: Floats

    @classmethod
    def of(cls, lacked: Floats, piece: Floats | float) -> Excess:
        """Return the excess of work that found nothing ready, for slices that carry `piece` of each."""
        slices = lacked / piece
        full = np.floor(slices + _ROUND_OFF)
        part = np.where(slices - full > _ROUND_OFF, slices - full, 0.0)
        return cls(full.astype(np.int64), part)

    @property
    def needed(self) -> Counts:
        """Slices needed by each workload."""
        needed: Counts = self.full + (self.part > 0)
        return needed

    def among(self, members: Sequence[int], steps: slice) -> Excess:
        """Return the excess of some workloads in some steps."""
        return Excess(self.full[steps, members], self.part[steps, members])


def dealt(excess: Excess, slices: Counts) -> Counts:
    """Return the slices that each workload gets, by step; filled ones first, then the fullest.

    Args:
        excess: What is needed.
        slices: Slices that there are, by step.
    """
    gets = excess.needed
    is_short = gets.sum(axis=1) > slices
    full, part, there = excess.full[is_short], excess.part[is_short], slices[is_short, np.newaxis]
    before = np.cumsum(full, axis=1) - full
    order = np.argsort(-part, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[np.newaxis], axis=1)
    is_next = (full.sum(axis=1, keepdims=True) + rank < there) & (part > 0)
    gets[is_short] = np.clip(there - before, 0, full) + is_next
    return gets


def served(excess: Excess, gets: Counts, share_late: float) -> Floats:
    """Return what the pool serves, in slices, by step and workload.

    Args:
        excess: What is needed.
        gets: Slices that each workload gets, by step.
        share_late: Share of a step that waking takes, 0 to 1.
    """
    late = np.concatenate([gets[:1], gets[:-1]])
    wanted = excess.full + excess.part
    at_once = np.minimum(wanted, gets)
    total: Floats = (1.0 - share_late) * at_once + share_late * np.minimum(wanted, late)
    return total


def woken(gets: Counts) -> Counts:
    """Return how many slices were woken for each workload in each step."""
    more: Counts = np.maximum(np.diff(gets, axis=0, prepend=gets[:1]), 0)
    return more
