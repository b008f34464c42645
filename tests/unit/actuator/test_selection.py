"""Pods that a label selector picks, out of an index."""

import tracemalloc

import pytest

from actuator.objects.selection import Labelled


def pod(name, namespace="shop", **labels):
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels}}


PODS = [
    pod("b", app="chat", tier="gold"),
    pod("a", app="chat"),
    pod("c", app="search", tier="gold"),
    pod("bare"),
    pod("elsewhere", namespace="other", app="chat"),
]

SELECTORS = {
    "by name": ({"matchLabels": {"app": "chat"}}, ["a", "b"]),
    "all of its labels": ({"matchLabels": {"app": "chat", "tier": "gold"}}, ["b"]),
    "a label that nobody has": ({"matchLabels": {"app": "chat", "tier": "lead"}}, []),
    "expressions beside labels": (
        {
            "matchLabels": {"tier": "gold"},
            "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["chat"]}],
        },
        ["c"],
    ),
    "expressions alone": ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, ["a", "bare"]),
    "an empty one picks nothing": ({}, []),
}


@pytest.mark.parametrize(("selector", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_what_a_selector_picks_in_its_namespace(selector, expected):
    assert expected == [found["metadata"]["name"] for found in Labelled(PODS).selected("shop", selector)]


def test_nothing_is_kept_of_pods_that_have_gone():
    """Those of Jobs have labels that no other pod ever has."""
    labelled = Labelled()
    tracemalloc.start()
    try:
        for number in range(1000):
            labelled.follow([pod("a", app="chat"), pod(f"job-{number}", job=f"job-{number}")])
            if number == 99:
                early, _ = tracemalloc.get_traced_memory()
        late, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert late - early < 50_000
    assert ["a"] == [
        found["metadata"]["name"] for found in labelled.selected("shop", SELECTORS["by name"][0])
    ]
