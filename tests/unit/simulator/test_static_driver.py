"""What is published is held against what the real driver published for the same cards."""

from pathlib import Path

import pytest
import yaml

from actuator.objects.slices import SliceReader
from fleet.boards import A100_80GB, H100_80GB
from fleet.mig import Placement
from simulator.api import SLICE
from simulator.driver import publish
from simulator.errors import NotModelledError
from simulator.static_driver import BY_MEMORY, UNLIMITED, Card, Sharing, static_slices

OBSERVED = Path(__file__).parents[2] / "data" / "nvidia-dra"
WHOLE = Card(H100_80GB)


def cut(*placements, board=H100_80GB):
    return Card(board, tuple(Placement(profile, start) for profile, start in placements))


CASES = [
    pytest.param(
        "static-mig",
        "static",
        [
            cut(("3g.40gb", 4), ("2g.20gb", 2), ("1g.10gb", 1), ("1g.10gb", 0)),
            cut(("7g.80gb", 0)),
            cut(),
            WHOLE,
        ],
        None,
        id="static",
    ),
    pytest.param("consumable-memory", "shares-memory", [WHOLE, WHOLE], BY_MEMORY, id="by memory"),
    pytest.param("consumable-unlimited", "shares-unlimited", [WHOLE, WHOLE], UNLIMITED, id="unlimited"),
    pytest.param(
        "consumable-4-static-mig",
        "shares-4",
        [cut(("3g.40gb", 4), ("1g.10gb", 0)), WHOLE],
        Sharing(shares=4),
        id="four shares",
    ),
]


@pytest.mark.parametrize(("file", "node", "cards", "sharing"), CASES)
def test_slices_are_those_of_the_real_driver(file, node, cards, sharing):
    observed = list(yaml.safe_load_all((OBSERVED / f"slices-h100-{file}.yaml").read_text()))
    assert observed == static_slices(f"node-h100-{node}", cards, sharing)


def test_a_layout_that_no_card_can_have_is_not_modelled():
    with pytest.raises(NotModelledError, match="overlap"):
        static_slices("n0", [cut(("4g.40gb", 0), ("3g.40gb", 0))])


def test_more_devices_than_a_slice_holds_are_not_modelled():
    full = cut(*(("1g.10gb", start) for start in range(7)))
    assert 126 == len(static_slices("n0", [full] * 18)[0]["spec"]["devices"])
    with pytest.raises(NotModelledError, match="133 devices"):
        static_slices("n0", [full] * 19)


def test_boards_can_be_read_back_from_what_is_published(store):
    store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})
    cards = [cut(("3g.40gb", 0), ("3g.40gb", 4)), cut(("7g.80gb", 0), board=A100_80GB), WHOLE]
    publish(store, "n0", static_slices("n0", cards))
    inventory = SliceReader().read(store.list(SLICE))
    assert [H100_80GB, A100_80GB, H100_80GB] == [gpu.board for gpu in inventory.gpus]
    assert [{0, 1, 2, 3}, {4, 5, 6, 7}] == [device.memory_slices for device in inventory.pools[0].devices[:2]]
