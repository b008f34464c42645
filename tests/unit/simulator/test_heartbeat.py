from simulator.api import LEASE, NODE
from simulator.heartbeat import Heartbeat

NAMESPACE = "kube-node-lease"
NODE_N0 = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}


def test_a_node_gets_a_lease_of_its_own(store, clock):
    node = store.create(NODE_N0)
    Heartbeat(store, clock, ["n0"])
    clock.run_until(clock.now_s)
    lease = store.get(LEASE, NAMESPACE, "n0")
    assert {
        "holderIdentity": "n0",
        "leaseDurationSeconds": 40,
        "renewTime": "2025-06-15T15:06:40.000000Z",
    } == lease["spec"]
    assert [node["metadata"]["uid"]] == [owner["uid"] for owner in lease["metadata"]["ownerReferences"]]


def test_it_is_renewed_well_before_it_runs_out(store, clock):
    store.create(NODE_N0)
    Heartbeat(store, clock, ["n0"])
    clock.run_until(clock.now_s + 600)
    assert "2025-06-15T15:16:40.000000Z" == store.get(LEASE, NAMESPACE, "n0")["spec"]["renewTime"]
    assert 10 == clock.next_due_s() - clock.now_s


def test_a_lease_that_was_there_is_taken_over(store, clock):
    store.create(NODE_N0)
    store.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": NAMESPACE, "name": "n0"},
            "spec": {"holderIdentity": "n0", "renewTime": "2025-01-01T00:00:00.000000Z"},
        }
    )
    Heartbeat(store, clock, ["n0"])
    clock.run_until(clock.now_s)
    assert "2025-06-15T15:06:40.000000Z" == store.get(LEASE, NAMESPACE, "n0")["spec"]["renewTime"]


def test_it_ends_with_the_node(store, clock):
    store.create(NODE_N0)
    Heartbeat(store, clock, ["n0"])
    clock.run_until(clock.now_s + 1)
    store.delete(NODE, None, "n0")
    clock.run_until(clock.now_s + 60)
    assert (None, None) == (store.get(LEASE, NAMESPACE, "n0"), clock.next_due_s())
