"""Whatever happens to moves, errors and processes: additions go out, nothing is lost, all converges."""

import copy
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.guards import Halt
from actuator.objects.plans import is_open
from actuator.outcome import Outcome
from capacity.routing import carried
from fleet.change import Lane, StepState, Verb
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Configuration
from fleet.workload import Mode, Router, WorkloadKey
from tests.fakes.cluster import FakeCluster, Killed, Tripwire, key, mig

SHAPES = [mig("1g.10gb"), mig("2g.20gb"), mig("3g.40gb"), mig("whole")]
CAPACITIES = dict(zip(SHAPES, (0.1, 0.25, 0.45, 1.0), strict=True))
ROUNDING = 1e-9
KEYS = [key("a"), key("b"), key("c")]


@dataclass(frozen=True)
class Goal:
    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...] = ("needed",)


def terms(need_keep=0.0, minimum=0, mode=Mode.FULL, router=Router.WEIGHTED, distrust=()):
    return Terms(mode, router, minimum, CAPACITIES, need_keep, distrust)


def run(cluster, goals, need_keep=0.0, at_s=0.0, executor=None, **more):
    executor = executor or Executor(cluster)
    fleet = cluster.view([goal.workload for goal in goals])
    changes = diff(fleet, goals, at_s)
    return executor.run(changes, {goal.workload: terms(need_keep) for goal in goals}, at_s, **more)


counts = st.integers(min_value=0, max_value=4)
configurations = st.dictionaries(st.sampled_from(SHAPES), counts, max_size=3).map(Configuration)
fleets = st.dictionaries(
    st.sampled_from(KEYS),
    st.dictionaries(st.sampled_from(SHAPES), counts, min_size=1, max_size=3),
    min_size=1,
)


def cluster_of(fleet, **options):
    """A cluster in which each workload has a base of the first shape and copies of the others."""
    cluster = FakeCluster(**options)
    for workload, shapes in fleet.items():
        for number, (shape, replicas) in enumerate(shapes.items()):
            name = workload.name if number == 0 else f"{workload.name}-{shape.profile.replace('.', '-')}"
            cluster.add(workload, shape, replicas, name)
    return cluster


def capacity(cluster, workload, router):
    return carried(cluster.view([workload]).standing(workload).ready, CAPACITIES, router)


def wanted(cluster, workload):
    return cluster.view([workload]).standing(workload).wanted


@given(fleets, st.lists(configurations, min_size=3, max_size=3))
def test_the_diff_of_what_was_carried_out_is_empty(fleet, goals):
    cluster = cluster_of(fleet)
    targets = [Goal(workload, goal) for workload, goal in zip(fleet, goals, strict=False)]
    for tick in range(12):
        run(cluster, targets, at_s=tick * 10.0)
        cluster.tick()

    changes = diff(cluster.view(KEYS), targets, 0.0)

    assert [()] * len(targets) == [change.steps for change in changes]


@given(fleets, st.lists(configurations, min_size=3, max_size=3))
def test_with_every_move_stuck_for_ever_each_addition_is_ordered_in_its_tick(fleet, goals):
    """Replicas that leave never go; every tick brings a new goal."""
    cluster = cluster_of(fleet)
    cluster.stuck = set(KEYS)
    executor = Executor(cluster, moves_in_flight=1)
    for tick, shift in enumerate((0, 1, 2)):
        targets = [Goal(w, goal) for w, goal in zip(fleet, goals[shift:] + goals[:shift], strict=False)]
        before = {target.workload: wanted(cluster, target.workload) for target in targets}

        run(cluster, targets, at_s=tick * 10.0, executor=executor)

        for target in targets:
            now = wanted(cluster, target.workload)
            for shape, asked in target.goal.counts.items():
                assert (
                    max(asked, before[target.workload].counts.get(shape, 0))
                    >= now.counts.get(shape, 0)
                    >= asked
                )
        cluster.tick()


@given(fleets, st.lists(configurations, min_size=3, max_size=3))
def test_moves_that_are_halted_hold_up_no_addition(fleet, goals):
    cluster = cluster_of(fleet)
    targets = [Goal(w, goal) for w, goal in zip(fleet, goals, strict=False)]

    results = run(cluster, targets, halt=Halt(moves=("the newest metrics are 400 s old",)))

    outcomes = {(result.step.lane, result.outcome) for result in results}
    assert outcomes <= {(Lane.ADD, Outcome.DONE), (Lane.MOVE, Outcome.HELD)}


@given(fleets, st.lists(configurations, min_size=3, max_size=3), st.data())
def test_an_error_of_one_workload_stays_with_it(fleet, goals, data):
    cluster = cluster_of(fleet)
    broken = data.draw(st.sampled_from(sorted(fleet)))
    error = data.draw(
        st.sampled_from([ConflictError("changed"), UnavailableError("down"), RefusedError("no")])
    )
    cluster.fail(broken, error)
    targets = [Goal(w, goal) for w, goal in zip(fleet, goals, strict=False)]

    results = run(cluster, targets)

    for result in results:
        if result.target == broken:
            assert result.outcome in {Outcome.FAILED, Outcome.HELD}
        elif result.step.lane is Lane.ADD:
            assert result.outcome is Outcome.DONE


@given(
    fleets,
    st.lists(configurations, min_size=3, max_size=3),
    st.floats(min_value=0.0, max_value=4.0),
    st.sampled_from(list(Router)),
    st.integers(min_value=1, max_value=3),
)
def test_no_step_takes_ready_capacity_below_need_keep(fleet, goals, need_keep, router, ready_after):
    """A twin that does nothing has less, or more than must stay, now and when what is on its way is ready."""
    cluster = cluster_of(fleet, ready_after=ready_after)
    targets = [Goal(w, goal) for w, goal in zip(fleet, goals, strict=False)]
    held = {target.workload: terms(need_keep, router=router) for target in targets}
    executor = Executor(cluster)
    for tick in range(5):
        twin = copy.deepcopy(cluster)
        executor.run(diff(cluster.view(KEYS), targets, 0.0), held, tick * 10.0)

        ours = copy.deepcopy(cluster)
        for _ in range(ready_after + 1):
            for workload in held:
                least = min(need_keep, capacity(twin, workload, router))
                assert capacity(ours, workload, router) >= least - ROUNDING
            twin.tick()
            ours.tick()
        cluster.tick()


@given(fleets, st.lists(configurations, min_size=3, max_size=3), st.integers(min_value=1, max_value=3))
def test_no_more_workloads_lose_replicas_at_once_than_allowed(fleet, goals, limit):
    cluster = cluster_of(fleet)
    cluster.stuck = set(KEYS)
    targets = [Goal(w, goal) for w, goal in zip(fleet, goals, strict=False)]
    executor = Executor(cluster, moves_in_flight=limit)
    for tick in range(4):
        run(cluster, targets, at_s=tick * 10.0, executor=executor)
        cluster.tick()

    leaving = {
        standing.key
        for standing in cluster.view(KEYS).standings
        if any(replica.is_leaving for variant in standing.variants for replica in variant.replicas)
    }
    assert len(leaving) <= limit


@given(fleets, st.lists(configurations, min_size=3, max_size=3), st.sampled_from(Mode))
def test_no_mode_does_more_than_it_says(fleet, goals, mode):
    cluster = cluster_of(fleet)
    targets = [Goal(w, goal) for w, goal in zip(fleet, goals, strict=False)]
    before = {target.workload: wanted(cluster, target.workload).counts for target in targets}
    changes = diff(cluster.view(KEYS), targets, 0.0)

    Executor(cluster).run(changes, {t.workload: terms(mode=mode) for t in targets}, 0.0)

    for workload, was in before.items():
        now = wanted(cluster, workload).counts
        rose = any(now.get(shape, 0) > was.get(shape, 0) for shape in SHAPES)
        fell = any(now.get(shape, 0) < was.get(shape, 0) for shape in SHAPES)
        assert mode.may_add or not rose
        assert mode.may_remove or not fell


# Crash points. The reference case takes every kind of write: a new shape for one workload, fewer
# replicas for another, more for a third.

START = {KEYS[0]: {mig("3g.40gb"): 2}, KEYS[1]: {mig("1g.10gb"): 3}, KEYS[2]: {mig("2g.20gb"): 1}}
GOALS = [
    Goal(KEYS[0], Configuration({mig("whole"): 1})),
    Goal(KEYS[1], Configuration({mig("1g.10gb"): 1})),
    Goal(KEYS[2], Configuration({mig("2g.20gb"): 2})),
]


def turn(cluster, view, ticks=8):
    """Turn the loop some ticks with one process; what it needs to know it reads from the cluster."""
    executor = Executor(view)
    for tick in range(ticks):
        run(view, GOALS, need_keep=0.0, at_s=tick * 10.0, executor=executor)
        cluster.tick()


def calls_without_crash():
    cluster = cluster_of(START)
    turn(cluster, cluster)
    return sum(cluster.calls.values())


def end_of(cluster):
    standings = cluster.view(KEYS).standings
    return {s.key: {v.name: (v.wanted, len(v.replicas)) for v in s.variants} for s in standings}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_call_the_next_process_reaches_the_same_end(after):
    straight = cluster_of(START)
    turn(straight, straight)
    kills = 0
    for number in count(1):
        cluster = cluster_of(START)
        try:
            turn(cluster, Tripwire(cluster, number, after=after))
        except Killed:
            kills += 1
        else:
            break

        turn(cluster, cluster)

        assert end_of(straight) == end_of(cluster)
        left_open = [record for workload in KEYS for record in cluster.plans(workload) if is_open(record)]
        assert [] == left_open
    assert calls_without_crash() == kills


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_call_no_capacity_is_given_up_that_must_stay(after):
    """The floor is one small card's worth for the workload that changes its shape, at every tick."""
    need_keep = 0.9
    shape_change = [GOALS[0]]
    for number in count(1):
        cluster = cluster_of({KEYS[0]: START[KEYS[0]]})
        is_killed = False
        view = Tripwire(cluster, number, after=after)
        for tick in range(8):
            try:
                run(view, shape_change, need_keep, at_s=tick * 10.0, executor=Executor(view))
            except Killed:
                is_killed, view = True, cluster
            cluster.tick()
            ready = cluster.view([KEYS[0]]).standing(KEYS[0]).ready
            assert carried(ready, CAPACITIES, Router.WEIGHTED) >= need_keep
        if not is_killed:
            break
        assert {mig("whole"): 1} == dict(wanted(cluster, KEYS[0]).counts)


def test_two_processes_that_run_at_once_do_not_write_a_step_twice():
    """The second decided on versions that are gone; it finds what it wanted and leaves the plans done."""
    cluster = cluster_of(START)
    first, second = Executor(cluster), Executor(cluster)
    changes = diff(cluster.view(KEYS), GOALS, 0.0)
    held = {goal.workload: terms() for goal in GOALS}

    first.run(changes, held, 0.0)
    written = list(cluster.scaled)
    results = second.run(changes, held, 0.0)

    assert written == cluster.scaled
    assert {Outcome.DONE, Outcome.HELD} >= {result.outcome for result in results}
    added = [
        s
        for w in KEYS
        for p in cluster.plans(w)
        for s, step in zip(p.steps, p.change.steps, strict=True)
        if step.verb is not Verb.SCALE_DOWN
    ]
    assert {StepState.DONE} == {step.state for step in added}


def test_the_end_leaves_only_finished_plans():
    cluster = cluster_of(START)

    turn(cluster, cluster)

    states = {step.state for workload in KEYS for plan in cluster.plans(workload) for step in plan.steps}
    assert {StepState.DONE} == states
