"""How many changes that give replicas up are made within a time, of a workload and of the fleet."""

import pytest

from actuator.budgets import DAY_S, ChangeBudget, Kind, Per, kind_of
from actuator.outcome import Outcome
from fleet.change import Verb
from fleet.shape import Configuration
from tests.builders.execution import LARGE, LLAMA, MISTRAL, SMALL, WHOLE, Process, goal, llama

HOUR_S = 3600.0
TWICE = ChangeBudget(2, because="mornings are slow")


@pytest.mark.parametrize(
    ("kind", "start", "end"),
    [
        (Kind.REMOVE, {LARGE: 3}, {LARGE: 1}),
        (Kind.REMOVE, {LARGE: 3, SMALL: 1}, {LARGE: 3}),
        (Kind.RESHAPE, {WHOLE: 1}, {LARGE: 2}),
        (Kind.RESHAPE, {WHOLE: 3, LARGE: 1}, {LARGE: 3}),
    ],
)
def test_where_others_take_over_it_is_a_reshape(kind, start, end):
    assert kind is kind_of(Configuration(start), Configuration(end))


class Days:
    """A workload that is given a goal once an hour."""

    def __init__(self, budgets, replicas=9):
        self.process = Process(llama(replicas).add(MISTRAL, LARGE, replicas))
        self.budgets = budgets

    def hour(self, counts, workload=LLAMA):
        self.process.at_s += HOUR_S
        results = self.process.tick(goal(counts, workload), budgets=self.budgets)
        self.process.cluster.tick()
        return [(outcome, why) for verb, outcome, why in results if verb == Verb.SCALE_DOWN]


def test_what_goes_beyond_a_budget_waits_until_the_first_is_old_enough_and_says_for_what():
    day = Days((TWICE,))
    made = [day.hour({LARGE: replicas})[0] for replicas in (8, 7, 6)]
    assert [Outcome.DONE, Outcome.DONE, Outcome.HELD] == [outcome for outcome, _ in made]
    said = "budget: at most 2 removes or reshapes per workload within 24 h (mornings are slow), 2 were made"
    assert said == made[2][1]
    day.process.at_s += DAY_S - 3 * HOUR_S
    assert Outcome.DONE is day.hour({LARGE: 6})[0][0]


def test_of_another_workload_it_counts_only_where_it_is_the_fleets():
    for per, outcome in ((Per.WORKLOAD, Outcome.DONE), (Per.FLEET, Outcome.HELD)):
        day = Days((ChangeBudget(1, per=per),))
        assert Outcome.DONE is day.hour({LARGE: 8})[0][0]
        both = [goal({LARGE: 8}), goal({LARGE: 8}, MISTRAL)]
        results = day.process.tick(*both, budgets=day.budgets)
        assert [outcome] == [found for verb, found, _ in results if verb == Verb.SCALE_DOWN]


def test_two_of_one_run_are_counted_together():
    day = Days((ChangeBudget(1, per=Per.FLEET),))
    results = day.process.tick(goal({LARGE: 8}), goal({LARGE: 8}, MISTRAL), budgets=day.budgets)
    assert [Outcome.DONE, Outcome.HELD] == [outcome for _, outcome, _ in results]


def test_kinds_are_counted_apart_and_a_reshape_is_one_to_its_end():
    day = Days((ChangeBudget(0, kinds=frozenset({Kind.RESHAPE})),), replicas=2)
    assert Outcome.DONE is day.hour({LARGE: 1})[0][0]
    held = [day.hour({WHOLE: 1})[0] for _ in range(3)]
    assert {Outcome.HELD} == {outcome for outcome, _ in held}
    assert held[2][1].startswith("budget: at most 0 reshapes per workload")


def test_additions_are_not_counted_and_never_held_up():
    day = Days((ChangeBudget(0),), replicas=1)
    for replicas in range(2, 30):
        day.hour({LARGE: replicas})
    assert {LARGE: 29} == day.process.cluster.view([LLAMA]).standing(LLAMA).wanted.counts


def test_additions_beside_do_not_make_removals_forgotten():
    """Twenty plans are kept of each; those that took something away are kept beside them."""
    day = Days((TWICE,), replicas=4)
    for replicas in (3, 2):
        assert Outcome.DONE is day.hour({LARGE: replicas})[0][0]
    day.process.at_s -= 2 * HOUR_S
    for replicas in range(3, 30):
        day.process.at_s -= HOUR_S - 1.0
        day.hour({LARGE: replicas})
    assert Outcome.HELD is day.hour({LARGE: 5})[0][0]
