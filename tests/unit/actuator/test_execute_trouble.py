"""What goes wrong on the way of a change set: no answer, refusals, newer goals, cut-off records."""

import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.outcome import Outcome
from fleet.change import StepState
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Configuration
from tests.builders.execution import (
    LARGE,
    LLAMA,
    MISTRAL,
    WHOLE,
    Process,
    goal,
    llama,
    standing,
    states,
    terms,
)
from tests.fakes.cluster import FakeCluster


def test_without_an_answer_of_the_cluster_everything_is_held():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)
    cluster.broken["view"] = True

    [result] = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert (Outcome.HELD, "the API server does not answer") == (result.outcome, result.reason)


ERRORS = [ConflictError("changed meanwhile"), UnavailableError("timed out"), RefusedError("quota exceeded")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_one_workload_is_its_own(error):
    cluster = llama().add(MISTRAL, LARGE, 1)
    cluster.fail(LLAMA, error)

    results = Process(cluster).tick(goal({LARGE: 3}), goal({LARGE: 3}, MISTRAL))

    assert [("scale-up", Outcome.FAILED, str(error)), ("scale-up", Outcome.DONE, "peak ahead")] == results


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_when_the_error_is_gone_the_next_tick_does_it(error):
    cluster = llama()
    process = Process(cluster)
    cluster.fail(LLAMA, error)
    process.tick(goal({LARGE: 3}))
    cluster.fail(LLAMA, None)

    process.tick(goal({LARGE: 3}))

    assert {LARGE: 3} == standing(cluster).wanted.counts
    assert [["Done"]] == states(cluster)


class Flaky(FakeCluster):
    """Fails the named verb with an error, before or after the write took effect."""

    def __init__(self, verb, error, *, after=False, **options):
        super().__init__(**options)
        self.flaky = {verb: error}
        self.after = after

    def _flake(self, verb, call):
        if verb in self.flaky and not self.after:
            raise self.flaky[verb]
        answer = call()
        if verb in self.flaky:
            raise self.flaky[verb]
        return answer

    def create_variant(self, workload, name, shape):
        return self._flake("create_variant", lambda: super(Flaky, self).create_variant(workload, name, shape))

    def scale(self, workload, variant, replicas, *, expects):
        return self._flake(
            "scale", lambda: super(Flaky, self).scale(workload, variant, replicas, expects=expects)
        )

    def finish_step(self, *args):
        return self._flake("finish_step", lambda: super(Flaky, self).finish_step(*args))


def test_a_write_that_is_refused_is_recorded_as_failed_with_the_reason():
    cluster = Flaky("scale", RefusedError("exceeded quota"))
    cluster.add(LLAMA, LARGE, 1)

    Process(cluster).tick(goal({LARGE: 2}))

    [plan] = cluster.plans(LLAMA)
    assert [(StepState.FAILED, "exceeded quota")] == [(step.state, step.note) for step in plan.steps]


def test_without_an_answer_to_a_write_the_step_stays_claimed():
    """Nobody knows whether it got through."""
    cluster = Flaky("scale", UnavailableError("timed out"))
    cluster.add(LLAMA, LARGE, 1)

    Process(cluster).tick(goal({LARGE: 2}))

    assert [["Claimed"]] == states(cluster)


def test_a_write_that_got_through_without_an_answer_is_found_done():
    cluster = Flaky("scale", UnavailableError("timed out"), after=True)
    cluster.add(LLAMA, LARGE, 1)
    process = Process(cluster)
    process.tick(goal({LARGE: 2}))
    cluster.flaky = {}

    assert [] == process.tick(goal({LARGE: 2}))

    assert [["Done"]] == states(cluster)
    assert 1 == len(cluster.scaled)


def test_a_write_that_got_through_though_its_answer_says_conflict_is_done():
    """A client that tries again after a time-out meets its own first try."""
    cluster = Flaky("scale", ConflictError("changed meanwhile"), after=True)
    cluster.add(LLAMA, LARGE, 1)

    results = Process(cluster).tick(goal({LARGE: 2}))

    assert [("scale-up", Outcome.DONE, "peak ahead")] == results
    assert [["Done"]] == states(cluster)


def test_a_step_that_could_not_be_finished_is_finished_later():
    cluster = Flaky("finish_step", UnavailableError("timed out"))
    cluster.add(LLAMA, LARGE, 1)
    process = Process(cluster)
    process.tick(goal({LARGE: 2}))
    cluster.flaky = {}

    process.tick(goal({LARGE: 2}))

    assert [["Done"]] == states(cluster)


def test_a_copy_that_could_not_be_made_is_not_scaled():
    cluster = Flaky("create_variant", RefusedError("no card of the fleet is a h100-80gb"))
    cluster.add(LLAMA, LARGE, 1)

    results = Process(cluster).tick(goal({LARGE: 1, WHOLE: 1}))

    assert [
        ("create-variant", Outcome.FAILED, "no card of the fleet is a h100-80gb"),
        ("scale-up", Outcome.HELD, "llama-whole could not be created"),
    ] == results


def test_a_copy_that_could_not_be_made_holds_up_no_other_addition_of_its_workload():
    cluster = Flaky("create_variant", RefusedError("no"))
    cluster.add(LLAMA, LARGE, 1)

    results = Process(cluster).tick(goal({LARGE: 2, WHOLE: 1}))

    assert ("scale-up", Outcome.DONE, "peak ahead") in results
    assert {LARGE: 2} == standing(cluster).wanted.counts


class Slow(FakeCluster):
    """Writes are seen only in the next tick, as through a watch that lags."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seen = {}

    def tick(self):
        super().tick()
        self.seen = {}

    def view(self, workloads):
        asked = tuple(workloads)
        fresh = super().view(asked)
        return self.seen.setdefault(asked, fresh)


def test_what_is_not_read_back_yet_is_settled_when_it_is_seen():
    cluster = Slow()
    cluster.add(LLAMA, LARGE, 1)
    process = Process(cluster)

    first = process.tick(goal({LARGE: 2}))
    before = states(cluster)
    process.tick(goal({LARGE: 2}))

    assert [("scale-up", Outcome.UNCONFIRMED, "written, but not yet seen in the cluster")] == first
    assert ([["Claimed"]], [["Done"]]) == (before, states(cluster))


def test_a_goal_that_was_reached_before_is_settled_again_when_it_is_reached_again():
    """Someone took the replica away; the goal is the old one, the plan a new one."""
    cluster = Slow()
    cluster.add(LLAMA, LARGE, 2)
    process = Process(cluster)
    process.tick(goal({LARGE: 2}))
    cluster.scale(LLAMA, "llama", 1, expects=None)

    process.tick(goal({LARGE: 2}))
    process.tick(goal({LARGE: 2}))

    assert [["Done"]] == states(cluster)


def test_a_changed_deployment_is_not_written_on_an_old_version():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)
    cluster.scale(LLAMA, "llama", 3, expects=None)

    [result] = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert Outcome.FAILED is result.outcome
    assert {LARGE: 3} == standing(cluster).wanted.counts


def test_an_addition_never_lowers_what_someone_raised_meanwhile():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 2, WHOLE: 1})], 0.0)
    cluster.create_variant(LLAMA, "llama-whole", WHOLE)
    cluster.scale(LLAMA, "llama-whole", 4, expects=None)

    results = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert [Outcome.DONE, Outcome.DONE] == [result.outcome for result in results]
    assert {LARGE: 2, WHOLE: 4} == standing(cluster).wanted.counts


class Sinking(FakeCluster):
    """Loses a replica between the look at the start of a run and the one right before the write."""

    sinks = True

    def claim_step(self, plan, index, at_s):
        if self.sinks:
            self.restart_one()
        return super().claim_step(plan, index, at_s)


def test_the_gate_is_asked_again_right_before_a_removal():
    cluster = Sinking()
    cluster.add(LLAMA, LARGE, 3)

    results = Process(cluster).tick(goal({LARGE: 2}), held=terms(0.9))

    assert [
        ("scale-down", Outcome.HELD, "1 x 3g.40gb would be ready and carry 0.45, 0.90 must stay")
    ] == results
    assert [] == cluster.scaled
    assert [["Pending"]] == states(cluster)


def test_a_removal_held_at_the_last_moment_is_tried_again_by_the_same_plan():
    cluster = Sinking()
    cluster.add(LLAMA, LARGE, 3)
    process = Process(cluster)
    process.tick(goal({LARGE: 2}), held=terms(0.9))
    cluster.sinks = False

    process.tick(goal({LARGE: 2}), held=terms(0.9))

    assert [["Done"]] == states(cluster)


def test_a_newer_goal_supersedes_what_an_older_plan_still_wanted():
    process = Process(llama(ready_after=10))
    process.tick(goal({WHOLE: 1}), held=terms(0.9))

    process.tick(goal({LARGE: 2, WHOLE: 1}), held=terms(0.9))

    assert [["Done", "Done", "Superseded"]] == states(process.cluster)
    [plan] = process.cluster.plans(LLAMA)
    assert "the goal is" in plan.steps[2].note


def test_additive_steps_of_a_superseded_plan_stay():
    process = Process(llama(ready_after=10))
    process.tick(goal({WHOLE: 1}), held=terms(0.9))
    process.tick(goal({LARGE: 3}), held=terms(5.0))

    assert {LARGE: 3, WHOLE: 1} == standing(process.cluster).wanted.counts


def test_the_same_change_at_another_time_is_carried_out_again():
    """Its plan has the same name and says that all is done; the cluster says otherwise."""
    process = Process(llama())
    for counts in ({LARGE: 3}, {LARGE: 2}, {LARGE: 3}):
        for _ in range(3):
            process.tick(goal(counts))

    assert {LARGE: 3} == standing(process.cluster).wanted.counts
    assert 2 == len(states(process.cluster))


def test_no_more_than_20_plans_of_a_workload_are_kept_and_the_first():
    process = Process(llama())
    for replicas in range(3, 30):
        process.tick(goal({LARGE: replicas}))

    assert 21 == len(states(process.cluster))
    assert Configuration({LARGE: 2}) == process.cluster.plans(LLAMA)[-1].change.start
