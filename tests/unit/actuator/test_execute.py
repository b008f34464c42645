"""Change sets carried out: lanes, limits, records, errors, dry run."""

from dataclasses import dataclass

import pytest

from actuator.diff import diff
from actuator.execute import Executor, is_moving
from actuator.gate import Terms
from actuator.guards import Halt
from actuator.outcome import Outcome
from actuator.settle import writes
from fleet.change import StepState, Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Configuration
from fleet.workload import Mode, Router, WorkloadKey
from tests.fakes.cluster import FakeCluster, key, mig

LLAMA, MISTRAL, QWEN = key("llama"), key("mistral"), key("qwen")
LARGE, SMALL, WHOLE = mig("3g.40gb"), mig("1g.10gb"), mig("whole")
CAPACITIES = {LARGE: 0.45, SMALL: 0.1, WHOLE: 1.0}
TICK_S = 10.0


@dataclass(frozen=True)
class Goal:
    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...] = ("peak ahead",)


def goal(counts, workload=LLAMA):
    return Goal(workload, Configuration(counts))


def terms(need_keep=0.0, *, minimum=0, mode=Mode.FULL, router=Router.WEIGHTED, distrust=()):
    return Terms(mode, router, minimum, CAPACITIES, need_keep, distrust)


class Process:
    """A process that turns the loop: diff, run, let a tick pass."""

    def __init__(self, cluster, **options):
        self.cluster = cluster
        self.executor = Executor(cluster, **options)
        self.at_s = 0.0

    def tick(self, *goals, held=None, **more):
        fleet = self.cluster.view([goal.workload for goal in goals])
        held = {goal.workload: held or terms() for goal in goals}
        results = self.executor.run(diff(fleet, goals, self.at_s), held, self.at_s, **more)
        self.cluster.tick()
        self.at_s += TICK_S
        return [(result.step.verb.value, result.outcome, result.reason) for result in results]


def states(cluster, workload=LLAMA):
    return [[step.state.value for step in plan.steps] for plan in cluster.plans(workload)]


def standing(cluster, workload=LLAMA):
    return cluster.view([workload]).standing(workload)


def llama(replicas=2, **options):
    return FakeCluster(**options).add(LLAMA, LARGE, replicas)


def test_an_addition_is_ordered_recorded_and_finished_in_its_tick():
    cluster = llama()

    results = Process(cluster).tick(goal({LARGE: 4}))

    assert [("scale-up", Outcome.DONE, "peak ahead")] == results
    assert {LARGE: 4} == standing(cluster).wanted.counts
    assert [["Done"]] == states(cluster)


def test_a_new_shape_is_created_scaled_and_takes_over_once_it_is_ready():
    """Nothing is removed before what replaces it serves."""
    process = Process(llama(ready_after=3))
    change = goal({WHOLE: 1})
    seen = [[outcome.name for _, outcome, _ in process.tick(change, held=terms(0.9))] for _ in range(6)]

    assert [
        ["DONE", "DONE", "HELD"],
        ["HELD"],
        ["HELD"],
        ["DONE"],
        [],
        [],
    ] == seen
    assert {WHOLE: 1} == standing(process.cluster).ready.counts


def test_one_plan_goes_all_the_way_of_a_change():
    """Half done it keeps its name, so that where a workload is going can be read from the cluster."""
    process = Process(llama(ready_after=2))
    names = set()
    for _ in range(6):
        process.tick(goal({WHOLE: 1}), held=terms(0.9))
        names |= {plan.change.name for plan in process.cluster.plans(LLAMA)}

    assert 1 == len(names)
    assert [["Done", "Done", "Done"]] == states(process.cluster)


def test_a_removal_that_the_gate_holds_is_not_recorded():
    """It is asked again every tick; the cluster must not fill up with plans meanwhile."""
    process = Process(llama())

    results = process.tick(goal({LARGE: 1}), held=terms(0.9))

    assert [
        ("scale-down", Outcome.HELD, "1 x 3g.40gb would be ready and carry 0.45, 0.90 must stay")
    ] == results
    assert [] == states(process.cluster)
    assert 0 == process.cluster.calls["scale"]


def test_nothing_to_do_writes_nothing():
    process = Process(llama())
    for _ in range(3):
        assert [] == process.tick(goal({LARGE: 2}))

    assert not set(process.cluster.calls) & {"scale", "record", "claim_step", "finish_step"}


def test_plans_are_not_read_again_once_nothing_is_open():
    process = Process(llama())
    process.tick(goal({LARGE: 3}))
    process.tick(goal({LARGE: 3}))
    reads = process.cluster.calls["plans"]

    for _ in range(5):
        process.tick(goal({LARGE: 3}))

    assert reads == process.cluster.calls["plans"]


def test_the_cluster_is_not_even_looked_at_while_nothing_is_to_be_done():
    """Most ticks are such."""
    process = Process(llama())
    process.tick(goal({LARGE: 2}))
    changes = diff(process.cluster.view([LLAMA]), [goal({LARGE: 2})], 0.0)
    before = dict(process.cluster.calls)

    process.executor.run(changes, {LLAMA: terms()}, 0.0)

    assert before == process.cluster.calls


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY, Mode.ADVISE])
def test_plans_of_a_workload_that_nothing_may_be_written_for_are_left_as_they_are(mode):
    cluster = llama(ready_after=10)
    Process(cluster).tick(goal({WHOLE: 1}), held=terms(0.9))
    before = states(cluster)

    Process(cluster).tick(goal({LARGE: 2, WHOLE: 1}), held=terms(mode=mode))

    assert before == states(cluster)


def test_additions_of_all_workloads_come_before_any_move():
    cluster = llama().add(MISTRAL, LARGE, 1)

    Process(cluster).tick(goal({LARGE: 1}), goal({LARGE: 3}, MISTRAL))

    assert [("mistral", "mistral", 3), ("llama", "llama", 1)] == cluster.scaled


def test_moves_of_one_workload_wait_until_its_replicas_have_left():
    cluster = FakeCluster().add(LLAMA, LARGE, 2).add(LLAMA, SMALL, 2, "llama-1g-10gb")
    cluster.stuck = {LLAMA}
    process = Process(cluster)
    target = goal({LARGE: 1, SMALL: 1})

    first, second = process.tick(target), process.tick(target)

    waiting = ("scale-down", Outcome.HELD, "replicas of this workload are still leaving")
    assert [("scale-down", Outcome.DONE, "peak ahead"), waiting] == first
    assert [waiting] == second


def test_moves_go_on_when_the_replicas_have_left():
    cluster = FakeCluster().add(LLAMA, LARGE, 2).add(LLAMA, SMALL, 2, "llama-1g-10gb")
    process = Process(cluster)
    for _ in range(3):
        process.tick(goal({LARGE: 1, SMALL: 1}))

    assert {LARGE: 1, SMALL: 1} == standing(cluster).ready.counts


def test_moves_in_the_fleet_are_bounded():
    cluster = llama().add(MISTRAL, LARGE, 2).add(QWEN, LARGE, 2)
    targets = [goal({LARGE: 1}, workload) for workload in (LLAMA, MISTRAL, QWEN)]

    results = Process(cluster, moves_in_flight=2).tick(*targets)

    assert [Outcome.DONE, Outcome.DONE, Outcome.HELD] == [outcome for _, outcome, _ in results]
    assert "2 workloads are losing replicas, at most 2 may" == results[2][2]


def test_moves_of_workloads_that_nobody_asked_to_change_count_too():
    """What is under way is read from the cluster; a restart forgets none of it."""
    cluster = llama().add(MISTRAL, LARGE, 2)
    cluster.stuck = {MISTRAL}
    Process(cluster).tick(goal({LARGE: 1}, MISTRAL))

    results = Process(cluster, moves_in_flight=1).tick(goal({LARGE: 1}), goal({LARGE: 1}, MISTRAL))

    assert [("scale-down", Outcome.HELD, "1 workloads are losing replicas, at most 1 may")] == results


def test_an_addition_goes_out_while_a_move_of_the_same_workload_is_stuck():
    cluster = llama()
    cluster.stuck = {LLAMA}
    process = Process(cluster)
    process.tick(goal({LARGE: 1}))

    results = process.tick(goal({LARGE: 1, WHOLE: 1}))

    assert [Outcome.DONE, Outcome.DONE] == [outcome for _, outcome, _ in results]


def test_what_is_halted_altogether_is_not_even_looked_at():
    process = Process(llama())
    before = process.cluster.calls["view"]

    results = process.tick(goal({LARGE: 3}), halt=Halt(everything=("paused",)))

    assert [("scale-up", Outcome.HELD, "paused")] == results
    assert before + 1 == process.cluster.calls["view"]


def test_halted_moves_leave_additions_alone():
    cluster = llama().add(MISTRAL, LARGE, 1)

    results = Process(cluster).tick(
        goal({LARGE: 1}), goal({LARGE: 2}, MISTRAL), halt=Halt(moves=("no metrics",))
    )

    assert [("scale-up", Outcome.DONE, "peak ahead"), ("scale-down", Outcome.HELD, "no metrics")] == results


@pytest.mark.parametrize(
    ("mode", "up", "down"),
    [
        (Mode.OFF, Outcome.HELD, Outcome.HELD),
        (Mode.FORECAST_ONLY, Outcome.HELD, Outcome.HELD),
        (Mode.ADVISE, Outcome.HELD, Outcome.HELD),
        (Mode.SCALE_UP_ONLY, Outcome.DONE, Outcome.HELD),
        (Mode.FULL, Outcome.DONE, Outcome.DONE),
    ],
)
def test_the_mode_ladder(mode, up, down):
    cluster = FakeCluster().add(LLAMA, LARGE, 2).add(LLAMA, SMALL, 2, "llama-1g-10gb")

    results = Process(cluster).tick(goal({LARGE: 3, SMALL: 1}), held=terms(mode=mode))

    assert [("scale-up", up), ("scale-down", down)] == [(verb, outcome) for verb, outcome, _ in results]


def test_a_workload_without_terms_is_not_touched():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)

    [result] = Executor(cluster).run(changes, {}, 0.0)

    assert (Outcome.HELD, "the workload is not opted in, or gone") == (result.outcome, result.reason)
    assert [] == cluster.scaled


def test_a_workload_that_is_gone_is_not_touched():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)
    cluster.delete(LLAMA)

    [result] = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert Outcome.HELD is result.outcome
    assert 0 == cluster.calls["record"]


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


def test_no_more_than_20_plans_of_a_workload_are_kept():
    process = Process(llama())
    for replicas in range(3, 30):
        process.tick(goal({LARGE: replicas}))

    assert 20 == len(states(process.cluster))


def test_a_dry_run_says_what_would_be_written_and_writes_nothing():
    cluster = FakeCluster().add(LLAMA, LARGE, 3)
    process = Process(cluster, dry_run=True)

    results = process.tick(goal({LARGE: 2, WHOLE: 1}))

    assert [
        ("create-variant", Outcome.PROPOSED, "peak ahead"),
        ("scale-up", Outcome.PROPOSED, "peak ahead"),
        ("scale-down", Outcome.PROPOSED, "peak ahead"),
    ] == results
    assert {"view"} == set(cluster.calls)


def test_a_dry_run_keeps_to_the_gate():
    results = Process(llama(), dry_run=True).tick(goal({LARGE: 1}), held=terms(0.9))

    assert [Outcome.HELD] == [outcome for _, outcome, _ in results]


def test_results_name_workload_and_step():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)

    [result] = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert (LLAMA, (Verb.SCALE_UP, "llama", 5)) == (result.target, writes(result.step))


def replicas(*leaving):
    return tuple(
        Replica(f"p{i}", "llama", LARGE, None, True, is_leaving, 0.0) for i, is_leaving in enumerate(leaving)
    )


@pytest.mark.parametrize(
    ("expected", "wanted", "pods"),
    [
        (False, 2, replicas(False, False)),
        (False, 3, replicas(False, False)),
        (True, 2, replicas(False, True)),
        (True, 1, replicas(False, False)),
        (False, 0, ()),
    ],
)
def test_a_workload_moves_while_replicas_leave_or_are_about_to(expected, wanted, pods):
    assert expected is is_moving(Standing(LLAMA, (Variant("llama", LARGE, wanted, "1", True, pods),)))
