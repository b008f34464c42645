"""The fleets that these tests decide about are what NVIDIA's driver publishes."""

from pathlib import Path

import pytest
import yaml

from fleet.boards import H100_80GB
from tests.builders.fleet import card, configuration, fleet, running, standing

OBSERVED = Path(__file__).parents[2] / "data/nvidia-dra/slices-h100-dynamic-mig.yaml"


def amount(quantity):
    return int(quantity["value"].removesuffix("Mi"))


@pytest.fixture(scope="module")
def observed():
    return [body["spec"] for body in yaml.safe_load_all(OBSERVED.read_text())]


def test_devices_are_named_and_ordered_as_observed(observed):
    devices, _ = card("node-h100-dynamic", 0)
    assert [device["name"] for device in observed[1]["devices"]] == [device.name for device in devices]


def test_devices_draw_what_was_observed(observed):
    devices, _ = card("node-h100-dynamic", 0)
    for published, device in zip(observed[1]["devices"], devices, strict=True):
        (consumed,) = published["consumesCounters"]
        draws = {(consumed["counterSet"], name): amount(q) for name, q in consumed["counters"].items()}
        assert draws == dict(device.draws)
        assert published["attributes"]["productName"]["string"] == device.product
        assert published["attributes"]["type"]["string"] == device.kind


def test_a_card_holds_what_was_observed(observed):
    _, counters = card("node-h100-dynamic", 0)
    (held,) = observed[0]["sharedCounters"]
    assert {(held["name"], name): amount(q) for name, q in held["counters"].items()} == counters


def test_cards_are_spread_over_nodes_in_order():
    scene = fleet(5, per_node=2)
    assert ["node-0", "node-1", "node-2"] == [pool.name for pool in scene.pools]
    assert [2, 2, 1] == [sum(d.kind == "gpu" for d in pool.devices) for pool in scene.pools]
    assert 5 == len({gpu.uuid for gpu in scene.gpus})
    assert (H100_80GB,) == scene.boards()


def test_a_scene_runs_what_stands_where_the_scheduler_puts_it():
    scene = running(fleet(1), standing("chat", "1 x 2g.20gb"), standing("code", "1 x 2g.20gb"))
    names = ["gpu-0-mig-2g20gb-14-0", "gpu-0-mig-2g20gb-14-2"]
    assert names == [device.name for device in scene.allocated]
    assert configuration("1 x 2g.20gb").counts == scene.standings[0].ready.counts


def test_a_scene_that_cannot_be_is_refused():
    with pytest.raises(AssertionError, match="no room for chat-whole"):
        running(fleet(1), standing("chat", "2 x whole"))
