"""One step on its way: which plan it is recorded in, the order of calls, what is judged anew."""

import pytest

from actuator.gate import Terms
from actuator.outcome import Outcome
from actuator.stepper import Stepper
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.shape import Configuration
from fleet.workload import Mode, Router
from tests.fakes.cluster import FakeCluster, Tripwire, key, mig

LLAMA = key("llama")
LARGE, SMALL, WHOLE = mig("3g.40gb"), mig("1g.10gb"), mig("whole")
TERMS = Terms(Mode.FULL, Router.WEIGHTED, 0, {LARGE: 0.45, SMALL: 0.1, WHOLE: 1.0}, 0.0)
CREATE = Step(Verb.CREATE_VARIANT, "llama-whole", WHOLE, 0, None, "why")
START = Step(Verb.SCALE_UP, "llama-whole", WHOLE, 1, None, "why")
AT_S = 50.0


def up(cluster, replicas):
    return Step(Verb.SCALE_UP, "llama", LARGE, replicas, version(cluster), "why")


def down(cluster, replicas):
    return Step(Verb.SCALE_DOWN, "llama", LARGE, replicas, version(cluster), "why")


def version(cluster, name="llama"):
    [found] = [v for v in cluster.view([LLAMA]).standing(LLAMA).variants if v.name == name]
    return found.version


def change(*steps, start=2, goal=None):
    return ChangeSet(LLAMA, Configuration({LARGE: start}), Configuration(goal or {LARGE: 5}), steps, 0.0)


def llama(replicas=2, **options):
    return FakeCluster(**options).add(LLAMA, LARGE, replicas)


def carry_out(cluster, kept, step, terms=TERMS):
    return Stepper(cluster, AT_S).carry_out(kept, step, terms)


def wanted(cluster):
    return dict(cluster.view([LLAMA]).standing(LLAMA).wanted.counts)


class Listening(Tripwire):
    """A cluster that notes which verbs of the port are called, in order."""

    def __init__(self, cluster):
        super().__init__(cluster, number=-1, after=False)
        self.heard = []

    def __getattr__(self, verb):
        if not verb.startswith("_"):
            self.heard.append(verb)
        return super().__getattr__(verb)


def test_an_addition_is_recorded_claimed_written_read_back_and_finished_in_this_order():
    cluster = llama()
    step = up(cluster, 5)
    listening = Listening(cluster)

    carry_out(listening, change(step), step)

    assert ["plans", "record", "claim_step", "scale", "view", "finish_step"] == listening.heard


def test_a_removal_looks_at_the_cluster_once_more_between_claim_and_write():
    cluster = llama()
    step = down(cluster, 1)
    listening = Listening(cluster)

    carry_out(listening, change(step), step)

    assert ["plans", "record", "claim_step", "view", "scale", "view", "finish_step"] == listening.heard


def test_a_plan_is_recorded_once_for_all_its_steps():
    cluster = llama()
    stepper = Stepper(cluster, AT_S)
    kept = change(CREATE, START, goal={LARGE: 2, WHOLE: 1})
    for step in kept.steps:
        stepper.carry_out(kept, step, TERMS)

    assert 1 == cluster.calls["record"]
    [plan] = cluster.plans(LLAMA)
    assert [(StepState.DONE, AT_S)] * 2 == [(step.state, step.at_s) for step in plan.steps]


def test_the_rest_of_a_change_goes_on_in_the_plan_that_began_it():
    """One tick later the start and the steps left are others, so a plan made anew would have another name."""
    cluster = llama()
    removal = down(cluster, 0)
    begun = change(CREATE, START, removal, goal={WHOLE: 1})
    for step in (CREATE, START):
        carry_out(cluster, begun, step)

    carry_out(cluster, change(removal, goal={WHOLE: 1}), removal)

    [plan] = cluster.plans(LLAMA)
    assert begun == plan.change
    assert {StepState.DONE} == {step.state for step in plan.steps}


@pytest.mark.parametrize(
    ("goal", "replicas"),
    [({LARGE: 5, WHOLE: 1}, 5), ({LARGE: 6}, 6)],
    ids=["another goal", "another goal and step"],
)
def test_a_plan_to_another_goal_is_not_gone_on_with(goal, replicas):
    cluster = llama()
    cluster.record(change(up(cluster, 5)))
    step = up(cluster, replicas)

    carry_out(cluster, change(step, goal=goal), step)

    assert 2 == len(cluster.plans(LLAMA))


def test_a_plan_to_the_same_goal_that_lacks_a_step_is_not_gone_on_with():
    cluster = llama()
    cluster.record(change(up(cluster, 5)))
    step = up(cluster, 4)

    carry_out(cluster, change(step), step)

    assert 2 == len(cluster.plans(LLAMA))


def test_the_first_replicas_of_a_new_copy_are_written_on_the_version_that_it_was_created_with():
    """Between the two someone may take the copy; what they wrote stays."""
    cluster = llama()
    kept = change(CREATE, START, goal={LARGE: 2, WHOLE: 1})
    carry_out(cluster, kept, CREATE)
    before = version(cluster, "llama-whole")

    result = carry_out(cluster, kept, START)

    assert Outcome.DONE is result.outcome
    assert before != version(cluster, "llama-whole")
    assert {LARGE: 2, WHOLE: 1} == wanted(cluster)


def test_what_is_done_already_is_not_written_again():
    cluster = llama()
    step = down(cluster, 1)
    cluster.scale(LLAMA, "llama", 1, expects=None)

    result = carry_out(cluster, change(step), step)

    assert Outcome.DONE is result.outcome
    assert 1 == len(cluster.scaled)


def test_a_workload_that_vanished_after_the_claim_is_not_written():
    cluster = llama()
    step = down(cluster, 1)
    cluster.delete(LLAMA)

    result = carry_out(cluster, change(step), step)

    assert (Outcome.FAILED, "the workload is gone") == (result.outcome, result.reason)


def test_a_copy_without_room_is_ordered_all_the_same():
    """Whether it fits is the scheduler's to say; until then its replica is pending and counts for nothing."""
    cluster = llama(room={LARGE: 2, WHOLE: 0})
    kept = change(CREATE, START, goal={LARGE: 2, WHOLE: 1})
    for step in kept.steps:
        assert Outcome.DONE is carry_out(cluster, kept, step).outcome
    cluster.tick()

    standing = cluster.view([LLAMA]).standing(LLAMA)
    assert {LARGE: 2, WHOLE: 1} == dict(standing.wanted.counts)
    assert {LARGE: 2} == dict(standing.ready.counts)
    assert [None] == [replica.device for replica in standing.variants[1].replicas]


def test_a_pending_replica_that_nobody_needs_is_taken_back():
    cluster = llama(room={LARGE: 2}).add(LLAMA, SMALL, 1, "llama-1g-10gb")
    cluster.scale(LLAMA, "llama", 3, expects=None)
    step = down(cluster, 2)

    result = carry_out(cluster, change(step, start=3), step)

    assert Outcome.DONE is result.outcome
    assert 2 == cluster.view([LLAMA]).standing(LLAMA).ready.counts[LARGE]
