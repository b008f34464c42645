"""What pods take of a node, and what is left of it: as kube-scheduler counts."""

import pytest

from actuator.objects.hosts import host_amount, hosts_of
from fleet.host import NOTHING, Host, HostAmount

GIB = 1 << 30


def container(cpu=None, memory=None, **more):
    asked = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    return {"resources": {"requests": asked}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu_m", "memory_bytes"),
    [
        ({"containers": [{}]}, 0, 0),
        ({"containers": [container("500m", "1Gi"), container("1.5", "512Mi")]}, 2000, GIB * 3 // 2),
        ({"containers": [{"resources": {"limits": {"cpu": "2", "memory": "1G"}}}]}, 2000, 10**9),
        ({"containers": [container("100u")]}, 1, 0),  # a part of a thousandth counts as one
        ({"containers": [container("1")], "initContainers": [container("3")]}, 3000, 0),
        (
            {"containers": [container("2")], "initContainers": [container("1", restartPolicy="Always")]},
            3000,
            0,
        ),
        # A sidecar that has started is beside the init containers after it, not beside those before.
        (
            {
                "containers": [container("1")],
                "initContainers": [container("4"), container("2", restartPolicy="Always"), container("3")],
            },
            5000,
            0,
        ),
        ({"containers": [container("1", "1Gi")], "resources": {"requests": {"cpu": "6"}}}, 6000, GIB),
        ({"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "64Mi"}}, 1250, 64 << 20),
    ],
)
def test_a_pod_takes_what_its_containers_ask_for_at_once(spec, cpu_m, memory_bytes):
    assert HostAmount(cpu_m, memory_bytes, 1) == host_amount(spec)


def node(name="n0", labels=None, allocatable=None, **spec):
    status = {"allocatable": allocatable} if allocatable else {}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


def pod(name="n0", phase="Running"):
    spec = {"nodeName": name, "containers": [container("1", "1Gi")]}
    return {"spec": {key: value for key, value in spec.items() if value}, "status": {"phase": phase}}


ROOM = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def test_what_is_left_is_what_pods_that_have_not_ended_do_not_take():
    pods = [pod(), pod(), pod(phase="Succeeded"), pod(phase="Failed"), pod(None), pod("elsewhere")]
    assert {"n0": Host("", HostAmount(2000, 6 * GIB, 108))} == hosts_of([node(allocatable=ROOM)], pods, "")


def test_domains_are_read_from_the_label_that_settings_name():
    nodes = [node("n0", {"zone": "a"}, ROOM), node("n1", {"rack": "r"}, ROOM)]
    found = hosts_of(nodes, [], "zone")
    assert {"n0": "a", "n1": ""} == {name: host.domain for name, host in found.items()}


def test_a_cordoned_node_has_nothing_left_and_one_that_says_nothing_is_not_bounded():
    found = hosts_of([node("n0", None, ROOM, unschedulable=True), node("n1")], [], "")
    assert {"n0": Host("", NOTHING), "n1": Host("", None)} == found


@pytest.mark.parametrize(
    ("left", "asked", "lacks"),
    [
        (HostAmount(1000, GIB, 1), HostAmount(1000, GIB, 1), ""),
        (HostAmount(999, GIB, 1), HostAmount(1000, GIB, 1), "CPU"),
        (HostAmount(1000, GIB - 1, 1), HostAmount(1000, GIB, 1), "memory"),
        (HostAmount(1000, GIB, 0), HostAmount(1000, GIB, 1), "places for pods"),
        (HostAmount(-5, GIB, 1), HostAmount(0, GIB, 1), ""),
    ],
)
def test_a_node_lacks_what_is_asked_for_and_is_not_there(left, asked, lacks):
    assert lacks == Host("", left).lacks_for(asked)
    assert "" == Host("").lacks_for(asked)
    assert Host("z", left - asked) == Host("z", left).without(asked)
