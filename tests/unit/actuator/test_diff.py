"""From where a workload stands to where it should go."""

from dataclasses import dataclass, replace

import pytest

from actuator.diff import diff
from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.restraints import DisruptionBudget
from fleet.rollout import Rollout
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

KEY = WorkloadKey("llm", "llama")
WHOLE, LARGE, SMALL = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")
AMPERE = Shape("a100-80gb", "1g.10gb")


@dataclass(frozen=True)
class Goal:
    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...] = ("peak ahead", "in 5 min")


def variant(name, shape, wanted, *, is_base=False):
    return Variant(name, shape, wanted, f"v-{name}", is_base)


BASE = variant("llama", LARGE, 2, is_base=True)
COPY = variant("llama-1g-10gb", SMALL, 3)
BESIDE = replace(variant("by-owner", SMALL, 0), is_beside=True)


def fleet(*variants):
    standings = (Standing(KEY, variants),) if variants else ()
    return Fleet("1", (), (), (), standings)


def steps(variants, goal):
    [change] = diff(fleet(*variants), [Goal(KEY, Configuration(goal))], 0.0)
    return [(step.verb.value, step.variant, step.replicas, step.expects) for step in change.steps]


CASES = {
    "nothing to do": ([BASE], {LARGE: 2}, []),
    "more of the same": ([BASE], {LARGE: 5}, [("scale-up", "llama", 5, "v-llama")]),
    "less of the same": ([BASE], {LARGE: 1}, [("scale-down", "llama", 1, "v-llama")]),
    "nothing at all": ([BASE], {}, [("scale-down", "llama", 0, "v-llama")]),
    "a new shape beside": (
        [BASE],
        {LARGE: 2, SMALL: 1},
        [("create-variant", "llama-1g-10gb", 0, None), ("scale-up", "llama-1g-10gb", 1, None)],
    ),
    "another shape instead": (
        [BASE],
        {WHOLE: 1},
        [
            ("create-variant", "llama-whole", 0, None),
            ("scale-up", "llama-whole", 1, None),
            ("scale-down", "llama", 0, "v-llama"),
        ],
    ),
    "a copy that exists is not made again": (
        [BASE, variant("llama-1g-10gb", SMALL, 0)],
        {SMALL: 4},
        [("scale-up", "llama-1g-10gb", 4, "v-llama-1g-10gb"), ("scale-down", "llama", 0, "v-llama")],
    ),
    "a copy is found by its shape, whatever its name": (
        [BASE, variant("odd", SMALL, 1)],
        {LARGE: 2, SMALL: 2},
        [("scale-up", "odd", 2, "v-odd")],
    ),
    "a copy at zero is left as it is": ([BASE, variant("llama-1g-10gb", SMALL, 0)], {LARGE: 2}, []),
    "a shape that the owner has a Deployment of is asked for there, and no copy is made": (
        [BASE, BESIDE],
        {LARGE: 2, SMALL: 2},
        [("scale-up", "by-owner", 2, "v-by-owner")],
    ),
    "what the owner made is added to before a copy of that shape, and taken from after it": (
        [BASE, replace(BESIDE, wanted=1), COPY],
        {LARGE: 2, SMALL: 5},
        [("scale-up", "by-owner", 2, "v-by-owner")],
    ),
    "copies go first": (
        [BASE, replace(BESIDE, wanted=2), COPY],
        {LARGE: 2, SMALL: 1},
        [
            ("scale-down", "llama-1g-10gb", 0, "v-llama-1g-10gb"),
            ("scale-down", "by-owner", 1, "v-by-owner"),
        ],
    ),
    "one up, one down": (
        [BASE, COPY],
        {LARGE: 3, SMALL: 1},
        [("scale-up", "llama", 3, "v-llama"), ("scale-down", "llama-1g-10gb", 1, "v-llama-1g-10gb")],
    ),
    "the same profile of another board has another name": (
        [BASE],
        {LARGE: 2, AMPERE: 1},
        [
            ("create-variant", "llama-a100-80gb-1g-10gb", 0, None),
            ("scale-up", "llama-a100-80gb-1g-10gb", 1, None),
        ],
    ),
    "two Deployments of one shape count together": ([BASE, variant("twin", LARGE, 3)], {LARGE: 5}, []),
    "of two Deployments of one shape the base grows": (
        [BASE, variant("twin", LARGE, 3)],
        {LARGE: 6},
        [("scale-up", "llama", 3, "v-llama")],
    ),
    "of two Deployments of one shape the copy shrinks first": (
        [BASE, variant("twin", LARGE, 3)],
        {LARGE: 1},
        [("scale-down", "twin", 0, "v-twin"), ("scale-down", "llama", 1, "v-llama")],
    ),
}


@pytest.mark.parametrize(("variants", "goal", "expected"), CASES.values(), ids=CASES)
def test_steps(variants, goal, expected):
    assert expected == steps(variants, goal)


def test_a_name_that_is_taken_by_another_shape_gets_a_hash():
    """The base moved to another board; the copy of the old one still holds the short name."""
    base = variant("llama", Shape("a100-80gb", "3g.40gb"), 1, is_base=True)
    [create, scale] = steps([base, COPY], {base.shape: 1, SMALL: 3, AMPERE: 1})

    assert create[1] == scale[1]
    assert create[1].startswith("llama-1g-10gb-")


def test_a_change_set_says_from_where_to_where_and_when():
    [change] = diff(fleet(BASE, COPY), [Goal(KEY, Configuration({WHOLE: 1}))], 77.0)

    assert (KEY, 77.0) == (change.target, change.decided_at_s)
    assert {LARGE: 2, SMALL: 3} == change.start.counts
    assert {WHOLE: 1} == change.goal.counts
    assert change.is_reshape


def test_every_step_carries_the_reasons_in_one_line():
    [change] = diff(fleet(BASE), [Goal(KEY, Configuration({WHOLE: 1}))], 0.0)

    assert {"peak ahead; in 5 min"} == {step.reason for step in change.steps}


def test_a_target_that_is_there_gives_a_change_set_without_steps():
    [change] = diff(fleet(BASE), [Goal(KEY, Configuration({LARGE: 2}))], 0.0)

    assert () == change.steps


def test_a_target_that_the_fleet_does_not_have_gives_nothing():
    assert () == diff(fleet(), [Goal(KEY, Configuration({LARGE: 2}))], 0.0)


def test_change_sets_keep_the_order_of_the_targets():
    keys = [WorkloadKey("llm", name) for name in ("b", "a", "c")]
    seen = Fleet("1", (), (), (), tuple(Standing(key, (BASE,)) for key in sorted(keys)))

    assert keys == [change.target for change in diff(seen, [Goal(key, Configuration()) for key in keys], 0.0)]


def ready(variant, count):
    replica = Replica(
        "p", variant.name, variant.shape, None, is_ready=True, is_leaving=False, created_at_s=0.0
    )
    return replace(variant, replicas=(replica,) * count)


@pytest.mark.parametrize(
    ("allowed", "serving", "left"),
    [(9, 3, 0), (2, 3, 1), (1, 3, 2), (0, 3, 2), (0, 1, 0), (1, 2, 1)],
    ids=["all", "two", "one", "none, so that it is refused", "two are not ready", "one is not ready"],
)
def test_a_removal_takes_no_more_at_once_than_budgets_let_go(allowed, serving, left):
    copy = ready(COPY, serving)
    standing = Standing(KEY, (BASE, copy), budgets=(DisruptionBudget("web", allowed),))
    [change] = diff(Fleet("1", (), (), (), (standing,)), [Goal(KEY, Configuration({LARGE: 2}))], 0.0)
    assert [left] == [step.replicas for step in change.steps]
    assert Configuration({LARGE: 2}) == change.goal


def switched(variants, goal):
    own = replace(variants[0], rollout=Rollout(template="mig-3g", owners="mig-3g", version="v9"))
    one = Standing(KEY, (own, *variants[1:]), switches=True, may_have_variants=False)
    [change] = diff(Fleet("1", (), (), (), (one,)), [Goal(KEY, Configuration(goal))], 0.0)
    return [
        (step.verb.value, step.variant, step.shape, step.replicas, step.expects, step.template)
        for step in change.steps
    ]


SWITCHES = {
    "all of them": ({SMALL: 2}, [("switch", "llama", SMALL, 2, "v9", "mig-3g")]),
    "more first": (
        {SMALL: 5},
        [("scale-up", "llama", LARGE, 5, "v-llama", ""), ("switch", "llama", SMALL, 5, "v9", "mig-3g")],
    ),
    "fewer afterwards": ({SMALL: 1}, [("switch", "llama", SMALL, 2, "v9", "mig-3g")]),
    "more of the same": ({LARGE: 3}, [("scale-up", "llama", LARGE, 3, "v-llama", "")]),
    "fewer of the same": ({LARGE: 1}, [("scale-down", "llama", LARGE, 1, "v-llama", "")]),
    "there": ({LARGE: 2}, []),
}


@pytest.mark.parametrize(("goal", "expected"), SWITCHES.values(), ids=SWITCHES)
def test_a_deployment_that_is_switched_goes_as_a_whole_and_no_copy_is_made(goal, expected):
    assert expected == switched([BASE], goal)
