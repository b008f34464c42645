"""A shape is proven once a replica of it has served for long enough inside the objectives."""

from dataclasses import replace

import pytest

from actuator.objects.plans import proven_by
from fleet.demand import NowReading
from fleet.sample import Value
from foreslice.trials import Trials
from tests.builders.execution import LARGE, LLAMA, WHOLE, Process, goal, llama, standing

TRIAL_S = 600.0


@pytest.fixture
def cluster():
    """A workload on two 3g to which one whole card, ready by now, was added."""
    process = Process(llama(ready_after=1))
    process.tick(goal({LARGE: 2, WHOLE: 1}))
    process.tick(goal({LARGE: 2, WHOLE: 1}))
    return process.cluster


def turned(cluster, *verdicts, every_s=30.0):
    """Whether the whole card is proven after turns in which it was inside, outside or said nothing."""
    trials = Trials(TRIAL_S)
    [pod] = [r.pod for v in standing(cluster).variants for r in v.replicas if v.shape == WHOLE]
    for number, verdict in enumerate(verdicts):
        known = {"inside": frozenset(), "outside": frozenset(), verdict: frozenset({pod})}
        known = {name: known[name] for name in ("inside", "outside")}
        reading = NowReading(LLAMA, 0.0, Value(1.0), Value(0.0), Value(1.0), None, **known)
        trials.turn(cluster.view([LLAMA]), {LLAMA: reading}, every_s * number)
        trials.keep(cluster, every_s * number)
    return standing(cluster).is_proven(WHOLE)


@pytest.mark.parametrize(
    ("expected", "verdicts"),
    [
        (False, ["inside"] * 20),
        (True, ["inside"] * 21),
        (False, ["idle"] * 50),
        (True, ["inside"] * 11 + ["idle"] * 5 + ["inside"] * 10),
        (False, ["inside"] * 11 + ["outside"] + ["inside"] * 10),
        (True, ["outside"] + ["inside"] * 21),
    ],
)
def test_time_counts_under_load_and_begins_anew_beyond_the_objectives(cluster, expected, verdicts):
    assert expected is turned(cluster, *verdicts)


def test_of_a_long_gap_between_two_looks_a_minute_counts(cluster):
    assert not turned(cluster, *["inside"] * 10, every_s=3600.0)
    assert turned(cluster, *["inside"] * 11, every_s=3600.0)


def test_the_plan_that_added_it_says_so_and_it_is_said_once(cluster):
    assert turned(cluster, *["inside"] * 40)
    [plan] = cluster.plans(LLAMA)
    assert {WHOLE} == proven_by(plan)
    assert 1 == cluster.calls["note_proof"]


def test_what_its_owner_runs_and_what_stands_longer_than_plans_reach_back_is_proven(cluster):
    cluster.add(LLAMA, replace(LARGE, profile="2g.20gb"), 1, "llama-old")
    seen = standing(cluster)
    proven = {variant.name: seen.is_proven(variant.shape) for variant in seen.variants}
    assert {"llama": True, "llama-whole": False, "llama-old": True} == proven
