"""A switch whose pods do not come to serve goes back, and what is known of it is written first."""

from dataclasses import replace

import pytest

from actuator.budgets import ChangeBudget, Kind, Per, Spending
from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.outcome import Outcome
from actuator.ports import StepRecord
from actuator.turning_back import failure
from actuator.ways import with_ways
from fleet.change import Step, StepState, Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.devices import Device
from fleet.rollout import Rollout
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import Mode, Router
from tests.builders.execution import Goal
from tests.builders.stage import TICK_S, WEB, Stage

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
DEVICE = Device("n", "n", "d", "mig", "GPU-0", "3g.40gb", {})
KEY = WEB.key
TERMS = Terms(Mode.FULL, Router.LEAST_LOADED, 1, {WHOLE: 1.0, HALF: 0.5}, 0.4)
SWITCH = Step(Verb.SWITCH, "web", HALF, 1, "1", "a quiet night", "whole-gpu")


def seen(rollout=None, **replica):
    """The workload while its pods follow to halves, one of them there."""
    given = {"shape": HALF, "is_ready": False, "is_leaving": False, "created_at_s": 0.0, "device": DEVICE}
    one = Replica("new", "web", **(given | replica))
    return Standing(KEY, (Variant("web", HALF, 1, "1", True, (one,), rollout=rollout or Rollout()),))


FAILED = {
    "given up by its controller": (
        seen(Rollout(stuck="timed out")),
        None,
        "did not come to serve: timed out",
    ),
    "not one was given a place": (
        seen(Rollout(stuck="timed out"), device=None),
        None,
        "replicas on 3g.40gb found no room: timed out",
    ),
    "one has a place and waits for a device": (
        seen(Rollout(stuck="timed out"), device=None, scheduled_at_s=5.0),
        None,
        "did not come to serve: timed out",
    ),
    "its controller made none": (
        replace(seen(), variants=(replace(seen(Rollout(stuck="quota")).own, replicas=()),)),
        None,
        "did not come to serve: quota",
    ),
    "no room before": (seen(is_ready=True), Trial().without_room("no room", 0.0), "no room"),
    "given something else": (
        seen(shape=WHOLE, ready_at_s=5.0),
        None,
        "new serves on h100-80gb:whole, not on",
    ),
    "beyond its objectives": (
        seen(),
        Trial(failures=1, because="too slow"),
        "replica on 3g.40gb was too slow",
    ),
    "given up before": (seen(is_ready=True), Trial().abandoned("it failed", 0.0), "it failed"),
}
GOES_ON = {
    "still loading": seen(),
    "serving": seen(is_ready=True, ready_at_s=5.0),
    "an old one that is odd": seen(is_old=True, shape=WHOLE, ready_at_s=5.0),
    "one that leaves": seen(is_leaving=True, ready_at_s=5.0),
}


@pytest.mark.parametrize(("standing", "trial", "why"), FAILED.values(), ids=FAILED)
def test_a_switch_has_failed(standing, trial, why):
    assert why in failure(standing, SWITCH, StepRecord(StepState.CLAIMED, 0.0, trial=trial))


@pytest.mark.parametrize("standing", GOES_ON.values(), ids=GOES_ON)
def test_a_switch_goes_on(standing):
    assert "" == failure(standing, SWITCH, StepRecord(StepState.CLAIMED, 0.0, trial=Trial()))


class Process:
    """Turns ticks towards halves, whatever becomes of them, on a stage."""

    def __init__(self, stage, terms=TERMS, **options):
        self.stage, self.terms = stage, terms
        self.cluster = with_ways(stage.opened(), {}, switching=[KEY])
        self.executor = Executor(self.cluster, **options)

    def standing(self):
        return self.cluster.view([KEY]).standing(KEY)

    def tick(self, goal=None):
        one = self.standing()
        wanted = Configuration({HALF: 1}) if goal is None else goal
        changes = diff(self.cluster.view([KEY]), [Goal(KEY, wanted)], self.stage.now_s)
        results = self.executor.run(changes, {KEY: self.terms}, self.stage.now_s)
        self.stage.wait()
        return one, [(result.step.verb.value, result.outcome) for result in results]

    def steps(self):
        return [(s.state, s.note) for plan in self.cluster.plans(KEY) for s in plan.steps]


def test_a_switch_is_done_once_all_pods_serve_on_the_new_shape():
    process = Process(Stage())
    outcomes = [process.tick()[1] for _ in range(5)]
    assert [("switch", Outcome.UNDER_WAY)] == outcomes[0]
    assert [[]] * 4 == outcomes[1:]
    assert [(StepState.DONE, "found done")] == process.steps()
    assert Configuration({HALF: 1}) == process.standing().ready


def test_until_then_its_step_stays_open_and_the_workload_is_on_the_way():
    process = Process(Stage(minReadySeconds=300, progressDeadlineSeconds=600))
    process.stage.wait(300)
    for _ in range(6):
        process.tick()
    assert [(StepState.CLAIMED, "")] == process.steps()
    assert Configuration({HALF: 1}) == process.standing().moving_to
    assert Configuration({WHOLE: 1, HALF: 1}) == process.standing().ready


def test_while_it_is_under_way_it_counts_as_a_change_and_once_it_is_done_no_second_time():
    """Else a budget of one would let the next workload be switched while the first one's pods follow."""
    process = Process(Stage(minReadySeconds=300, progressDeadlineSeconds=600))
    process.stage.wait(300)
    process.tick()
    budget = ChangeBudget(1, kinds=frozenset({Kind.RESHAPE}), per=Per.FLEET)
    told = []
    for _ in range(60):
        fleet = process.cluster.view([KEY])
        told.append(len(fleet.standings[0].falls))
        spent = Spending(fleet, [budget], process.stage.now_s).refusal(fleet.standings[0], Kind.RESHAPE)
        assert spent is not None
        process.tick()
    assert {1} == set(told)
    assert [StepState.DONE] == [state for state, _ in process.steps()]


def test_replicas_are_added_while_it_is_under_way():
    process = Process(Stage(minReadySeconds=300, progressDeadlineSeconds=600))
    process.stage.wait(300)
    for _ in range(10):
        process.tick()
    assert Configuration({WHOLE: 1, HALF: 1}) == process.standing().ready
    more, process.terms = Configuration({HALF: 2}), replace(TERMS, need_keep=1.4)
    assert ("scale-up", Outcome.DONE) in process.tick(more)[1]
    half_way = set()
    for _ in range(80):
        process.tick(more)
        half_way.add(str(process.standing().ready))
    assert str(Configuration({WHOLE: 1, HALF: 2})) in half_way
    assert more == process.standing().ready
    assert {StepState.DONE} == {state for state, _ in process.steps()}


def crashing(**options):
    return Process(Stage(crashing=[HALF.profile], progressDeadlineSeconds=10), **options)


def stay(process):
    """Tick until it is back, aiming at what is not given up."""
    told = []
    for _ in range(8):
        is_given_up = bool(process.standing().given_up(process.stage.now_s))
        told += process.tick(Configuration({WHOLE: 1}) if is_given_up else None)[1]
    return told


def test_one_whose_engines_do_not_start_goes_back_and_its_shape_is_not_used_for_a_day():
    process = crashing()
    assert [("switch", Outcome.UNDER_WAY), ("switch", Outcome.FAILED)] == stay(process)
    one = process.standing()
    assert ("whole-gpu", Configuration({WHOLE: 1})) == (one.own.rollout.template, one.ready)
    [(state, note)] = process.steps()
    assert (StepState.FAILED, True) == (state, "did not come to serve" in note)
    assert {HALF} == one.given_up(process.stage.now_s + 86000.0)
    # It restarted replicas for nothing: budgets and the time that a shape is kept hold after it, too.
    assert (1, True) == (len(one.falls), one.reshaped_at_s is not None)
    assert not one.given_up(process.stage.now_s + 86400.0)


def test_though_it_was_proven_once():
    process = crashing()
    stay(process)
    [plan] = process.cluster.plans(KEY)
    process.cluster.note_trial(plan, 0, Trial(proven_at_s=process.stage.now_s))
    assert not process.standing().given_up(process.stage.now_s)
    process.cluster.note_trial(process.cluster.plans(KEY)[0], 0, Trial().abandoned("no", process.stage.now_s))
    assert {HALF} == process.standing().given_up(process.stage.now_s)


def crowded():
    """Whole cards on both, so that a half finds none."""
    process = Process(Stage(2, progressDeadlineSeconds=10))
    process.terms = replace(TERMS, need_keep=1.0)
    return process


def test_one_that_finds_no_room_goes_back_and_is_tried_again_soon_as_long_as_there_is_none_ever_later():
    process, rests = crowded(), []
    for _ in range(3):
        began_at_s = process.stage.now_s
        for _ in range(8):
            is_resting = bool(process.standing().given_up(process.stage.now_s))
            process.tick(Configuration({WHOLE: 2} if is_resting else {HALF: 2}))
        one = process.standing()
        assert ("whole-gpu", Configuration({WHOLE: 2})) == (one.own.rollout.template, one.ready)
        assert (StepState.FAILED, True) == (process.steps()[0][0], "found no room" in process.steps()[0][1])
        # Nobody was restarted for it, so nothing has to wait for it.
        assert ((), None, None) == (one.falls, one.reshaped_at_s, one.changed_at_s)
        [trial] = one.trials.values()
        rests.append(trial.until_s - began_at_s - TICK_S)
        process.stage.wait(trial.until_s - process.stage.now_s)
        assert not process.standing().given_up(process.stage.now_s)
    assert [900.0, 1800.0, 3600.0] == rests


def test_once_there_is_room_it_is_switched_after_all():
    process = Process(Stage(2, progressDeadlineSeconds=10))
    for _ in range(8):
        is_resting = bool(process.standing().given_up(process.stage.now_s))
        process.tick(Configuration({WHOLE: 2} if is_resting else {HALF: 2}))
    [failed] = process.standing().trials.values()
    process.stage.wait(failed.until_s - process.stage.now_s)
    process.tick(Configuration({WHOLE: 1}))
    for _ in range(8):
        process.tick(Configuration({HALF: 1}))
    assert Configuration({HALF: 1}) == process.standing().ready
    assert StepState.DONE is process.steps()[0][0]


def test_the_same_switch_on_another_day_is_not_taken_back_for_what_was_wrong_before():
    """It has the same plan by the same name, which still tells of the attempt that failed."""
    process = Process(Stage())
    for shape in (HALF, WHOLE):
        for _ in range(5):
            process.tick(Configuration({shape: 1}))
    [to_half] = [plan for plan in process.cluster.plans(KEY) if HALF in plan.change.goal]
    process.cluster.note_trial(to_half, 0, Trial().abandoned("no", process.stage.now_s - 86400.0))
    outcomes = [process.tick()[1] for _ in range(5)]
    assert [("switch", Outcome.UNDER_WAY)] == outcomes[0]
    assert [[]] * 4 == outcomes[1:]
    assert Configuration({HALF: 1}) == process.standing().ready
    assert 2 == len(process.cluster.plans(KEY))


@pytest.mark.parametrize("mode", [Mode.ADVISE, Mode.FORECAST_ONLY], ids=lambda mode: mode.label)
def test_nothing_is_taken_back_where_nothing_may_be_changed(mode):
    process = crashing()
    process.tick()
    process.terms = replace(TERMS, mode=mode)
    for _ in range(4):
        process.tick(Configuration({HALF: 1}))
    assert process.standing().own.rollout.is_switched
    process.terms = TERMS
    process.tick()
    assert not process.standing().own.rollout.is_switched
