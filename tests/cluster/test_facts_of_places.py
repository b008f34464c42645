"""Where kube-scheduler puts pods that copies are made of: apart over domains first, together inside one."""

import pytest

from actuator.manifest import VARIANT_LABEL
from actuator.objects.variants import Makings, variant_objects
from fleet.boards import H100_80GB
from fleet.shape import Shape
from simulator.api import NODE, POD
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.manifests import claim_spec, deployment, request, template

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

ZONE = "topology.kubernetes.io/zone"
SMALL = Shape("h100-80gb", "1g.10gb")


def pods_of_a_copy(spread_over):
    """Labels and affinity of the pods that a copy of llama is made of."""
    whole = {"mig-3g": template("mig-3g", claim_spec(request("gpu.nvidia.com", None)))}
    _, copy = variant_objects(
        deployment(), Makings(whole, (H100_80GB,), spread_over=spread_over), "llama-1g", SMALL
    )
    spec = copy["spec"]["template"]["spec"]
    wishes = {key: spec[key] for key in ("affinity", "topologySpreadConstraints") if key in spec}
    return copy["spec"]["template"]["metadata"]["labels"], wishes


def start(lab, name, labels, **spec):
    """Run a pod with one slice, and return the node that it gets."""
    slice_of = request("mig.nvidia.com", "1g.10gb")
    made = lab.pod(name, claim=lab.claim(name, slice_of), **spec)
    assert made["metadata"]["name"] == name
    lab.patch(POD, name, {"metadata": {"labels": labels}})
    until(lambda: lab.is_bound(name))
    return lab.get(POD, name)["spec"]["nodeName"]


@pytest.mark.parametrize("spread_over", [ZONE, ""])
def test_copies_of_a_spread_workload_are_dealt_out_over_zones_though_many_others_gather_in_one(
    lab, spread_over
):
    zones = {}
    for zone in "aabb":
        name = lab.node(H100_80GB)
        lab.patch(NODE, name, {"metadata": {"labels": {ZONE: zone}}})
        zones[name] = zone
    others, beside = pods_of_a_copy("")
    crowd = [start(lab, f"x{n}", {**others, "app": "other", VARIANT_LABEL: "o"}, **beside) for n in range(4)]
    labels, wishes = pods_of_a_copy(spread_over)
    got = [zones[start(lab, f"p{n}", labels, **wishes)] for n in range(3)]
    first = zones[crowd[0]]
    assert {first} == {zones[node] for node in crowd[1:]}
    if spread_over:
        assert sorted(["a", "b"]) == sorted(got[:2])
    else:
        assert [first] * 3 == got
