"""What becomes of steps that nobody finished."""

import pytest

from actuator.ports import PlanRecord, StepRecord
from actuator.settle import Settlement, is_there, settlements, writes
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

KEY = WorkloadKey("llm", "llama")
LARGE, SMALL = Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")
STANDING = Standing(KEY, (Variant("llama", LARGE, 2, "7", True), Variant("copy", SMALL, 3, "8", False)))


def step(verb, replicas=0, variant="copy", shape=SMALL, expects="8"):
    return Step(verb, variant, shape, replicas, expects, "why")


def change(*steps, goal=SMALL):
    return ChangeSet(KEY, Configuration({LARGE: 2}), Configuration({goal: 3}), steps, 0.0)


def record(kept, *states):
    return PlanRecord(kept, tuple(StepRecord(state, 0.0) for state in states), "1")


@pytest.mark.parametrize(
    ("expected", "verb", "replicas"),
    [
        (True, Verb.CREATE_VARIANT, 0),
        (True, Verb.SCALE_UP, 3),
        (True, Verb.SCALE_UP, 2),
        (False, Verb.SCALE_UP, 4),
        (True, Verb.SCALE_DOWN, 3),
        (True, Verb.SCALE_DOWN, 4),
        (False, Verb.SCALE_DOWN, 2),
    ],
)
def test_a_step_is_there_if_the_cluster_shows_at_least_what_it_is_for(expected, verb, replicas):
    assert expected is is_there(STANDING, step(verb, replicas))


def test_a_variant_that_does_not_exist_shows_nothing():
    assert not is_there(STANDING, step(Verb.CREATE_VARIANT, variant="other"))


def test_a_variant_of_another_shape_is_another_thing():
    assert not is_there(STANDING, step(Verb.CREATE_VARIANT, shape=LARGE))


def test_what_a_step_writes_does_not_depend_on_version_or_reason():
    assert writes(step(Verb.SCALE_UP, 3, expects="8")) == writes(step(Verb.SCALE_UP, 3, expects="9"))
    assert writes(step(Verb.SCALE_UP, 3)) != writes(step(Verb.SCALE_UP, 4))


UP, MORE = step(Verb.SCALE_UP, 3), step(Verb.SCALE_UP, 5)
DOWN = step(Verb.SCALE_DOWN, 0, "llama", LARGE, "7")
GOAL = "the goal is 3 x 1g.10gb now"

CASES = {
    "claimed and there": (UP, StepState.CLAIMED, (), [(StepState.DONE, "found done")]),
    "pending and there": (UP, StepState.PENDING, (), [(StepState.DONE, "found done")]),
    "claimed, not there, no longer wanted": (MORE, StepState.CLAIMED, (), [(StepState.SUPERSEDED, GOAL)]),
    "pending, not there, no longer wanted": (DOWN, StepState.PENDING, (), [(StepState.SUPERSEDED, GOAL)]),
    "claimed, not there, still wanted": (MORE, StepState.CLAIMED, (MORE,), []),
    "pending, still wanted": (DOWN, StepState.PENDING, (DOWN,), []),
    "wanted otherwise": (
        DOWN,
        StepState.PENDING,
        (step(Verb.SCALE_DOWN, 1, "llama", LARGE),),
        [(StepState.SUPERSEDED, GOAL)],
    ),
    "done stays done": (MORE, StepState.DONE, (), []),
    "failed stays failed": (UP, StepState.FAILED, (), []),
    "superseded stays superseded": (UP, StepState.SUPERSEDED, (), []),
}


@pytest.mark.parametrize(("kept", "state", "wanted", "expected"), CASES.values(), ids=CASES)
def test_how_a_step_ends(kept, state, wanted, expected):
    found = list(settlements(record(change(kept), state), change(*wanted), STANDING))

    assert [Settlement(0, *end) for end in expected] == found


def test_each_step_ends_by_itself():
    kept = record(change(UP, DOWN, MORE), StepState.CLAIMED, StepState.PENDING, StepState.CLAIMED)

    found = list(settlements(kept, change(DOWN), STANDING))

    assert [(0, StepState.DONE), (2, StepState.SUPERSEDED)] == [(end.index, end.state) for end in found]
