"""Autoscalers of the embedded world hold replicas to their bounds, and let them sink to the minimum."""

import pytest

from simulator.api import AUTOSCALER, DEPLOYMENT
from simulator.errors import NotModelledError
from tests.contract.test_floor_contract import autoscaler


def replicas(town):
    return town.store.get(DEPLOYMENT, "shop", "web")["spec"]["replicas"]


@pytest.mark.parametrize(("expected", "before"), [(2, 1), (2, 2), (4, 6), (0, 0)])
def test_it_holds_replicas_to_its_bounds_but_leaves_none_at_none(town, expected, before):
    town = town()
    town.serve("web", before)
    town.store.create(autoscaler(low=2, high=4))
    town.wait(60)
    assert expected == replicas(town)


def test_replicas_sink_to_a_lower_minimum_once_it_has_stood_for_five_minutes(town):
    town = town()
    town.serve("web", 3)
    held = town.store.create(autoscaler(low=3, high=4))
    town.wait(60)
    town.store.replace({**held, "spec": {**held["spec"], "minReplicas": 1}})
    town.wait(290)
    assert 3 == replicas(town)
    town.wait(60)
    assert 1 == replicas(town)


def test_metrics_are_not_modelled(town):
    town = town()
    body = autoscaler()
    town.store.create({**body, "spec": {**body["spec"], "metrics": [{"type": "Resource"}]}})
    with pytest.raises(NotModelledError, match="metrics"):
        town.wait(60)


def test_one_that_is_deleted_scales_no_more(town):
    town = town()
    town.serve("web", 1)
    town.store.create(autoscaler(low=2))
    town.store.delete(AUTOSCALER, "shop", "by-load")
    town.wait(60)
    assert 1 == replicas(town)
