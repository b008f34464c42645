"""Which pods may be on the cards of a node that a change clears."""

import pytest

from actuator.inventory.layouts import card_layouts
from actuator.inventory.nodes import node_view
from actuator.layouts.change import change_of
from actuator.layouts.named import entries_of
from actuator.layouts.node import may_be_cleared
from fleet.boards import H100_80GB

CUT, OTHER, WHOLE = [{"1g.10gb": 7}], [{"7g.80gb": 1}], [None]
PRODUCT = "NVIDIA-H100-80GB-HBM3"
SINGLE = f"{PRODUCT}-MIG-1g.10gb"


@pytest.mark.parametrize(
    ("expected", "resource", "product", "before"),
    [
        (True, "nvidia.com/mig-1g.10gb", PRODUCT, CUT),
        (False, "nvidia.com/gpu", PRODUCT, CUT),
        (True, "nvidia.com/gpu", SINGLE, CUT),
        (True, "nvidia.com/gpu", PRODUCT, WHOLE),
        (True, "nvidia.com/gpu.shared", f"{PRODUCT}-SHARED", WHOLE),
        (False, "nvidia.com/mig-2g.20gb", PRODUCT, CUT),
        (False, "example.com/nic", PRODUCT, CUT),
    ],
)
def test_a_pod_is_known_by_the_resource_as_which_its_device_is_offered(expected, resource, product, before):
    """Under MIG strategy `single` that is the one of whole cards, and shared ones have another name."""
    node = {"metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": product}}}
    view, _ = node_view(node, {})
    change = change_of(H100_80GB, *(card_layouts(entries_of(cuts), 1, H100_80GB) for cuts in (before, OTHER)))
    pod = {"spec": {"containers": [{"resources": {"limits": {resource: "1"}}}]}}
    assert expected is may_be_cleared(pod, view, change)
