"""What is published is held against what the real driver published for the same cards."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from actuator.objects.slices import SliceReader
from fleet.boards import A30_24GB, A100_80GB, BOARDS, H100_80GB
from simulator.api import NODE, SLICE
from simulator.driver import publish, resource_slices
from simulator.errors import NotModelledError

OBSERVED = Path(__file__).parents[2] / "data" / "nvidia-dra"
CASES = [
    pytest.param("slices-h100-dynamic-mig.yaml", "node-h100-dynamic", H100_80GB, 26, id="h100"),
    pytest.param(
        "slices-a100-dynamic-mig-mode-on.yaml", "node-a100-dynamic-mig-on", A100_80GB, 25, id="a100"
    ),
]


@cache
def observed(file):
    return list(yaml.safe_load_all((OBSERVED / file).read_text()))


@pytest.mark.parametrize(("file", "node", "board", "devices"), CASES)
class TestAgainstTheRealDriver:
    def test_slices_are_equal_in_every_field(self, file, node, board, devices):
        assert observed(file) == resource_slices(node, [board])

    def test_devices_come_in_the_same_order(self, file, node, board, devices):
        ours = [device["name"] for device in resource_slices(node, [board])[1]["spec"]["devices"]]
        assert [device["name"] for device in observed(file)[1]["spec"]["devices"]] == ours
        assert devices == len(ours)

    def test_devices_are_equal_attribute_by_attribute(self, file, node, board, devices):
        ours = {device["name"]: device for device in resource_slices(node, [board])[1]["spec"]["devices"]}
        for theirs in observed(file)[1]["spec"]["devices"]:
            mine = ours[theirs["name"]]
            for part in ("attributes", "capacity"):
                for name, value in theirs[part].items():
                    assert (theirs["name"], name, value) == (theirs["name"], name, mine[part].get(name))
                assert theirs[part].keys() == mine[part].keys()
            assert theirs["consumesCounters"] == mine["consumesCounters"]

    def test_counters_are_equal(self, file, node, board, devices):
        assert observed(file)[0]["spec"] == resource_slices(node, [board])[0]["spec"]


def test_counters_come_first_then_one_slice_for_each_card():
    slices = resource_slices("n0", [H100_80GB] * 3)
    assert [["sharedCounters"], ["devices"], ["devices"], ["devices"]] == [
        [part for part in ("sharedCounters", "devices") if part in body["spec"]] for body in slices
    ]
    assert ["gpu-0-counter-set", "gpu-1-counter-set", "gpu-2-counter-set"] == [
        counters["name"] for counters in slices[0]["spec"]["sharedCounters"]
    ]
    assert {4} == {body["spec"]["pool"]["resourceSliceCount"] for body in slices}


def test_slices_are_named_so_that_they_sort_in_published_order():
    prefixes = [body["metadata"]["generateName"] for body in resource_slices("n0", [H100_80GB] * 8)]
    assert prefixes == sorted(prefixes)


def test_more_counter_sets_than_a_slice_holds_are_not_modelled():
    assert 9 == len(resource_slices("n0", [H100_80GB] * 8))
    with pytest.raises(NotModelledError, match="9 cards"):
        resource_slices("n0", [H100_80GB] * 9)


def test_a_board_that_needs_a_reset_to_leave_mig_mode_is_not_offered_whole():
    kinds = {
        device["attributes"]["type"]["string"]
        for device in resource_slices("n0", [A30_24GB])[1]["spec"]["devices"]
    }
    assert {"mig"} == kinds


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.id)
def test_the_board_can_be_read_back_from_what_is_published(store, board):
    store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})
    publish(store, "n0", resource_slices("n0", [board, board]))
    inventory = SliceReader().read(store.list(SLICE))
    assert [board, board] == [gpu.board for gpu in inventory.gpus]
    assert ["GPU-n0-0", "GPU-n0-1"] == [gpu.uuid for gpu in inventory.gpus]


def test_slices_go_with_their_node(store):
    store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})
    publish(store, "n0", resource_slices("n0", [H100_80GB]))
    assert 2 == len(store.list(SLICE))
    store.delete(NODE, None, "n0")
    assert [] == list(store.list(SLICE))


def test_a_driver_needs_its_node(store):
    with pytest.raises(NotModelledError, match="node n0, which is not registered"):
        publish(store, "n0", resource_slices("n0", [H100_80GB]))
