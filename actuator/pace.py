"""How fast a fleet may shrink, and when it must not: many workloads that fall at once are rarely demand.

A broken gateway, a renamed metric or a lost region looks like a fall of everything. Falls that the
forecast of an hour ago did not think possible hold up every removal once they are many or large; those
that it foresaw are only limited in pace.

A fall is what would no longer carry the peak of the last hour, weighed by the cards that it stands on.
Capacity that was idle then already, or that other shapes replace, is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from actuator.gate import Terms
from capacity.routing import carried
from fleet.cards import CardShares
from fleet.change import ChangeSet, Step, Verb
from fleet.cluster import Fleet, Standing
from fleet.shape import Configuration
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
        per_node: Workloads that may be losing replicas on one node at the same time.
    """

    within_s: float = 600.0
    share: float = 0.15
    workloads: int = 5
    workload_share: float = 0.2
    per_node: int = 4


NO_LIMITS = FallLimits(share=1e9, workloads=10**9, per_node=10**9)
"""What a plain executor goes by: everything may go at once."""


class Pace:
    """Judges removals of one run, given those of the last minutes. What it lets pass it counts.

    Args:
        fleet: The workloads that are looked after, and what was lately taken from them.
        changes: What is wanted now.
        terms: What holds for each of them; one without terms does not count.
        at_s: Time of the run, seconds since the epoch.
        limits: What may go.

    Attributes:
        at_s: Time of the run.
    """

    def __init__(
        self,
        fleet: Fleet,
        changes: Iterable[ChangeSet],
        terms: Mapping[WorkloadKey, Terms],
        at_s: float,
        limits: FallLimits,
    ) -> None:
        self.at_s = at_s
        self._changes = tuple(changes)
        self._terms = terms
        self._limits = limits
        self._fleet = fleet

    # In nearly all runs nothing is to go, and none of what follows is asked for.

    @cached_property
    def _cards(self) -> CardShares:
        return CardShares(self._fleet.boards())

    @cached_property
    def _standings(self) -> Mapping[WorkloadKey, Standing]:
        return {one.key: one for one in self._fleet.standings if one.key in self._terms}

    @cached_property
    def breaker(self) -> str:
        """Why nothing may shrink now, empty = it may."""
        falls = {c.target: self._fall(c.target, c.start, c.goal) for c in self._targeted}
        lost = {
            key: gone + falls.get(key, 0.0)
            for key, gone in self._gone.items()
            if not self._terms[key].is_fall_foreseen
        }
        return self._breaker(lost, len(self._standings))

    @property
    def _targeted(self) -> Iterator[ChangeSet]:
        return (change for change in self._changes if change.target in self._standings)

    @cached_property
    def _gone(self) -> Mapping[WorkloadKey, float]:
        """Cards that each workload has given up within the time."""
        since_s = self.at_s - self._limits.within_s
        return {key: self._gone_since(standing, since_s) for key, standing in self._standings.items()}

    @cached_property
    def _given_up(self) -> float:
        return sum(self._gone.values())

    @cached_property
    def _total(self) -> float:
        return self._cards.total(standing.wanted for standing in self._standings.values())

    def cut(self, change: ChangeSet, standing: Standing) -> ChangeSet:
        """Return a change whose removals take no more at once than may go, and one replica at least."""
        steps = tuple(
            self._cut(standing, step) if step.verb is Verb.SCALE_DOWN else step for step in change.steps
        )
        return replace(change, steps=steps)

    def refusal(self, standing: Standing, step: Step) -> str | None:
        """Return why replicas may not go now, one line; `None` = they may."""
        cards = self._falls_by(standing, step)
        if not cards:
            return None
        if self.breaker:
            return self.breaker
        if self._given_up and self._given_up + cards > self._most:
            cards += self._given_up
            return f"{cards:.2f} cards would be given up in {self._minutes} min, {self._most:.2f} may be"
        return None

    def take(self, standing: Standing, step: Step) -> None:
        """Count a removal that goes ahead."""
        self._given_up += self._falls_by(standing, step)

    @property
    def _most(self) -> float:
        return self._limits.share * self._total

    @property
    def _minutes(self) -> str:
        return f"{self._limits.within_s / 60:g}"

    def _cut(self, standing: Standing, step: Step) -> Step:
        wanted = _wanted(standing, step)
        while step.replicas < wanted - 1 and self._falls_by(standing, step) > self._most:
            step = replace(step, replicas=step.replicas + 1)
        return step

    def _breaker(self, lost: Mapping[WorkloadKey, float], workloads: int) -> str:
        """Return what is wrong with the falls that nobody foresaw, empty = nothing."""
        fallen: Collection[float] = [cards for cards in lost.values() if cards]
        limits = self._limits
        are_many = len(fallen) >= limits.workloads and len(fallen) > limits.workload_share * workloads
        is_much = bool(fallen) and sum(fallen) >= self._most
        if not (are_many or is_much):
            return ""
        return (
            f"fleet breaker: {len(fallen)} of {workloads} workloads would give up {sum(fallen):.2f} of "
            f"{self._total:.2f} cards within {self._minutes} min, which an hour ago was not thought possible"
        )

    def _gone_since(self, standing: Standing, since_s: float) -> float:
        """Return the cards that were given up since a time."""
        lately = (fall for fall in standing.falls if fall.at_s > since_s)
        return sum(self._fall(standing.key, fall.start, fall.left) for fall in lately)

    def _falls_by(self, standing: Standing, step: Step) -> float:
        """Return the cards that a removal, or a change of shape, gives up."""
        if step.verb is Verb.SWITCH:
            switched = Configuration({step.shape: _wanted(standing, step)})
            return self._fall(standing.key, standing.wanted, switched)
        fewer = step.replicas - _wanted(standing, step)
        return self._fall(standing.key, standing.wanted, standing.wanted.plus(step.shape, min(0, fewer)))

    def _fall(self, key: WorkloadKey, start: Configuration, end: Configuration) -> float:
        """Return the cards of `start` that carried what the last hour asked, and `end` would not carry."""
        terms = self._terms[key]
        before, after = (carried(held, terms.capacities, terms.router) for held in (start, end))
        lost = min(before, terms.hour_peak) - after
        return lost / before * self._cards.total([start]) if lost > 0.0 else 0.0


def _wanted(standing: Standing, step: Step) -> int:
    variant = standing.named(step.variant)
    return variant.wanted if variant is not None else step.replicas
