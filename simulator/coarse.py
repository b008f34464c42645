"""Policies on whole fleets for days: replicas that are ready a lag after they were ordered.

The coarse one of two levels. There is no queue: work beyond what is ready goes unserved. A replica counts
from when it is ordered, as one that loads holds its slice, and until it is given up. Many settings of a
policy run at once, one row each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from predictor.ports import Bools, Floats

Counts = NDArray[np.int64]

_ROUND_OFF = 1e-9


@dataclass(frozen=True, slots=True)
class Stage:
    """What every policy faces.

    Attributes:
        work: Work that comes, by step and workload, never NaN.
        is_scored: Which of it counts, likewise.
        step_s: Length of a step.
        lag: Steps from an order to the replica being ready.
        piece: Work that one replica carries, by workload.
        cards: Cards that one replica takes, by workload.
        block: Steps in a block of the account.
    """

    work: Floats
    is_scored: Bools
    step_s: int
    lag: int
    piece: Floats
    cards: Floats
    block: int

    def replicas(self, work: Floats) -> Counts:
        """Return the replicas that carry work (..., workloads), at least one."""
        return np.maximum(np.ceil(work / self.piece - _ROUND_OFF), 1.0).astype(np.int64)


class Seen(NamedTuple):
    """What a policy may go by at the end of a step.

    Attributes:
        at: The step.
        work: Work that came in it, by workload.
        held: Replicas ordered, by setting and workload, those that are not ready included.
        ready: Replicas that were ready in it, likewise.
        load: Work over what was ready, likewise: above 1 it is more than they can carry.
    """

    at: int
    work: Floats
    held: Counts
    ready: Counts
    load: Floats


class Wish(NamedTuple):
    """What a policy wants, by setting and workload: below `up` replicas are added, above `keep` removed."""

    up: Counts
    keep: Counts


class Policy(Protocol):
    """Decides at the end of each step."""

    def begin(self, stage: Stage) -> Counts:
        """Forget everything, and return the replicas to begin with, by setting and workload."""
        ...

    def wish(self, seen: Seen) -> Wish:
        """Return what should be held from the next step on."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """What came of each setting, by setting, workload and block of time; only what is scored counts.

    Attributes:
        held: Cards x steps.
        lacked: Work x steps that went unserved.
        asked: Work x steps that came, by workload and block.
    """

    held: Floats
    lacked: Floats
    asked: Floats


def drive(policy: Policy, stage: Stage, on_step: Callable[[Counts], None] = lambda _: None) -> Account:
    """Return what comes of a policy's settings. Complexity: steps x settings x workloads x lag at worst.

    Args:
        policy: Who decides.
        stage: What it faces.
        on_step: Told at each step what is held in it.
    """
    held = policy.begin(stage)
    ordered: deque[Counts] = deque([held], maxlen=stage.lag + 1)
    steps, workloads = stage.work.shape
    blocks = -(-steps // stage.block)
    account = Account(
        held=np.zeros((len(held), workloads, blocks)),
        lacked=np.zeros((len(held), workloads, blocks)),
        asked=np.add.reduceat(
            np.where(stage.is_scored, stage.work, 0.0), np.arange(0, steps, stage.block), axis=0
        ).T,
    )
    ready = held
    for step in range(steps):
        on_step(held)
        work, counts = stage.work[step], stage.is_scored[step]
        lacked = np.maximum(work - ready * stage.piece, 0.0) * counts
        account.held[:, :, step // stage.block] += held * stage.cards * counts
        account.lacked[:, :, step // stage.block] += lacked
        wish = policy.wish(Seen(step, work, held, ready, work / (ready * stage.piece)))
        held = np.maximum(np.minimum(held, wish.keep), wish.up)
        ordered.append(held)
        ready = np.minimum.reduce(ordered)
    return account
