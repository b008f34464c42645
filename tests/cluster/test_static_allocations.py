"""What the scheduler gives from cards that are cut beforehand or shared, as our driver publishes them.

The same was seen on slices that NVIDIA's driver published (tests/data/nvidia-dra/allocation-cases.yaml).
"""

import pytest

from fleet.boards import H100_80GB
from fleet.mig import Placement
from simulator.static_driver import BY_MEMORY, UNLIMITED, Card, Sharing, static_slices
from tests.cluster.conftest import NEWEST
from tests.fakes.manifests import cel, request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

WHOLE = Card(H100_80GB)
ENGINES = ("copyEngines", "decoders", "encoders", "jpegEngines", "multiprocessors", "ofaEngines")
NO_ENGINES = dict.fromkeys(ENGINES, "0")


def cut(*placements):
    return Card(H100_80GB, tuple(Placement(profile, start) for profile, start in placements))


def share(profile=None, **amounts):
    """A request for a share of a whole card, or of an instance."""
    more = {"capacity": {"requests": amounts}} if amounts else {}
    return request("mig.nvidia.com" if profile else "gpu.nvidia.com", profile, **more)


@pytest.fixture
def ask(lab):
    """A function that asks for the same a number of times and returns what was given each time."""

    def asks(asked, times=1):
        number = len(lab.made)
        return [lab.ask(f"p{number}-{nth}", asked) for nth in range(times)]

    return asks


def consumed(lab):
    """What the newest pod's claim consumes of its device."""
    return lab.results(lab.made[-1][1])[0]["consumedCapacity"]


class TestStaticMig:
    @pytest.fixture(autouse=True)
    def node(self, lab):
        cards = [
            cut(("3g.40gb", 4), ("2g.20gb", 2), ("1g.10gb", 1), ("1g.10gb", 0)),
            cut(("7g.80gb", 0)),
            cut(),
            WHOLE,
        ]
        lab.node(slices=lambda node: static_slices(node, cards))

    def test_each_instance_is_given_once(self, ask):
        assert ["gpu-0-mig-3g40gb-9-4"] == ask(share("3g.40gb"))
        assert ["gpu-0-mig-1g10gb-19-1", "gpu-0-mig-1g10gb-19-0", None] == ask(share("1g.10gb"), 3)
        assert ["gpu-3", None] == ask(share(), 2)

    def test_a_place_can_be_asked_for_by_the_memory_slices_that_it_covers(self, ask):
        covers = cel("'memorySlice2' in device.capacity['gpu.nvidia.com']")
        assert ["gpu-0-mig-2g20gb-14-2"] == ask(request(profile=None, selectors=[covers]))


class TestByMemory:
    @pytest.fixture(autouse=True)
    def node(self, lab):
        lab.node(slices=lambda node: static_slices(node, [WHOLE, WHOLE], BY_MEMORY))

    def test_memory_fills_one_card_after_the_other(self, ask):
        assert ["gpu-0", "gpu-0", "gpu-0", "gpu-1"] == ask(share(memory="20Gi"), 4)
        assert [None] == ask(share()), "who names nothing wants a whole, empty card"
        assert [None] == ask(share(memory="100Gi"))

    def test_amounts_are_rounded_up_to_mebibytes(self, ask, lab):
        ask(share(memory="1500000"))
        assert {"memory": "2Mi"} == consumed(lab)

    def test_capacities_that_no_device_has_are_never_given(self, ask):
        assert [None] == ask(share(shares="1"))
        assert [None] == ask(share(**{"gpu.nvidia.com/memory": "1Gi"}))


class TestUnlimited:
    @pytest.fixture(autouse=True)
    def node(self, lab):
        lab.node(slices=lambda node: static_slices(node, [WHOLE, WHOLE], UNLIMITED))

    def test_who_names_nothing_takes_nothing(self, ask, lab):
        assert ["gpu-0"] * 4 == ask(share(), 4)
        assert {"memory": "0"} == consumed(lab)

    def test_memory_that_is_named_is_counted(self, ask):
        assert ["gpu-0", "gpu-1", None] == ask(share(memory="60Gi"), 3)

    def test_two_of_one_claim_are_two_cards(self, ask):
        assert [["gpu-0", "gpu-1"]] == ask(request("gpu.nvidia.com", None, count=2))


class TestShares:
    @pytest.fixture(autouse=True)
    def node(self, lab):
        cards = [cut(("3g.40gb", 4), ("1g.10gb", 0)), WHOLE]
        lab.node(slices=lambda node: static_slices(node, cards, Sharing(shares=4)))

    def test_a_card_has_so_many_shares(self, ask, lab):
        assert ["gpu-1"] * 3 == ask(share(), 3)
        assert {"memory": "0", "shares": "1"} == consumed(lab)
        assert ["gpu-1", None] == ask(share(), 2)

    def test_an_instance_is_exclusive_unless_its_engines_are_named(self, ask, lab):
        assert ["gpu-0-mig-1g10gb-19-0"] == ask(share("1g.10gb"))
        engines = {
            "copyEngines": "1",
            "decoders": "1",
            "encoders": "0",
            "jpegEngines": "1",
            "ofaEngines": "0",
        }
        shared = {"memory": "0", "shares": "1", "multiprocessors": "16", "memorySlice0": "1"}
        assert engines | shared == consumed(lab)
        assert [None] == ask(share("1g.10gb"))

    def test_an_instance_is_shared_by_who_asks_for_none_of_its_engines(self, ask):
        device = "gpu-0-mig-1g10gb-19-0"
        assert [device] * 4 + [None] == ask(share("1g.10gb", memorySlice0="0", **NO_ENGINES), 5)

    def test_multiprocessors_can_be_counted_like_memory(self, ask):
        places = {f"memorySlice{unit}": "0" for unit in range(4, 8)}
        asked = share("3g.40gb", **NO_ENGINES | {"multiprocessors": "30"}, **places)
        assert ["gpu-0-mig-3g40gb-9-4", "gpu-0-mig-3g40gb-9-4", None] == ask(asked, 3)

    def test_more_shares_than_there_are_are_never_given(self, ask):
        assert [None] == ask(share("3g.40gb", shares="5"))
        assert ["gpu-0-mig-3g40gb-9-4"] == ask(share("3g.40gb", shares="3"))
