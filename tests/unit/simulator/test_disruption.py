"""How many ready pods a budget lets go, as the disruption controller of Kubernetes counts."""

import pytest

from simulator.api import BUDGET
from simulator.errors import NotModelledError

TEN_MINUTES_S = 600


def budget(selector=None, **spec):
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}} if selector is None else selector, **spec},
    }


def status(town, asked, ready, **spec):
    """Return desired healthy, expected and allowed, once as many are ready as there is room for."""
    town = town()
    town.store.create(budget(**spec))
    town.serve("web", asked)
    town.wait(TEN_MINUTES_S)
    seen = town.store.get(BUDGET, "shop", "web")["status"]
    assert ready == seen["currentHealthy"]
    return tuple(seen[name] for name in ("desiredHealthy", "expectedPods", "disruptionsAllowed"))


@pytest.mark.parametrize(
    ("expected", "spec"),
    [
        ((2, 3, 1), {"maxUnavailable": 1}),
        ((0, 3, 3), {"maxUnavailable": 5}),
        ((2, 3, 1), {"maxUnavailable": "10%"}),
        ((1, 3, 2), {"maxUnavailable": "50%"}),
        ((2, 3, 1), {"minAvailable": "50%"}),
        ((2, 3, 1), {"minAvailable": 2}),
        ((4, 3, 0), {"minAvailable": 4}),
        ((0, 0, 0), {}),
    ],
    ids=str,
)
def test_percentages_are_rounded_up_and_a_budget_of_nothing_lets_none_go(town, expected, spec):
    assert expected == status(town, 3, 3, **spec)


def test_pods_that_are_not_ready_are_unavailable_already(town):
    assert (5, 6, 0) == status(town, 6, 4, maxUnavailable=1)  # two cards carry four


def test_an_empty_selector_is_of_every_pod(town):
    assert (2, 3, 1) == status(town, 3, 3, selector={}, maxUnavailable=1)


def test_a_selector_by_expressions_is_not_modelled(town):
    expressions = [{"key": "app", "operator": "Exists"}]
    with pytest.raises(NotModelledError, match="selectors other than equality"):
        status(town, 1, 1, selector={"matchExpressions": expressions}, maxUnavailable=1)
