"""Objectives in settings: given, taken from a class, or in the spelling of another tool."""

import pytest

from fleet.errors import InputError
from fleet.workload import LatencyTarget, Limits, Mode, Slo, Tier
from foreslice.settings.load import load, workloads_of
from tests.unit.foreslice.test_settings import HEAD, one

WRONG = {
    "objective as GuideLLM words it": (
        HEAD + one(slo=["TTFT <= 200ms p99", "ITL <= 50ms p99"]),
        ["5: workloads[0].slo: write {ttft: {p99: 200ms}, itl: {p99: 50ms}}"],
    ),
    "objective as inference-perf names it": (
        HEAD + one(slo={"ttft_p99_ms": 15000}),
        ["5: workloads[0].slo: write {ttft: {p99: 15s}}"],
    ),
    "objective as Dynamo's planner writes it": (
        HEAD + one(slo={"ttft": 500.0}),
        ["5: workloads[0].slo: ttft: a mean in ms, as of Dynamo or WVA? write e.g. ttft: {p95: 500ms}"],
    ),
    "no objective, and no class": (HEAD + one(slo=None), ["5: workloads[0].slo: is missing"]),
    "class that is not there": (
        HEAD + one(**{"class": "gold"}),
        ["5: workloads[0].class: must be one of classes: there are none"],
    ),
    "class without an objective": (
        "classes: {gold: {tier: strict}}\n" + HEAD + one(slo=None, **{"class": "gold"}),
        ["6: workloads[0].slo: is missing, and in class gold"],
    ),
    "class that is wrong": (
        "classes:\n  gold: {slo: {ttft: {p95: 500s}}}\n" + HEAD + one(slo=None, **{"class": "gold"}),
        ["2: classes.gold.slo.ttft.p95: expected between 10ms and 120s; is the unit right? (is '500s')"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_meant_is_refused_with_what_to_write(text, expected, write):
    path = write(text)
    with pytest.raises(InputError) as refused:
        load(path)
    assert [f"{path}:{line}" for line in expected] == str(refused.value).split("\n")


def test_a_class_says_what_its_workloads_do_not_say_themselves(write):
    gold = "classes:\n  gold: {slo: {itl: {p99: 40ms}}, tier: strict, mode: full, replicas: {min: 2}}\n"
    first = one(slo=None, **{"class": "gold"})
    second = one(name="b", tier="economy", **{"class": "gold"})
    one_of, other = workloads_of(load(write(gold + HEAD + first + second)))

    assert (Slo(itl=LatencyTarget(0.99, 0.04)), Tier.STRICT) == (one_of.slo, one_of.tier)
    assert (Mode.FULL, Limits(2, 64)) == (one_of.mode, one_of.limits)
    assert (Slo(ttft=LatencyTarget(0.95, 1.0)), Tier.ECONOMY, Mode.FULL) == (
        other.slo,
        other.tier,
        other.mode,
    )
