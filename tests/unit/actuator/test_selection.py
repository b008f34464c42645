"""Pods that a label selector picks, out of an index."""

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
