"""Standby pods in the embedded cluster: they share a claim, and serve only while gate and engine are open."""

import copy

import pytest

from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import H100_80GB
from fleet.standby import Sleeper
from fleet.workload import WorkloadKey
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.pods import condition, with_condition
from tests.builders.dormitory import WHOLE, Dormitory

GATE = "example.org/let"


@pytest.fixture
def place():
    """A dormitory with a claim that pods of two workloads share."""
    made = Dormitory()
    spec = claim_template("shop", H100_80GB, WHOLE, Ask("gpu", request_of(H100_80GB, WHOLE)))["spec"]["spec"]
    claim = {"apiVersion": CLAIM.api_version, "kind": CLAIM.name, "spec": spec}
    made.store.create({**claim, "metadata": {"name": "s", "namespace": "shop"}})
    return made


def board(place, name):
    """Add a standby pod of a workload, wait until it has loaded, and put it to sleep."""
    pods = copy.deepcopy(place.store.get(DEPLOYMENT, "shop", name)["spec"]["template"])
    spec = {
        **pods["spec"],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "s"}],
        "readinessGates": [{"conditionType": GATE}],
    }
    metadata = {"name": f"{name}-s", "namespace": "shop", "labels": pods["metadata"]["labels"]}
    place.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    place.wait(30)
    place.mode.sleep(sleeper(name))
    place.wait(5)


def sleeper(name):
    return Sleeper(WorkloadKey("shop", name), f"{name}-s", "", is_up=True, is_open=False)


def turn(place, name, *, is_open):
    pod = place.store.get(POD, "shop", f"{name}-s")
    status = with_condition(pod["status"], GATE, is_true=is_open, at_s=place.now_s)
    place.store.replace_status({**pod, "status": status})
    place.wait(1)


def test_pods_of_two_workloads_share_a_device_and_are_not_ready_while_they_sleep(place):
    board(place, "ant")
    board(place, "bee")
    (claim,) = (body for body in place.store.list(CLAIM) if body["metadata"]["name"] == "s")
    assert ["ant-s", "bee-s"] == [user["name"] for user in claim["status"]["reservedFor"]]
    for name in ("ant-s", "bee-s"):
        conditions = [condition(place.pod(name), which)["status"] for which in ("ContainersReady", "Ready")]
        assert ["True", "False"] == conditions
    assert (0.0, []) == (place.lost(), place.mode.collisions)


def test_one_that_wakes_serves_from_the_moment_its_gate_opens(place):
    board(place, "ant")
    place.mode.wake(sleeper("ant"))
    place.wait(10)
    assert not place.is_ready("ant-s")
    turn(place, "ant", is_open=True)
    place.wait(60)
    served = dict(zip(place.engines.names, place.engines.counts.completions, strict=True))
    assert served["ant-s"] > 50
    assert 0.0 == place.lost()


def test_one_asleep_behind_an_open_gate_refuses_what_it_is_sent(place):
    board(place, "ant")
    turn(place, "ant", is_open=True)
    place.wait(60)
    assert pytest.approx(0.5 * 3.0 * 60, rel=0.1) == place.lost()


def test_one_put_to_sleep_while_it_serves_cuts_its_requests(place):
    board(place, "ant")
    place.mode.wake(sleeper("ant"))
    place.wait(10)
    turn(place, "ant", is_open=True)
    place.wait(60)
    place.mode.sleep(sleeper("ant"))
    assert place.engines.tally.cut.sum() > 0


def test_a_device_is_given_back_with_the_last_of_its_pods(place):
    board(place, "ant")
    board(place, "bee")
    for name in ("ant-s", "bee-s"):
        assert "allocation" in place.store.get(CLAIM, "shop", "s")["status"]
        place.store.delete(POD, "shop", name)
        place.wait(200)
    assert "allocation" not in place.store.get(CLAIM, "shop", "s").get("status", {})
