"""A shape is proven once a replica of it has served for long enough inside the objectives, or given up."""

from dataclasses import replace

import pytest

from actuator.objects.plans import proven_by
from actuator.ports import PlanRecord, StepRecord
from allocator.need import Timing
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.demand import NowReading
from fleet.devices import Device
from fleet.rollout import Rollout
from fleet.sample import Value
from fleet.shape import Configuration, Shape
from fleet.trial import ATTEMPTS, GIVEN_UP_S, PAUSE_S, Trial
from foreslice.terms import given_up
from foreslice.trials import START_LEADS, Trials
from tests.builders.execution import LARGE, LLAMA, WHOLE, Process, goal, llama, standing

TIMING = Timing(trial_s=600.0, lead_s=60.0)
EVERY_S = 30.0
DEVICE = Device("n", "n", "d", "mig", "GPU-0", "3g.40gb", {})


@pytest.fixture
def cluster():
    """A workload on two 3g to which one whole card, ready by now, was added."""
    process = Process(llama(ready_after=1))
    process.tick(goal({LARGE: 2, WHOLE: 1}))
    process.tick(goal({LARGE: 2, WHOLE: 1}))
    return process.cluster


class Watched:
    """Trials that are turned at an even pace, by processes that may be started anew."""

    def __init__(self, cluster, every_s=EVERY_S):
        self._cluster = cluster
        self._every_s = every_s
        self._trials = Trials()
        self.at_s = 0.0

    def restart(self):
        self._trials = Trials()

    def turn(self, *verdicts):
        """Look at whole cards that were inside, outside, slow as all the others, or said nothing."""
        for verdict in verdicts:
            stands = standing(self._cluster)
            pods = {v.shape: {r.pod for r in v.replicas} for v in stands.variants}
            inside, outside = {
                "inside": (pods[WHOLE], set()),
                "outside": (pods[LARGE], pods[WHOLE]),
                "all": (set(), pods[LARGE] | pods[WHOLE]),
                "idle": (set(), set()),
            }[verdict]
            known = {"inside": frozenset(inside), "outside": frozenset(outside)}
            reading = NowReading(LLAMA, 0.0, Value(1.0), Value(0.0), Value(1.0), None, **known)
            fleet = self._cluster.view([LLAMA])
            self._trials.turn(fleet, {LLAMA: reading}, {LLAMA: TIMING}, self.at_s)
            self._trials.keep(self._cluster)
            self.at_s += self._every_s
        return self

    @property
    def is_proven(self):
        return standing(self._cluster).is_proven(WHOLE)

    @property
    def trial(self):
        return standing(self._cluster).trials.get(WHOLE, Trial())


@pytest.mark.parametrize(
    ("expected", "verdicts"),
    [
        (False, ["inside"] * 20),
        (True, ["inside"] * 21),
        (False, ["idle"] * 50),
        (True, ["inside"] * 11 + ["idle"] * 5 + ["inside"] * 10),
        (False, ["inside"] * 11 + ["all"] + ["inside"] * 10),
        (True, ["all"] + ["inside"] * 21),
    ],
)
def test_time_counts_under_load_and_begins_anew_beyond_the_objectives(cluster, expected, verdicts):
    assert expected is Watched(cluster).turn(*verdicts).is_proven


def test_of_a_long_gap_between_two_looks_a_minute_counts(cluster):
    assert not Watched(cluster, 3600.0).turn(*["inside"] * 10).is_proven
    assert Watched(cluster, 3600.0).turn(*["inside"] * 11).is_proven


def test_the_plan_that_added_it_says_so_and_is_written_once_a_minute_at_most(cluster):
    assert Watched(cluster).turn(*["inside"] * 40).is_proven
    [plan] = cluster.plans(LLAMA)
    assert {WHOLE} == proven_by(plan)
    assert 10 == cluster.calls["note_trial"]


def test_a_new_process_goes_on_where_the_last_one_was(cluster):
    watched = Watched(cluster).turn(*["inside"] * 15)
    watched.restart()
    assert not watched.turn(*["inside"] * 6).is_proven
    assert watched.turn(*["inside"] * 2).is_proven


def test_it_may_fail_so_often_with_longer_and_longer_pauses_and_is_given_up_for_a_day(cluster):
    watched = Watched(cluster)
    failed_at_s = []
    while not standing(cluster).given_up(watched.at_s):
        before = watched.trial.failures
        watched.turn("outside")
        if watched.trial.failures > before:
            failed_at_s.append(watched.at_s - EVERY_S)
        watched.restart()
    assert [0.0, PAUSE_S, 3 * PAUSE_S] == failed_at_s
    assert (ATTEMPTS, failed_at_s[-1] + GIVEN_UP_S) == (watched.trial.failures, watched.trial.until_s)
    assert "outside its objectives while all others were inside" == watched.trial.because
    assert not watched.turn(*["inside"] * 40).is_proven
    [said] = given_up(cluster.view([LLAMA]), watched.at_s)
    assert said.startswith(
        "llm/llama: h100-80gb:whole is not used before 1970-01-02 00:15 UTC: 3 times outside"
    )

    watched.at_s = watched.trial.until_s
    assert frozenset() == standing(cluster).given_up(watched.at_s)
    assert watched.turn(*["inside"] * 22).is_proven


def test_what_all_others_are_too_is_no_failure_of_the_shape(cluster):
    assert 0 == Watched(cluster).turn(*["all"] * 100).trial.failures


def test_a_replica_that_has_a_place_and_does_not_start_fails_one_without_a_place_does_not():
    for room, failures in ((1, 1), (0, 0)):
        process = Process(llama(ready_after=1000, room={WHOLE: room}))
        process.tick(goal({LARGE: 2, WHOLE: 1}))
        watched = Watched(process.cluster)
        watched.at_s = START_LEADS * TIMING.lead_s
        assert 0 == watched.turn("idle").trial.failures
        assert failures == watched.turn("idle").trial.failures


def test_what_a_shape_has_shown_stays_when_its_plan_is_carried_out_again(cluster):
    Watched(cluster).turn(*["inside"] * 40)
    [plan] = cluster.plans(LLAMA)
    for index in range(len(plan.steps)):
        plan = cluster.claim_step(plan, index, 1.0)
    assert {WHOLE} == proven_by(plan)


def test_what_its_owner_runs_and_what_stands_longer_than_plans_reach_back_is_proven(cluster):
    cluster.add(LLAMA, replace(LARGE, profile="2g.20gb"), 1, "llama-old")
    seen = standing(cluster)
    proven = {variant.name: seen.is_proven(variant.shape) for variant in seen.variants}
    assert {"llama": True, "llama-whole": False, "llama-old": True} == proven


HALF, SWITCHED = Shape("h100-80gb", "3g.40gb"), Rollout(template="ours", owners="theirs")


def rolling(trial=None, **replica):
    """A workload on its way from whole cards to halves; what is told of the new replica."""
    given = {"is_ready": True, "is_leaving": False, "created_at_s": 0.0, **replica}
    old = Replica("old", "llama", WHOLE, DEVICE, is_old=True, **{**given, "is_ready": True})
    new = Replica("new", "llama", HALF, DEVICE, **given)
    own = Variant("llama", HALF, 1, "1", is_base=True, replicas=(old, new), rollout=SWITCHED)
    known = {} if trial is None else {HALF: trial}
    return Standing(LLAMA, (own,), proven=(), trials=known, before=Configuration({WHOLE: 1}), switches=True)


def turned(standing, trials, outside=(), inside=("old",), at_s=30.0):
    reading = NowReading(
        LLAMA,
        0.0,
        Value(1.0),
        Value(0.0),
        Value(1.0),
        None,
        inside=frozenset(inside),
        outside=frozenset(outside),
    )
    fleet = Fleet("1", (), (), (), (standing,))
    trials.turn(fleet, {LLAMA: reading}, {LLAMA: TIMING}, at_s)
    noted = Noted()
    trials.keep(noted)
    return noted.trials


class Noted:
    """A cluster with one plan, whose switch is under way, that notes what is told of its trial."""

    def __init__(self):
        step = Step(Verb.SWITCH, "llama", HALF, 1, "1", "a quiet night", "theirs")
        change = ChangeSet(LLAMA, Configuration({WHOLE: 1}), Configuration({HALF: 1}), (step,), 0.0)
        self._plan = PlanRecord(change, (StepRecord(StepState.CLAIMED, 0.0),), "1")
        self.trials = []

    def plans(self, _workload):
        return (self._plan,)

    def note_trial(self, _plan, _index, trial):
        self.trials.append(trial)


def test_what_a_deployment_was_switched_to_is_on_trial_and_its_old_replicas_say_nothing_of_it():
    assert [] == turned(rolling(), Trials())
    [trial] = turned(rolling(), Trials(), outside=["new"])
    assert (1, "outside its objectives while all others were inside") == (trial.failures, trial.because)
    assert not rolling().is_proven(HALF)
    assert rolling().is_proven(WHOLE)


def test_after_its_rest_a_shape_that_found_no_room_is_tried_as_any_and_time_adds_up():
    trials, rested = Trials(), rolling(Trial().without_room("no room", -895.0))
    told = [turned(rested, trials, inside=["old", "new"], at_s=at_s) for at_s in (10.0, 40.0, 70.0)]
    assert [[], [], [Trial(60.0)]] == told
    resting = rolling(Trial().without_room("no room", 0.0))
    assert [] == turned(resting, trials, inside=["old", "new"], at_s=100.0)


def test_what_was_taken_back_stays_given_up_whatever_was_known_before():
    trials = Trials()
    turned(rolling(), trials)
    assert [] == turned(rolling(Trial().abandoned("no", 20.0)), trials)
    assert ["llm/llama: h100-80gb:3g.40gb is not used before 1970-01-02 00:00 UTC: no"] == given_up(
        Fleet("1", (), (), (), (rolling(Trial().abandoned("no", 20.0)),)), 30.0
    )
