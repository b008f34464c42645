"""A node under a MIG manager whose cards NVIDIA's DRA driver offers: its slices are the evidence."""

import pytest

from actuator.layouts.node import CONFIG_LABEL
from fleet.boards import H100_80GB
from simulator.api import CLAIM, NODE, SLICE
from simulator.driver import resource_slices
from simulator.mig_manager import Fault
from simulator.offering import ByDriver
from tests.fakes.layouts import DAY, Site, wish
from tests.fakes.turned import NAME

OFFERED = {
    "night": {"1g.10gb": 14, "7g.80gb": 2},
    "day": {"1g.10gb": 7, "3g.40gb": 3, "4g.40gb": 1, "7g.80gb": 1},
}


class Claimed(Site):
    """The site under DRA's driver."""

    def __init__(self, faults=(), **more):
        super().__init__(faults, sync_s=0.0, offering=ByDriver, **more)

    @property
    def offer(self):
        counts = {}
        for device in self.devices:
            counts[device.profile] = counts.get(device.profile, 0) + 1
        return counts

    @property
    def devices(self):
        return self.published(NAME).devices_of(NAME)

    def add_pod(self, name, profile, **annotations):
        """A pod whose claim has been given the last instance of a profile."""
        device = next(each for each in reversed(self.devices) if each.profile == profile)
        result = {"driver": "gpu.nvidia.com", "pool": device.pool, "device": device.name, "request": "gpu"}
        user = {"resource": "pods", "name": name, "uid": name}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        meta = {"namespace": "llm", "name": name}
        claim = self.store.create(
            {"apiVersion": CLAIM.api_version, "kind": "ResourceClaim", "metadata": meta, "spec": {}}
        )
        self.store.replace_status({**claim, "status": status})
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
        claims = [{"name": "gpu", "resourceClaimName": name}]
        spec = {"nodeName": NAME, "containers": [container], "resourceClaims": claims}
        meta = {**meta, "annotations": annotations}
        self.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def test_a_node_gets_another_layout_and_is_let_go():
    site = Claimed()
    acts, _ = site.until_quiet()

    assert ["hold", "write", "label", "wait", "release", "nothing"] == acts
    assert OFFERED["day"] == site.offer
    assert (DAY, False, None) == (site.manager.cuts, site.is_held, site.progress)


def test_pods_with_claims_on_cards_that_change_are_evicted_and_no_others():
    """Which card a pod has is not asked: whoever holds a profile of one that is cleared goes."""
    site = Claimed()
    for name, profile in (("small", "1g.10gb"), ("large", "7g.80gb")):
        site.add_pod(name, profile)
    site.until_quiet()
    assert [] == site.pods_on(NAME)
    assert OFFERED["day"] == site.offer

    site.add_pod("small-again", "1g.10gb")
    site.add_pod("large-again", "7g.80gb")
    site.until_quiet(wish([*DAY[:2], {"3g.40gb": 2}, DAY[3]]))
    assert ["small-again"] == [pod["metadata"]["name"] for pod in site.pods_on(NAME)]


@pytest.mark.parametrize("fault", [Fault.FAILED, Fault.PARTIAL, Fault.HOLLOW])
def test_what_goes_wrong_once_is_tried_again(fault):
    site = Claimed([fault])
    site.until_quiet()
    assert OFFERED["day"] == site.offer


@pytest.mark.parametrize(
    "faults", [[Fault.FAILED] * 3, [Fault.PARTIAL] * 3, [Fault.HOLLOW] * 3, [Fault.STALE], [Fault.REBOOTING]]
)
def test_what_goes_wrong_again_is_taken_back_and_left_alone(faults):
    """Stale: nobody has restarted the driver's plugin, which finds instances only when it starts."""
    site = Claimed(faults)
    _, last = site.until_quiet()

    assert "release" == last.act
    assert (OFFERED["night"], "night") == (site.offer, site.labels[CONFIG_LABEL])
    assert "left alone for an hour" in site.turn().because


def test_what_a_device_plugin_that_is_gone_left_in_the_node_is_no_evidence():
    """Kubelets keep the resources of a plugin that does not run any more."""
    site = Claimed([Fault.STALE])
    body = site.node(NAME)
    left = {f"nvidia.com/mig-{profile}": str(count) for profile, count in OFFERED["day"].items()}
    site.store.replace_status({**body, "status": {**body.get("status", {}), "allocatable": left}})
    _, last = site.until_quiet()
    assert "it is as it was before" in last.because


def test_cards_that_the_driver_cuts_as_claims_come_are_nobody_elses_to_cut():
    site = Claimed()
    (old,) = site.store.list(SLICE)
    site.store.delete(SLICE, None, old["metadata"]["name"])
    for body in resource_slices(NAME, [H100_80GB] * 4):
        body["metadata"]["ownerReferences"][0]["uid"] = site.store.get(NODE, None, NAME)["metadata"]["uid"]
        site.store.create(body)
    step = site.turn()
    assert "refuse" == step.act
    assert "cuts its cards as claims come (dynamic MIG)" in step.because
    assert "night" == site.labels[CONFIG_LABEL]
