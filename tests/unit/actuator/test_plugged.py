"""Cards as device plugins offer them, and which pods hold what."""

from collections import Counter

import pytest

from actuator.objects.plugged import LAYOUT_TAINT, plugged
from fleet.boards import H100_80GB

PRODUCT = H100_80GB.product_names[0].replace(" ", "-")


def node(name="n1", labels=(), spec=None, gpu=0):
    resources = {"nvidia.com/gpu": str(gpu)}
    metadata = {"name": name, "labels": {"nvidia.com/gpu.product": PRODUCT, **dict(labels)}}
    status = {"allocatable": resources, "capacity": resources}
    return {"metadata": metadata, "spec": spec or {}, "status": status}


def cut(name="n1", counts=None, **more):
    body = node(name, **more)
    body["status"]["allocatable"] |= {f"nvidia.com/mig-{p}": str(n) for p, n in (counts or {}).items()}
    return body


def pod(name, resource, count="1", on="n1", phase="Running", memory=None):
    container = {"name": "c", "resources": {"limits": {f"nvidia.com/{resource}": count}}}
    container["args"] = [] if memory is None else ["--gpu-memory-utilization", memory]
    metadata = {"namespace": "llm", "name": name, "uid": f"uid-{name}"}
    return {
        "metadata": metadata,
        "spec": {"nodeName": on, "containers": [container]},
        "status": {"phase": phase},
    }


def profiles(plugs):
    return Counter(device.profile for pool in plugs.pools for device in pool.devices)


def test_instances_lie_on_as_few_cards_as_can_hold_them():
    plugs = plugged([cut(counts={"1g.10gb": 9, "3g.40gb": 1, "4g.40gb": 1}, gpu=2)], ())

    assert {None: 2, "1g.10gb": 9, "3g.40gb": 1, "4g.40gb": 1} == profiles(plugs)
    assert 5 == len(plugs.gpus)
    for gpu in plugs.gpus:
        held = [unit for d in plugs.pools[0].devices if d.gpu == gpu.uuid for unit in d.memory_slices]
        assert len(held) == len(set(held)), "no two of a card overlap"


def test_a_pod_holds_one_of_its_kind_and_two_never_the_same():
    pods = [pod("a", "mig-1g.10gb"), pod("b", "mig-1g.10gb"), pod("c", "gpu", "2"), pod("d", "gpu", on="n2")]
    plugs = plugged([cut(counts={"1g.10gb": 2}, gpu=2)], pods)

    assert {"uid-a": 1, "uid-b": 1, "uid-c": 2} == {uid: len(held) for uid, held in plugs.held.items()}
    assert 4 == len({device.id for held in plugs.held.values() for device in held})


def test_a_pod_that_is_over_holds_nothing():
    assert {} == plugged([node(gpu=1)], [pod("a", "gpu", phase="Failed")]).held


def test_what_a_pod_has_is_believed_while_the_plugin_starts_anew():
    plugs = plugged([cut(counts={"1g.10gb": 0})], [pod("a", "mig-1g.10gb")])

    assert ["1g.10gb"] == [device.profile for device in plugs.held["uid-a"]]
    assert {} == profiles(plugs), "but there is no room for another"
    assert [plugs.held["uid-a"][0].gpu] == [gpu.uuid for gpu in plugs.gpus]


@pytest.mark.parametrize(
    "closed",
    [
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": LAYOUT_TAINT, "effect": "NoSchedule"}]}},
        {"labels": {"nvidia.com/mig.config.state": "pending"}},
        {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}},
    ],
    ids=["cordoned", "layout", "pending", "not ready"],
)
def test_a_node_that_takes_no_pods_has_only_what_they_hold(closed):
    plugs = plugged([cut(counts={"1g.10gb": 7}, **closed)], [pod("a", "mig-1g.10gb")])

    assert {"1g.10gb": 1} == profiles(plugs)
    assert {"1g.10gb": 7} == profiles(plugged([cut(counts={"1g.10gb": 7})], [pod("a", "mig-1g.10gb")]))


@pytest.mark.parametrize(
    "left_out",
    [
        cut(counts={"1g.10gb": 7}, labels={"nvidia.com/gpu.replicas": "4"}),
        node(gpu=8, labels={"nvidia.com/gpu.product": "Tesla-M60"}),
        node("by-dra", gpu=8),
    ],
    ids=["instances in time slices", "unknown", "offered in another way"],
)
def test_nodes_that_cannot_be_reckoned_with_are_left_out(left_out):
    plugs = plugged([left_out], (), {"by-dra"})

    assert ((), ()) == (plugs.gpus, plugs.hosts)


def test_instances_that_are_offered_as_cards_are_instances():
    single = {"nvidia.com/gpu.product": f"{PRODUCT}-MIG-1g.10gb"}
    plugs = plugged([node(gpu=14, labels=single)], [pod("a", "gpu")])

    assert ({"1g.10gb": 14}, 2) == (profiles(plugs), len(plugs.gpus))
    assert "1g.10gb" == plugs.held["uid-a"][0].profile


class TestTimeSlices:
    SLICED = {"nvidia.com/gpu.product": f"{PRODUCT}-SHARED", "nvidia.com/gpu.replicas": "4"}  # noqa: RUF012

    def test_every_replica_is_a_device_and_cards_are_filled_in_turn(self):
        plugs = plugged([node(gpu=8, labels=self.SLICED)], [pod("a", "gpu", memory="0.2")])

        assert ({"25/100": 8}, 2) == (profiles(plugs), len(plugs.gpus))
        assert ["n1/gpu-0", "n1/gpu-1", "n1/gpu-0"] == [device.gpu for device in plugs.pools[0].devices[:3]]
        assert ["25/100"] == [device.profile for device in plugs.held["uid-a"]]

    def test_a_plugin_that_renames_them_offers_the_same(self):
        body = node(gpu=0, labels={"nvidia.com/gpu.replicas": "2"})
        body["status"]["allocatable"] = {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}
        plugs = plugged([body], [pod("a", "gpu.shared", memory="0.4")])

        assert ({"50/100": 4}, "nvidia.com/gpu.shared") == (profiles(plugs), plugs.hosts[0].sliced_as)
        assert ["50/100"] == [device.profile for device in plugs.held["uid-a"]]

    @pytest.mark.parametrize("memory", [None, "0.9", "0.226"])
    def test_beside_a_tenant_that_may_take_more_memory_nobody_new_comes(self, memory):
        """On which card it is, is not said, and nothing keeps it to its part."""
        pods = [pod("a", "gpu", memory="0.225"), pod("b", "gpu", memory=memory)]

        assert {"25/100": 2} == profiles(plugged([node(gpu=8, labels=self.SLICED)], pods))

    def test_tenants_beyond_what_is_offered_are_believed(self):
        """A plugin that offers fewer evicts nobody."""
        pods = [pod(name, "gpu", memory="0.2") for name in "abc"]
        plugs = plugged([node(gpu=2, labels={**self.SLICED, "nvidia.com/gpu.replicas": "2"})], pods)

        assert {"50/100": 2} == profiles(plugs)
        assert 3 == len(plugs.held)
