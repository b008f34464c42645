"""Facts of devices that several claims share by consuming capacity, as Kubernetes 1.37 has them."""

import pytest

from fleet.errors import RefusedError
from simulator.api import POD, SLICE
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.manifests import request

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)

MEMORY = {"memory": {"value": "80Gi"}}


def cards(*capacities):
    """Slices of cards that may be shared, with these capacities."""

    def slices(node):
        devices = [
            {
                "name": f"gpu-{index}",
                "attributes": {"type": {"string": "gpu"}},
                "allowMultipleAllocations": True,
                "capacity": capacity,
            }
            for index, capacity in enumerate(capacities)
        ]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}
        return [{"metadata": {"generateName": f"00000-{node}-"}, "spec": spec}]

    return slices


def policed(value, default, least, step):
    """A capacity with a policy for what claims may consume."""
    return {"value": value, "requestPolicy": {"default": default, "validRange": {"min": least, "step": step}}}


def share(name="gpu", **amounts):
    more = {"capacity": {"requests": amounts}} if amounts else {}
    return request("gpu.nvidia.com", None, name=name, **more)


def consumed(lab, pod):
    return lab.results(pod)[0]["consumedCapacity"]


def test_claims_share_a_device_until_its_capacity_is_consumed(lab):
    lab.node(slices=cards(MEMORY))
    got = [lab.ask(f"p{number}", share(memory="20Gi")) for number in range(5)]
    assert ["gpu-0"] * 4 + [None] == got
    assert [{"memory": "20Gi"}] * 4 == [consumed(lab, f"p{number}") for number in range(4)]
    assert 4 == len({lab.results(f"p{number}")[0]["shareID"] for number in range(4)})


def test_freed_capacity_is_given_to_who_waits(lab):
    lab.node(slices=cards(MEMORY))
    for name in ("p", "q"):
        lab.ask(name, share(memory="40Gi"))
    assert lab.ask("r", share(memory="30Gi")) is None
    lab.delete(POD, "p")
    until(lambda: lab.is_bound("r"))


def test_amounts_are_rounded_up_to_the_step_of_the_policy(lab):
    lab.node(
        slices=cards(
            {"memory": policed("80Gi", "80Gi", "4Gi", "4Gi"), "cores": policed("1k", "1k", "50", "50")}
        )
    )
    lab.ask("p", share(memory="18Gi", cores="330"))
    assert {"memory": "20Gi", "cores": "350"} == consumed(lab, "p")


def test_a_capacity_that_a_claim_does_not_name_is_consumed_by_its_default(lab):
    """So two claims that name nothing may have one device, and the other stays free."""
    policy = {"memory": policed("80Gi", "8Gi", "4Gi", "4Gi")}
    lab.node(slices=cards(policy, policy))
    assert ["gpu-0", "gpu-0"] == [lab.ask(name, share()) for name in ("p", "q")]
    assert {"memory": "8Gi"} == consumed(lab, "p")


def test_a_capacity_without_a_policy_is_consumed_whole_by_who_does_not_name_it(lab):
    """One capacity that is not named makes a device exclusive."""
    lab.node(slices=cards({**MEMORY, "cores": {"value": "100"}}))
    assert ["gpu-0", None] == [lab.ask(name, share(memory="20Gi")) for name in ("p", "q")]
    assert {"memory": "20Gi", "cores": "100"} == consumed(lab, "p")


def test_more_than_any_device_has_waits_for_ever_and_is_not_refused(lab):
    lab.node(slices=cards(MEMORY))
    assert lab.ask("p", share(memory="200Gi")) is None


def test_two_of_one_claim_are_two_devices(lab):
    lab.node(slices=cards(MEMORY, MEMORY))
    asked = request("gpu.nvidia.com", None, count=2, capacity={"requests": {"memory": "20Gi"}})
    assert ["gpu-0", "gpu-1"] == lab.ask("p", asked)


def test_the_first_device_is_filled_before_the_next(lab):
    lab.node(slices=cards(MEMORY, MEMORY))
    got = [lab.ask(f"p{number}", share(memory="30Gi")) for number in range(3)]
    assert ["gpu-0", "gpu-0", "gpu-1"] == got


def test_whole_units_only_unless_fractions_are_switched_on(lab):
    lab.node(slices=cards({"fraction": policed("2", "1", "1", "1")}))
    lab.ask("p", share(fraction="500m"))
    assert {"fraction": "1"} == consumed(lab, "p")


def test_a_step_over_the_least_amount_must_fit_into_the_capacity(lab):
    with pytest.raises(RefusedError, match="larger than capacity value"):
        lab.node(slices=cards({"fraction": policed("1", "1", "1", "1")}))
    assert [] == [name for kind, name in lab.made if kind is SLICE]
