"""What becomes of the slices that our driver publishes, by minor: found by reading back, never by version."""

import pytest

from fleet.boards import A100_80GB, H100_80GB
from simulator.api import SLICE
from simulator.driver import resource_slices
from simulator.rest import address
from tests.cluster.conftest import MINORS
from tests.fakes.manifests import request

COUNTERS = {"sharedCounters", "consumesCounters"}
# Partitionable devices are on by default from 1.36.
DROPPED = {"1.34": COUNTERS, "1.35": COUNTERS, "1.36": set(), "1.37": set()}
BOARDS = [H100_80GB] * 7 + [A100_80GB]


def without(spec, parts):
    """A slice's spec without some of its parts, wherever they are."""
    kept = {name: part for name, part in spec.items() if name not in parts}
    if "devices" in kept:
        kept["devices"] = [
            {name: part for name, part in device.items() if name not in parts} for device in kept["devices"]
        ]
    return kept


@pytest.fixture
def read_back(lab):
    """Slices of a node of eight cards as the server gives them back, beside what was written."""
    node = lab.node(*BOARDS)
    query = {"fieldSelector": f"spec.nodeName={node}"}
    found = lab.server.request("GET", address(SLICE), query=query)["items"]
    found.sort(key=lambda body: body["metadata"]["name"])
    return [body["spec"] for body in resource_slices(node, BOARDS)], [body["spec"] for body in found]


def test_the_server_takes_them_as_they_are_and_drops_at_most_the_counters(plane, read_back):
    written, kept = read_back
    assert [without(spec, DROPPED[plane.minor]) for spec in written] == kept


@pytest.mark.parametrize("plane", [m for m in MINORS if DROPPED[m]], indirect=True)
def test_where_counters_are_dropped_a_card_is_given_away_twice(lab):
    """Why dynamic MIG must be refused there: whole card and instance of it at the same time."""
    lab.node(H100_80GB)
    assert ["gpu-0", "gpu-0-mig-1g10gb-19-0"] == [
        lab.ask("whole", request("gpu.nvidia.com", profile=None)),
        lab.ask("part", request(profile="1g.10gb")),
    ]


@pytest.mark.parametrize("plane", [m for m in MINORS if not DROPPED[m]], indirect=True)
def test_where_counters_are_kept_a_card_is_given_away_once(lab):
    lab.node(H100_80GB)
    assert ["gpu-0", None] == [
        lab.ask("whole", request("gpu.nvidia.com", profile=None)),
        lab.ask("part", request(profile="1g.10gb")),
    ]
