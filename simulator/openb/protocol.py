"""The two replays: filled until nothing fits, and with pods that leave."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from allocator.shares.hosts import Host, Hosts, Spot
from allocator.shares.mix import WHOLE_MILLI, Ask, Mix
from allocator.shares.rule import LeastLoss, Rule
from simulator.openb.rivals import BestFit, Fgd, Random

DEMAND = 1.3
"""What the pods ask for in all, in terms of the cards: the authors' figure."""

_TYPICAL = 0.95
_LIFETIMES_BEFORE, _LIFETIMES_MEASURED = 2, 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one replay.

    Attributes:
        allocated_pct: Share of the cards that is allocated in the end; with pods that leave, the mean
            over the time that is measured.
        allocated_at_100_pct: The same once pods have asked for 100 %; `None` with pods that leave.
        refused_pct: Share of what was asked for in the time that is measured, in GPU, that did not fit.
    """

    allocated_pct: float
    allocated_at_100_pct: float | None
    refused_pct: float


MakeRule = Callable[[Sequence[Ask], Hosts, np.random.Generator], Rule]


RULES: dict[str, MakeRule] = {
    "random": lambda _pods, _hosts, rng: Random(rng),
    "best fit": lambda _pods, _hosts, _rng: BestFit(),
    "FGD": lambda pods, hosts, _rng: Fgd(typical(pods, _TYPICAL), hosts),
    "foreslice": lambda pods, hosts, _rng: LeastLoss(Mix(Counter(pods)), hosts),
}
"""Rules by name, best last; foreslice takes the whole list for the mix to come."""


def typical(pods: Sequence[Ask], share: float) -> Mix:
    """Return the mix of the commonest asks that make up `share` of the pods, memory left out, as FGD does."""
    counts = Counter(Ask(p.gpus, p.milli, p.cpu_milli, 0, p.products) for p in pods)
    kept: dict[Ask, float] = {}
    for ask, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if sum(kept.values()) >= share * len(pods):
            break
        kept[ask] = count
    return Mix(kept)


def arrivals(pods: Sequence[Ask], gpus: int, rng: np.random.Generator, demand: float = DEMAND) -> list[Ask]:
    """Return pods in random order until they ask for `demand` x the cards, beyond the list drawn again."""
    order = [pods[index] for index in rng.permutation(len(pods))]
    asked = np.cumsum([pod.gpu_milli for pod in order])
    target = demand * WHOLE_MILLI * gpus
    if asked[-1] >= target:
        return order[: int(np.searchsorted(asked, target)) + 1]
    total = int(asked[-1])
    while total < target:
        order.append(pods[int(rng.integers(len(pods)))])
        total += order[-1].gpu_milli
    return order


def fill(hosts: Sequence[Host], pods: Sequence[Ask], make: MakeRule, seed: int) -> Outcome:
    """Return what one rule allocates of an empty cluster; the seed gives order and draws."""
    order_rng, rule_rng = (np.random.default_rng([seed, part]) for part in range(2))
    left = Hosts(hosts)
    rule = make(pods, left, rule_rng)
    capacity = WHOLE_MILLI * sum(host.gpus for host in hosts)
    asked = allocated = 0
    at_100 = None
    for pod in arrivals(pods, capacity // WHOLE_MILLI, order_rng):
        spot = rule.spot(left, pod)
        asked += pod.gpu_milli
        if spot is not None:
            left.take(spot, pod)
            allocated += pod.gpu_milli
        if at_100 is None and asked >= capacity:
            at_100 = 100 * allocated / capacity
    return Outcome(100 * allocated / capacity, at_100, 100 * (1 - allocated / asked))


def churn(hosts: Sequence[Host], pods: Sequence[Ask], make: MakeRule, seed: int) -> Outcome:
    """Return what one rule keeps allocated when pods leave.

    Pods are drawn from the list one after the other; each that fits stays for an exponential time,
    counted in arrivals, whose mean makes what is offered 130 % of the cards. One that does not fit is
    lost. Two mean lifetimes pass before one is measured.
    """
    order_rng, rule_rng = (np.random.default_rng([seed, part]) for part in range(2))
    left = Hosts(hosts)
    rule = make(pods, left, rule_rng)
    capacity = WHOLE_MILLI * sum(host.gpus for host in hosts)
    lifetime = DEMAND * capacity * len(pods) / sum(pod.gpu_milli for pod in pods)
    first = round(_LIFETIMES_BEFORE * lifetime)
    last = first + max(1, round(_LIFETIMES_MEASURED * lifetime))
    leaving: list[tuple[float, int, Spot, Ask]] = []
    allocated = asked = placed = held = 0
    for now in range(last):
        while leaving and leaving[0][0] <= now:
            _, _, spot, pod = heapq.heappop(leaving)
            left.give_back(spot, pod)
            allocated -= pod.gpu_milli
        pod = pods[int(order_rng.integers(len(pods)))]
        ends_at = now + order_rng.exponential(lifetime)
        place = rule.spot(left, pod)
        if place is not None:
            left.take(place, pod)
            heapq.heappush(leaving, (ends_at, now, place, pod))
            allocated += pod.gpu_milli
        if now >= first:
            held += allocated
            asked += pod.gpu_milli
            placed += pod.gpu_milli * (place is not None)
    refused_pct = 100 * (1 - placed / asked) if asked else 0.0
    return Outcome(100 * held / (capacity * (last - first)), None, refused_pct)
