"""What a user is told of workloads that cannot stand as they are asked to."""

from dataclasses import replace

import pytest

from fleet.host import Host
from foreslice.terms import gathered
from tests.builders.deciding import workload
from tests.builders.fleet import fleet, running, standing

ASK = "serving/chat: its own Deployment does not ask for other fault domains"
ONE = "serving/chat: all replicas stand in fault domain a"


@pytest.mark.parametrize(
    ("stands", "is_spread", "says"),
    [
        ("2 x whole", True, [ONE]),
        ("3 x whole", True, []),
        ("1 x whole", True, []),
        ("2 x whole", False, [ASK, ONE]),
        ("3 x whole", False, [ASK]),
    ],
)
def test_what_keeps_a_spread_workload_together_is_said(stands, is_spread, says):
    zones = {f"node-{n}": Host(zone) for n, zone in enumerate("aab")}
    scene = running(fleet(3, 1, hosts=zones), standing("chat", stands))
    (one,) = scene.standings
    own = replace(one, variants=(replace(one.variants[0], is_spread=is_spread),))
    scene = replace(scene, standings=(own,))
    lines = gathered([workload(is_spread=True)], scene)
    assert says == [line.partition(": add")[0] for line in lines]
    assert [] == gathered([workload()], scene)
    assert [] == gathered([workload("gone", is_spread=True)], scene)
