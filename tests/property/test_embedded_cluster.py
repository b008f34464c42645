"""Whatever is asked of the embedded cluster, devices are never given twice and everything settles."""

from hypothesis import given, settings
from hypothesis import strategies as st

from actuator.mechanisms.dra import Ask, claim_template, request_of
from actuator.objects.allocations import allocated
from actuator.objects.slices import SliceReader
from fleet.boards import A100_80GB, H100_80GB
from fleet.devices import first_fit, ledger_of
from fleet.mig import Placement, is_legal
from fleet.shape import Shape, shapes_of
from simulator.agents import start_control_plane, start_nodes
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD, SLICE
from simulator.clock import VirtualClock
from simulator.delays import Delays
from simulator.pods import is_leaving, is_ready
from simulator.store import ObjectStore

NODES = {"n0": [H100_80GB, H100_80GB], "n1": [A100_80GB]}
ASKS = [
    *((H100_80GB, shape) for shape in shapes_of(H100_80GB)),
    *((A100_80GB, Shape("a100-80gb", name)) for name in ("1g.10gb", "3g.40gb", "7g.80gb")),
]
HOUR_S = 3600

operations = st.lists(
    st.tuples(
        st.integers(0, len(ASKS) - 1),  # which Deployment
        st.sampled_from([0, 1, 2, 5, 9, None]),  # its replicas; None deletes it
        st.sampled_from([0.0, 0.7, 3.0, 20.0, 300.0]),  # seconds until the next operation
    ),
    max_size=25,
)


class Containers:
    """Load and drain for as long as the pod's name says."""

    def start(self, pod, shape):
        pass

    def load_s(self, pod):
        return 20.0 + 5 * (ord(pod["metadata"]["name"][-1]) % 10)

    def drain_s(self, pod):
        return 7.0 * (ord(pod["metadata"]["name"][-2]) % 10)

    def stop(self, pod):
        pass


def cluster(seed):
    clock = VirtualClock(1_750_000_000.0)
    store = ObjectStore(clock)
    start_nodes(store, clock, NODES, Containers(), Delays(seed))
    start_control_plane(store, clock, Delays(seed))
    return clock, store


def ask(store, nth, replicas):
    """Scale, create or delete the nth Deployment."""
    board, shape = ASKS[nth]
    name = f"d{nth}"
    held = store.get(DEPLOYMENT, "shop", name)
    if replicas is None:
        if held is not None:
            store.delete(DEPLOYMENT, "shop", name)
    elif held is not None:
        store.replace({**held, "spec": {**held["spec"], "replicas": replicas}})
    else:
        template = claim_template("shop", board, shape, Ask("gpu", request_of(board, shape)))
        if store.get(CLAIM_TEMPLATE, "shop", template["metadata"]["name"]) is None:
            store.create(template)
        store.create(deployment(name, template["metadata"]["name"], replicas))


def deployment(name, template, replicas):
    claims = [{"name": "gpu", "resourceClaimTemplateName": template}]
    pods = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "e"}], "resourceClaims": claims},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pods}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": name},
        "spec": spec,
    }


def check_devices(store):
    """No device has two claims, and what is allocated on a card can exist on it at once."""
    inventory = SliceReader().read(store.list(SLICE))
    claims = [claim for claim in store.list(CLAIM) if "allocation" in claim.get("status", {})]
    held = allocated(claims, inventory)
    assert len(claims) == len(held)
    for gpu in inventory.gpus:
        mine = [device for device in held if device.gpu == gpu.uuid]
        if any(device.profile is None for device in mine):
            assert 1 == len(mine)
        else:
            assert is_legal(gpu.board, [Placement(d.profile, min(d.memory_slices)) for d in mine])
            covered = [unit for device in mine for unit in device.memory_slices]
            assert len(covered) == len(set(covered))


def check_settled(store):
    """Every Deployment has its pods, each has its claim, and who waits could not be helped."""
    assert not any(map(is_leaving, store.list(POD)))
    owners = {owner["name"] for claim in store.list(CLAIM) for owner in claim["metadata"]["ownerReferences"]}
    assert owners == {pod["metadata"]["name"] for pod in store.list(POD)}
    assert len(store.list(CLAIM)) == len(store.list(POD))
    inventory = SliceReader().read(store.list(SLICE))
    ledger = ledger_of(inventory.pools, allocated(store.list(CLAIM), inventory))
    for nth, (board, shape) in enumerate(ASKS):
        held = store.get(DEPLOYMENT, "shop", f"d{nth}")
        pods = store.list(POD, "shop", {"app": f"d{nth}"})
        assert len(pods) == (held["spec"]["replicas"] if held else 0)
        waiting = [pod for pod in pods if not is_ready(pod)]
        assert not waiting or not first_fit(inventory.pools, ledger, request_of(board, shape))
        if held:
            assert len(pods) - len(waiting) == held["status"]["readyReplicas"]


@given(operations=operations, seed=st.integers(0, 9))
@settings(max_examples=60)
def test_devices_are_never_given_twice_and_everything_settles(operations, seed):
    clock, store = cluster(seed)
    for nth, replicas, wait_s in operations:
        ask(store, nth, replicas)
        clock.run_until(clock.now_s + wait_s)
        check_devices(store)
    clock.run_until(clock.now_s + HOUR_S)
    check_devices(store)
    check_settled(store)
    assert clock.next_due_s() is None


@given(operations=operations, seed=st.integers(0, 9))
@settings(max_examples=30)
def test_when_every_deployment_is_gone_nothing_of_them_is_left(operations, seed):
    clock, store = cluster(seed)
    for nth, replicas, wait_s in operations:
        ask(store, nth, replicas)
        clock.run_until(clock.now_s + wait_s)
    for nth in range(len(ASKS)):
        ask(store, nth, None)
    clock.run_until(clock.now_s + HOUR_S)
    assert ([], [], []) == (list(store.list(DEPLOYMENT)), list(store.list(POD)), list(store.list(CLAIM)))


@given(operations=operations, seed=st.integers(0, 9))
@settings(max_examples=20)
def test_the_same_again_ends_the_same(operations, seed):
    def end():
        clock, store = cluster(seed)
        for nth, replicas, wait_s in operations:
            ask(store, nth, replicas)
            clock.run_until(clock.now_s + wait_s)
        return [list(store.list(kind)) for kind in (DEPLOYMENT, POD, CLAIM, SLICE)]

    assert end() == end()
