"""How fast a fleet may shrink, and when it must not: many workloads that fall at once are rarely demand.

A broken gateway, a renamed metric or a lost region looks like a fall of everything. Falls that the
forecast of an hour ago did not think possible hold up every removal once they are many or large; those
that it foresaw are only limited in pace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from fleet.boards import Board
from fleet.change import ChangeSet, Step
from fleet.cluster import Fleet, Standing
from fleet.shape import Configuration, Shape, slice_of
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class FallLimits:
    """What of a fleet may go within a time.

    Attributes:
        within_s: The time, in seconds.
        share: Share of the fleet's cards in use that may be given up in it, and by which an unforeseen fall
            stops every removal.
        workloads: An unforeseen fall of at least so many workloads stops every removal,
        workload_share: if they are more than this share of all.
    """

    within_s: float = 600.0
    share: float = 0.15
    workloads: int = 5
    workload_share: float = 0.2


NO_LIMITS = FallLimits(share=1e9, workloads=10**9)
"""What a plain executor goes by: everything may go at once."""


class Pace:
    """Judges removals of one run, given those of the last minutes. What it lets pass it counts.

    Args:
        fleet: The workloads that are looked after, and what was lately taken from them.
        changes: What is wanted now.
        unforeseen: Workloads whose fall the forecast of an hour ago did not think possible.
        at_s: Time of the run, seconds since the epoch.
        limits: What may go.
    """

    def __init__(
        self,
        fleet: Fleet,
        changes: Collection[ChangeSet],
        unforeseen: Collection[WorkloadKey],
        at_s: float,
        limits: FallLimits = NO_LIMITS,
    ) -> None:
        self._cards = CardShares(fleet.boards())
        self._limits = limits
        standings = {standing.key: standing for standing in fleet.standings}
        self._total = self._cards.total(standing.wanted for standing in standings.values())
        since_s = at_s - limits.within_s
        gone = {key: self._gone(standing, since_s) for key, standing in standings.items()}
        self._given_up = sum(gone.values())
        self._falls = self._falls_of(changes)
        self.breaker = self._breaker(gone, unforeseen, len(standings))

    def refusal(self, standing: Standing, step: Step) -> str | None:
        """Return why replicas may not go now, one line; `None` = they may; those that others replace may."""
        cards = self._given_up_by(standing, step)
        if not cards:
            return None
        if self.breaker:
            return self.breaker
        most, cards = self._limits.share * self._total, cards + self._given_up
        if self._given_up and cards > most:
            return f"{cards:.2f} cards would be given up in {self._minutes} min, {most:.2f} may be"
        return None

    def take(self, standing: Standing, step: Step) -> None:
        """Count a removal that goes ahead."""
        self._given_up += self._given_up_by(standing, step)

    @property
    def _minutes(self) -> str:
        return f"{self._limits.within_s / 60:g}"

    def _breaker(
        self,
        gone: Mapping[WorkloadKey, float],
        unforeseen: Collection[WorkloadKey],
        workloads: int,
    ) -> str:
        """Return what is wrong with the falls that nobody foresaw, empty = nothing."""
        lost = {key: gone.get(key, 0.0) + self._falls.get(key, 0.0) for key in unforeseen}
        fallen = [key for key, cards in lost.items() if cards]
        limits = self._limits
        are_many = len(fallen) >= limits.workloads and len(fallen) > limits.workload_share * workloads
        is_much = bool(fallen) and sum(lost.values()) >= limits.share * self._total
        if not (are_many or is_much):
            return ""
        cards = f"{sum(lost.values()):.2f} of {self._total:.2f} cards"
        return (
            f"fleet breaker: {len(fallen)} of {workloads} workloads would give up {cards} within "
            f"{self._minutes} min, which an hour ago was not thought possible"
        )

    def _falls_of(self, changes: Collection[ChangeSet]) -> dict[WorkloadKey, float]:
        cards = {change.target: self._net(change.start, change.goal) for change in changes}
        return {target: fall for target, fall in cards.items() if fall > 0}

    def _net(self, before: Configuration, after: Configuration) -> float:
        return self._cards.total([before]) - self._cards.total([after])

    def _gone(self, standing: Standing, since_s: float) -> float:
        lately = (fall for fall in standing.falls if fall.at_s > since_s)
        return sum(max(0.0, self._net(fall.lost, fall.gained)) for fall in lately)

    def _given_up_by(self, standing: Standing, step: Step) -> float:
        """Return the cards that a removal takes and nothing replaces."""
        wanted = next((v.wanted for v in standing.variants if v.name == step.variant), step.replicas)
        cards = self._cards.of(step.shape) * max(0, wanted - step.replicas)
        return min(cards, self._falls.get(standing.key, 0.0))


class CardShares:
    """What replicas take of cards.

    Args:
        boards: Kinds of cards; a shape of any other counts as a whole card.
    """

    def __init__(self, boards: Iterable[Board]) -> None:
        self._boards = {board.id: board for board in boards}
        self._shares: dict[Shape, float] = {}

    def of(self, shape: Shape) -> float:
        """Return the share of a card that one replica takes."""
        if shape not in self._shares:
            board = self._boards.get(shape.board)
            self._shares[shape] = slice_of(board, shape).gpu_share if board is not None else 1.0
        return self._shares[shape]

    def total(self, configurations: Iterable[Configuration]) -> float:
        """Return the cards that configurations take together."""
        return sum(self.of(shape) * n for held in configurations for shape, n in held.counts.items())
