"""Change sets carried out: lanes, limits, halts, the mode ladder, dry run."""

from dataclasses import replace

import pytest

from actuator.diff import diff
from actuator.execute import Executor, is_moving
from actuator.guards import Halt
from actuator.outcome import Outcome
from actuator.ports import Readiness
from actuator.settle import writes
from fleet.change import Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.errors import UnavailableError
from fleet.past import Start
from fleet.restraints import Approval
from fleet.workload import Mode
from tests.builders.execution import (
    LARGE,
    LLAMA,
    MISTRAL,
    QWEN,
    SMALL,
    WHOLE,
    Process,
    goal,
    llama,
    standing,
    states,
    terms,
)
from tests.fakes.cluster import FakeCluster


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


def test_while_nothing_is_to_be_done_the_cluster_is_looked_at_and_nothing_else_is_asked():
    """Most ticks are such."""
    process = Process(llama())
    process.tick(goal({LARGE: 2}))
    changes = diff(process.cluster.view([LLAMA]), [goal({LARGE: 2})], 0.0)
    before = dict(process.cluster.calls)

    process.executor.run(changes, {LLAMA: terms()}, 0.0)

    assert {**before, "view": before["view"] + 1} == process.cluster.calls


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY])
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

    waiting = ("scale-down", Outcome.HELD, "replicas of this workload are still leaving or being replaced")
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

    assert (LLAMA, Outcome.HELD, "the workload is not opted in, or gone") == (
        result.target,
        result.outcome,
        result.reason,
    )
    assert [] == cluster.scaled


def test_a_workload_that_is_gone_is_not_touched():
    cluster = llama()
    changes = diff(cluster.view([LLAMA]), [goal({LARGE: 5})], 0.0)
    cluster.delete(LLAMA)

    [result] = Executor(cluster).run(changes, {LLAMA: terms()}, 0.0)

    assert Outcome.HELD is result.outcome
    assert 0 == cluster.calls["record"]


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

    assert (LLAMA, (Verb.SCALE_UP, "llama", LARGE, 5)) == (result.target, writes(result.step))


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


def test_when_what_was_added_is_ready_its_plan_says_so_once():
    process = Process(llama(ready_after=3))
    process.tick(goal({LARGE: 4}))
    seen = []
    for _ in range(6):
        process.tick(goal({LARGE: 4}))
        seen.append(process.cluster.plans(LLAMA)[0].steps[0].readiness)

    assert [None, None, Readiness(0.0, 30.0)] == seen[:3]
    assert (Start(0.0, 0.0, 30.0),) == standing(process.cluster).starts
    assert 1 == process.cluster.calls["note_readiness"]


def test_while_nothing_may_be_written_no_readiness_is_noted():
    cluster = llama(ready_after=1)
    Process(cluster).tick(goal({LARGE: 4}))
    for _ in range(3):
        Process(cluster, dry_run=True).tick(goal({LARGE: 4}))
        Process(cluster).tick(goal({LARGE: 4}), held=terms(mode=Mode.FORECAST_ONLY))

    assert standing(cluster).has_news
    assert 0 == cluster.calls["note_readiness"]


def test_readiness_that_cannot_be_noted_is_noted_later():
    process = Process(llama(ready_after=1))
    process.tick(goal({LARGE: 4}))
    process.cluster.fail(LLAMA, UnavailableError("no answer"))
    process.tick(goal({LARGE: 4}))
    process.cluster.fail(LLAMA, None)
    process.tick(goal({LARGE: 4}))

    assert not standing(process.cluster).has_news


@pytest.mark.parametrize(
    ("agreed", "until_s", "outcome"),
    [
        ("4 x 3g.40gb", 101.0, Outcome.DONE),
        ("4 x 3g.40gb", 100.0, Outcome.HELD),
        ("3 x 3g.40gb", 101.0, Outcome.HELD),
    ],
)
def test_what_is_asked_first_is_done_while_exactly_that_is_agreed_to(agreed, until_s, outcome):
    cluster = llama()
    seen = cluster.view

    def approved(workloads):
        fleet = seen(workloads)
        agreed_to = tuple(replace(s, approval=Approval(agreed, until_s)) for s in fleet.standings)
        return replace(fleet, standings=agreed_to)

    cluster.view = approved
    process = Process(cluster)
    process.at_s = 100.0
    [(_, found, _)] = process.tick(goal({LARGE: 4}), held=terms(mode=Mode.ADVISE))
    assert outcome is found


def test_when_the_first_token_was_seen_is_kept_with_what_was_added():
    process = Process(llama(ready_after=1))
    answered = replace(terms(), answered=frozenset({"llama-3", "llama-4"}))
    for _ in range(4):
        process.tick(goal({LARGE: 4}), held=answered)
    readiness = process.cluster.plans(LLAMA)[0].steps[0].readiness
    assert (10.0, 20.0) == (readiness.ready_at_s, readiness.first_token_at_s)
