"""What replicas use up beside cards: the GPUs of queues, and the CPU and memory of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allocator.market import charge
from allocator.packing.problem import Problem
from fleet.host import NOTHING
from fleet.ledgers.queues import SLACK_GPUS
from fleet.shape import Shape

GIB = 1 << 30

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Limit:
    """One thing that there is only so much of.

    Attributes:
        name: What it is; a limit of the same name at another time is the same limit.
        there: How much of it there is, with its unit.
        amount: How much may be taken.
        weights: What one replica of each workload takes for each unit of its piece, shape (n,).
        board: Kind of card whose replicas take of it, one unit a replica; `None` = all, as KAI counts them.
    """

    name: str
    there: str
    amount: float
    weights: NDArray[np.float64]
    board: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.there}"

    def of(self, piece: Shape) -> float:
        """Return the units that a replica on a piece takes."""
        return charge(piece) if self.board is None else float(piece.board == self.board)


def limits_of(problem: Problem) -> tuple[Limit, ...]:
    """Return the limits of a problem: queues, then nodes by kind of card."""
    return (*_of_queues(problem), *_of_nodes(problem))


def _of_queues(problem: Problem) -> Iterator[Limit]:
    for name, gpus in problem.queues.items():
        mine = [name in ask.queues for ask in problem.asks]
        # KAI asks a queue for up to a hundredth more than a share counts then.
        takes_shares = any(s.hundredths for ask in problem.asks if name in ask.queues for s in ask.works)
        amount = max(0.0, gpus - (SLACK_GPUS if takes_shares else 0.0))
        yield Limit(f"queue {name}", f"{gpus:g} GPUs", amount, np.array(mine, dtype=float))


def _of_nodes(problem: Problem) -> Iterator[Limit]:
    """Yield what all nodes with one kind of card have together, fault domains added up."""
    for board in sorted({stock.board.id for stock in problem.stocks}):
        hosts = [stock.host for stock in problem.stocks if stock.board.id == board]
        known = [host for host in hosts if host is not None]
        total = sum(known, NOTHING)
        cores = np.array([ask.host.cpu_m / MILLI for ask in problem.asks])
        gib = np.array([ask.host.memory_bytes / GIB for ask in problem.asks])
        of = f"of nodes with {board}"
        if len(known) == len(hosts) and cores.any():
            amount = max(0.0, total.cpu_m / MILLI)
            yield Limit(f"CPU {of}", f"{amount:g} cores", amount, cores, board)
        if len(known) == len(hosts) and gib.any():
            amount = max(0.0, total.memory_bytes / GIB)
            yield Limit(f"memory {of}", f"{amount:g} GiB", amount, gib, board)
