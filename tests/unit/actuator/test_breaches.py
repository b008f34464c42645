"""A scheduler that gives away what is held is found out by what it allocated."""

import pytest

from actuator.objects.breaches import LAG_S, breaches
from actuator.objects.holds import rule_of, toleration
from fleet.holds import Hold
from fleet.workload import WorkloadKey
from simulator.api import timestamp

CHAT = WorkloadKey("serving", "chat")
HELD_S = 1_800_000_000.0
DEVICE = ("n0", "gpu-0-mig-3g40gb-9-0")
RULE = rule_of(Hold(DEVICE, CHAT, "a replica on 3g.40gb", HELD_S + 1800.0))
RULE["metadata"]["creationTimestamp"] = timestamp(HELD_S)


def claim(after_s=LAG_S + 1, device=DEVICE[1], driver="gpu.nvidia.com", **result):
    results = [{"request": "r", "driver": driver, "pool": DEVICE[0], "device": device, **result}]
    allocation = {"allocationTimestamp": timestamp(HELD_S + after_s), "devices": {"results": results}}
    return {"metadata": {"namespace": "batch", "name": "job"}, "status": {"allocation": allocation}}


def test_a_held_device_that_was_given_to_others_later_on_is_named():
    said = "gpu-0-mig-3g40gb-9-0 of n0 is held for serving/chat, and was given to ResourceClaim batch/job"
    assert (said,) == breaches([RULE], [claim()])


@pytest.mark.parametrize(
    "innocent",
    [
        claim(after_s=-600.0),
        claim(after_s=LAG_S - 1),
        claim(tolerations=[toleration(CHAT)]),
        claim(tolerations=[{"operator": "Exists"}]),
        claim(device="gpu-1"),
        claim(driver="other"),
        claim(adminAccess=True),
        {"metadata": {"namespace": "batch", "name": "job"}},
    ],
    ids=["before", "at-once", "owner", "tolerates-all", "elsewhere", "driver", "monitor", "waits"],
)
def test_who_was_there_before_or_may_be_there_is_none(innocent):
    assert () == breaches([RULE], [innocent])
