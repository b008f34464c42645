"""FractionPlans: what was decided, and how far it is."""

import json
from dataclasses import replace

import pytest

from actuator.objects.plans import (
    MAX_BYTES,
    fall_of,
    first,
    is_open,
    newest_first,
    plan_of,
    record_of,
    status_of,
    target_labels,
    to_delete,
    touched_at_s,
)
from actuator.ports import PlanRecord, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.errors import RefusedError
from fleet.past import Fall
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey

KEY = WorkloadKey("llm", "llama")
LARGE, SMALL = Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")
UP = Step(Verb.SCALE_UP, "llama-1g-10gb", SMALL, 2, None, "peak ahead")
DOWN = Step(Verb.SCALE_DOWN, "llama", LARGE, 0, "7", "peak ahead")


def change(*steps, at_s=1000.0, goal=None):
    return ChangeSet(
        KEY, Configuration({LARGE: 1}), goal or Configuration({SMALL: 2}), steps or (UP, DOWN), at_s
    )


def record(*states, at_s=1000.0, touched=1000.0, goal=None):
    steps = tuple(replace(UP, replicas=n) for n in range(len(states)))
    return PlanRecord(
        change(*steps, at_s=at_s, goal=goal), tuple(StepRecord(s, touched) for s in states), "1"
    )


def test_what_a_plan_looks_like():
    body = plan_of(change())

    assert ("foreslice.dev/v1alpha1", "FractionPlan") == (body["apiVersion"], body["kind"])
    assert {
        "name": change().name,
        "namespace": "llm",
        "labels": {"app.kubernetes.io/managed-by": "foreslice", "foreslice.dev/target": "llama"},
    } == body["metadata"]
    assert {
        "target": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"},
        "decidedAt": "1970-01-01T00:16:40.000000Z",
        "start": [{"board": "h100-80gb", "profile": "3g.40gb", "count": 1}],
        "goal": [{"board": "h100-80gb", "profile": "1g.10gb", "count": 2}],
        "steps": [
            {
                "verb": "scale-up",
                "variant": "llama-1g-10gb",
                "shape": {"board": "h100-80gb", "profile": "1g.10gb"},
                "replicas": 2,
                "reason": "peak ahead",
            },
            {
                "verb": "scale-down",
                "variant": "llama",
                "shape": {"board": "h100-80gb", "profile": "3g.40gb"},
                "replicas": 0,
                "expects": "7",
                "reason": "peak ahead",
            },
        ],
    } == body["spec"]


def test_nothing_owns_a_plan_and_a_plan_owns_nothing():
    assert "ownerReferences" not in plan_of(change())["metadata"]


def test_a_plan_without_status_is_pending_since_it_was_decided():
    body = plan_of(change())
    body["metadata"]["resourceVersion"] = "5"

    kept = record_of(body)

    assert change() == kept.change
    assert (StepRecord(StepState.PENDING, 1000.0),) * 2 == kept.steps
    assert "5" == kept.version


def test_status_is_read_back_as_written():
    steps = (StepRecord(StepState.DONE, 1010.5), StepRecord(StepState.FAILED, 1020.0, "no room"))

    assert steps == record_of({**plan_of(change()), "status": status_of(steps)}).steps


def test_a_plan_of_64_kib_is_the_largest_that_is_written():
    size = len(json.dumps(plan_of(change(replace(UP, reason="")))).encode())
    fits, too_large = ("x" * (MAX_BYTES - size + more) for more in (0, 1))

    assert plan_of(change(replace(UP, reason=fits)))
    with pytest.raises(RefusedError, match=r"FractionPlan llama-\w+: 65537 bytes, at most 65536"):
        plan_of(change(replace(UP, reason=too_large)))


def test_labels_of_a_long_target_name_are_valid():
    labels = target_labels(WorkloadKey("llm", "x" * 100))

    assert 63 == len(labels["foreslice.dev/target"])


@pytest.mark.parametrize(
    ("expected", "states"),
    [
        (True, [StepState.PENDING]),
        (True, [StepState.DONE, StepState.CLAIMED]),
        (False, [StepState.DONE, StepState.FAILED, StepState.SUPERSEDED]),
        (False, []),
    ],
)
def test_a_plan_is_open_while_a_step_is_neither_done_nor_given_up(expected, states):
    assert expected is is_open(record(*states))


def test_a_plan_was_touched_when_decided_or_when_it_last_got_further():
    assert 1000.0 == touched_at_s(record(StepState.PENDING, at_s=1000.0, touched=900.0))
    assert 1200.0 == touched_at_s(record(StepState.DONE, at_s=1000.0, touched=1200.0))
    assert 1000.0 == touched_at_s(record(at_s=1000.0))


def kept_plans(count):
    return [
        record(StepState.DONE, touched=float(i), at_s=0.0, goal=Configuration({SMALL: i + 1}))
        for i in range(count)
    ]


def test_newest_first_is_by_what_happened_last():
    plans = kept_plans(3)

    assert [2.0, 1.0, 0.0] == [touched_at_s(plan) for plan in newest_first(plans)]


def test_plans_of_the_same_moment_have_one_order():
    plans = [record(StepState.DONE, goal=Configuration({SMALL: i + 1})) for i in range(5)]

    assert newest_first(plans) == newest_first(reversed(plans))


@pytest.mark.parametrize(("gone", "count"), [(0, 0), (0, 20), (1, 21), (5, 25)])
def test_the_last_20_of_a_target_are_kept(gone, count):
    plans = kept_plans(count)

    assert {plan.change.name for plan in plans[:gone]} == set(to_delete(plans))


def test_a_plan_decided_long_ago_but_still_worked_on_is_kept():
    """The same change at another time has the same name."""
    old = record(StepState.CLAIMED, at_s=0.0, touched=5000.0, goal=Configuration({LARGE: 9}))

    assert old.change.name not in to_delete([old, *kept_plans(30)])


def test_a_plan_of_another_version_is_read_where_both_agree():
    """Before readiness was noted, and after something was added that this version does not know."""
    steps = [
        {"state": "Done", "at": "1970-01-01T00:20:00Z"},
        {"state": "Claimed", "at": "1970-01-01T00:20:00Z"},
    ]
    body = plan_of(change())
    older = body | {"status": {"steps": steps}}
    newer = body | {
        "spec": {**body["spec"], "budget": "night"},
        "status": {"steps": [{**step, "cost": 3} for step in steps], "phase": "Moving"},
    }

    for kept in (record_of(older), record_of(newer)):
        assert (change().goal, [UP, replace(DOWN, expects=None)]) == (
            kept.change.goal,
            [replace(step, expects=None) for step in kept.change.steps],
        )
        assert [StepState.DONE, StepState.CLAIMED] == [step.state for step in kept.steps]
        assert is_open(kept)


@pytest.mark.parametrize(
    "trial",
    [
        Trial(600.0, proven_at_s=1.0),
        Trial(60.0),
        Trial(failures=3, because="too slow", until_s=1e9),
        Trial().without_room("no room", 100.0).without_room("still none", 1000.0),
    ],
)
def test_how_a_trial_goes_is_read_back_as_it_was_kept(trial):
    told = StepRecord(StepState.FAILED, 1000.0, trial=trial)
    body = plan_of(change(SWITCH)) | {"status": status_of([told])}
    assert trial == record_of(body).steps[0].trial


@pytest.mark.parametrize("trial", [Trial(600.0, proven_at_s=1.0), Trial(failures=3, until_s=1e9)])
def test_of_each_shape_the_newest_word_on_its_trial_is_kept_however_old(trial):
    plans = kept_plans(25)
    told = [replace(plan, steps=(replace(plan.steps[0], trial=trial),)) for plan in plans[:3]]
    kept = {plan.change.name for plan in plans} - set(to_delete([*told, *plans[3:]]))
    assert {plan.change.name for plan in (plans[2], first(plans), *plans[5:])} == kept


SWITCH = Step(Verb.SWITCH, "llama", SMALL, 2, "7", "peak ahead", "mig-3g")


def test_the_template_that_a_switch_goes_back_to_stays_with_its_step():
    assert change(SWITCH) == record_of(plan_of(change(SWITCH))).change
    assert change(SWITCH).name != change(replace(SWITCH, template="another")).name


def test_what_a_switch_leaves_is_of_the_new_shape_alone():
    up = Step(Verb.SCALE_UP, "llama", LARGE, 2, "6", "peak ahead")
    done = StepRecord(StepState.DONE, 1500.0)
    switched = PlanRecord(change(up, SWITCH), (done, done), "1")
    assert Fall(1500.0, Configuration({LARGE: 1}), Configuration({SMALL: 2})) == fall_of(switched)
    assert fall_of(replace(switched, steps=(done, StepRecord(StepState.CLAIMED, 1500.0)))) is None


@pytest.mark.parametrize(
    ("trial", "is_fall"),
    [(Trial().abandoned("it never served", 1500.0), True), (Trial().without_room("no room", 1500.0), False)],
    ids=["failed", "found no room"],
)
def test_a_switch_that_was_taken_back_counts_unless_no_replica_was_given_up_for_it(trial, is_fall):
    kept = StepRecord(StepState.FAILED, 1500.0, trial=trial)
    assert is_fall is (fall_of(PlanRecord(change(SWITCH), (kept,), "1")) is not None)
