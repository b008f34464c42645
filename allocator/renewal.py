"""What a target becomes as needs change: one workload after the other, by its prices.

Most of what changes between two packings is the need of a few workloads. They need not wait for the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from allocator.decide import Question
from allocator.packing.cards import Seat
from allocator.packing.columns import Prices, value
from allocator.packing.fastpath import Stand, adjust
from allocator.packing.pack import Packing
from allocator.packing.pricing import cheapest, prices_to
from allocator.packing.room import Mix, chances
from allocator.packing.standing import standing_on
from allocator.packing.tableau import Tableau, tableau_of
from allocator.reshape import WORTHWHILE_GPU
from allocator.target import Target, cards_of, problem_of
from fleet.shape import Configuration
from fleet.workload import Mode, WorkloadKey

MOST_CHANGES = 32
"""Workloads that are gone through at most: to pack the fleet anew takes no longer than more of them."""


def renewed(aim: Target, question: Question) -> Mapping[WorkloadKey, Configuration]:
    """Return the goals of a target, with those chosen anew that do not fit what must be kept now.

    A goal fits that carries the need, and costs no tenth of a card more than the cheapest that does, at the
    prices of the target's packing. Another is what the workload should run on at these prices, on the cards
    as they stand, one after the other: those first that are dearest to leave short. Where there is no room
    for any, and where cards or limits are of other kinds than then, the goal stays: it is for others to see
    that it does not fit. So does the goal of those that no plan would lead to another now.
    """
    if aim.packing is None:
        return aim.goals
    problem = problem_of(question)
    cards = cards_of(question.fleet, problem.stocks)
    now, then = tableau_of(standing_on(problem, cards, recut=0.0, restart=0.0)), aim.packing.tableau
    pieces = [[stock.pieces for stock in one.problem.stocks] for one in (now, then)]
    limits = [[limit.name for limit in one.limiting] for one in (now, then)]
    if pieces[0] != pieces[1] or limits[0] != limits[1]:
        return aim.goals
    prices, goals = aim.packing.worth, dict(aim.goals)
    teams = question.room.teams
    stand = Stand(cards, question.fleet.hosts, teams, _mixes(aim.packing))
    mode_of = {workload.key: workload.mode for workload in question.workloads}
    asks = {row: now.problem.asks[row] for row in _unfit(now, prices, aim, question)}
    led = (row for row, ask in asks.items() if _is_led(ask.key, mode_of[ask.key], question))
    for row in sorted(led, key=lambda row: -asks[row].penalty)[:MOST_CHANGES]:
        ask = asks[row]
        adjustment = adjust(problem.stocks, ask, prices_to(now, row, prices), stand)
        if adjustment is not None:
            after = stand.after(ask, adjustment)
            held = (seat.shape for card in after.cards for seat, key in card.held.items() if key == ask.key)
            goals[ask.key] = Configuration(Counter(held))
            if mode_of[ask.key].may_add:  # what is advice takes no room, nor gives any
                stand = after
    return goals


def _is_led(key: WorkloadKey, mode: Mode, question: Question) -> bool:
    """Return whether a plan may take a workload to another goal now: what it leaves is room for others."""
    standing = question.fleet.standing(key)
    is_on_its_way = standing is not None and standing.moving_to is not None
    return not (is_on_its_way or mode is Mode.SCALE_UP_ONLY or question.needs[key, 0].distrust)


def _mixes(packing: Packing) -> dict[int, Mix]:
    """Return what profiles the packing takes by stock: it is made for what is expected, not for what runs."""
    taken, mixes = packing.packed.columns.counts.sum(axis=0).tolist(), {}
    for index, stock in enumerate(packing.tableau.problem.stocks):
        mine = zip(stock.pieces, taken[packing.tableau.offsets[index] :], strict=False)
        mixes[index] = chances({piece.profile: n for piece, n in mine if Seat(piece).is_mig})
    return mixes


def _unfit(now: Tableau, prices: Prices, aim: Target, question: Question) -> Iterator[int]:
    """Yield the workloads that could be carried, and whose goals do not do it or cost too much for it."""
    columns = cheapest(now, prices)
    pieces = [piece for stock in now.problem.stocks for piece in stock.pieces]
    for row, least in zip(columns.ask.tolist(), value(columns, prices).tolist(), strict=True):
        ask, goal = now.problem.asks[row], aim.goals.get(now.problem.asks[row].key)
        if goal is None or question.offers[ask.key].short(goal, ask.work):
            yield row
            continue
        cost = sorted(zip(pieces, prices_to(now, row, prices).tolist(), strict=True), key=lambda one: -one[1])
        of = dict(cost)  # the fault domain where it costs least comes last
        if sum(n * of[shape] for shape, n in goal.counts.items()) > least + WORTHWHILE_GPU:
            yield row
