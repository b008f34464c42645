"""What owners ask in their objects: read as far as it restricts, never further."""

from math import inf

import pytest

from actuator.objects.restraints import (
    approval,
    budgets_of,
    changes_per_day,
    held_until_s,
    permitted,
    spared_by,
)
from fleet.restraints import Approval, DisruptionBudget
from fleet.workload import Mode
from tests.fakes.manifests import deployment, pod

LABELS = [{"app": "llama"}, {"app": "llama", "foreslice.dev/variant": "llama-1g-10gb"}]


def annotated(body, **annotations):
    named = {name.replace("__", "/").replace("_", "-"): value for name, value in annotations.items()}
    body["metadata"]["annotations"] = {f"foreslice.dev/{name}": value for name, value in named.items()}
    return body


def budget(name="llama", selector=None, status=None, generation=1):
    return {
        "metadata": {"name": name, "namespace": "llm", "generation": generation},
        "spec": {"selector": {"matchLabels": {"app": "llama"}} if selector is None else selector},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 2} if status is None else status,
    }


@pytest.mark.parametrize("mode", Mode)
def test_a_mode_is_permitted_by_its_name(mode):
    assert mode == permitted(annotated(deployment(), mode=mode.label))


@pytest.mark.parametrize("text", ["", "Full", "everything", "4", "full\n"])
def test_what_is_no_mode_lets_nothing_be_done(text):
    assert Mode.FORECAST_ONLY == permitted(annotated(deployment(), mode=text))


@pytest.mark.parametrize(
    ("text", "mode"), [("true", Mode.FORECAST_ONLY), ("", Mode.FORECAST_ONLY), ("false", Mode.FULL)]
)
def test_paused_by_anything_but_false(text, mode):
    assert mode == permitted(annotated(deployment(), paused=text))


NOON, NOON_S = "2026-12-01T12:00:00Z", 1796126400.0


@pytest.mark.parametrize(
    ("text", "until_s"),
    [
        (NOON, NOON_S),
        (" 2026-12-01T13:00+01:00 ", NOON_S),
        ("2026-12-01T12:00", inf),
        ("tomorrow", inf),
        ("", inf),
        ("9" * 5000, inf),
    ],
)
def test_a_hold_that_cannot_be_read_never_ends(text, until_s):
    assert until_s == held_until_s(annotated(deployment(), hold_until=text))
    assert -inf == held_until_s(deployment())


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("2 x h100-80gb:whole", Approval("2 x h100-80gb:whole", inf)),
        (f"2 x h100-80gb:whole until {NOON}", Approval("2 x h100-80gb:whole", NOON_S)),
        ("2 x h100-80gb:whole until later", None),
        ("2 x h100-80gb:whole until 2026-12-01T12:00", None),
        (f" until {NOON}", None),
        ("", None),
    ],
)
def test_an_approval_that_cannot_be_read_is_none(text, agreed):
    assert agreed == approval(annotated(deployment(), approved=text))


def test_a_pause_wins_over_a_mode():
    assert Mode.FORECAST_ONLY == permitted(annotated(deployment(), mode="full", paused="true"))


@pytest.mark.parametrize(
    ("annotations", "mark"),
    [
        ({"karpenter.sh/do-not-disrupt": "true"}, "karpenter.sh/do-not-disrupt: true"),
        ({"karpenter.sh/do-not-disrupt": "false"}, ""),
        (
            {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            "cluster-autoscaler.kubernetes.io/safe-to-evict: false",
        ),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, ""),
        (None, ""),
    ],
)
def test_a_pod_is_spared_by_the_marks_of_node_autoscalers(annotations, mark):
    body = pod("p")
    body["metadata"]["annotations"] = annotations
    assert mark == spared_by(body)


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app": "llama"}},
        {"matchLabels": {"foreslice.dev/variant": "llama-1g-10gb"}},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {},
    ],
    ids=["labels", "one variant", "an expression", "all pods of the namespace"],
)
def test_a_budget_binds_whose_selector_matches(selector):
    assert (DisruptionBudget("llama", 2),) == budgets_of([budget(selector=selector)], LABELS)


def test_a_budget_without_a_selector_selects_nothing():
    body = budget()
    del body["spec"]["selector"]
    assert () == budgets_of([body], LABELS)


@pytest.mark.parametrize(
    ("status", "generation"),
    [
        ({"observedGeneration": 1, "disruptionsAllowed": 2}, 2),
        ({"observedGeneration": 1, "disruptionsAllowed": 0}, 1),
        ({}, 1),
    ],
    ids=["changed since", "none left", "no status yet"],
)
def test_what_a_budget_does_not_say_now_it_does_not_allow(status, generation):
    found = budgets_of([budget(status=status, generation=generation)], LABELS)
    assert (DisruptionBudget("llama", 0),) == found


def test_budgets_come_by_name():
    found = budgets_of([budget("z"), budget("a")], LABELS)
    assert ["a", "z"] == [held.name for held in found]


@pytest.mark.parametrize(("expected", "text"), [(0, "0"), (3, "3"), (0, "-1"), (0, "many"), (0, "")])
def test_changes_a_day_are_as_many_as_it_says_and_none_where_it_is_no_number(expected, text):
    assert expected == changes_per_day(annotated(deployment(), changes_per_day=text))


def test_without_an_annotation_any_number_of_changes_may_be_made():
    assert changes_per_day(deployment()) is None
