import pytest

from fleet.boards import A30_24GB, H100_80GB
from fleet.errors import ConflictError, UnavailableError
from fleet.shape import Shape
from simulator.api import DEPLOYMENT, NODE, POD, SLICE
from simulator.delays import CROWDING_PER_START, Delays
from simulator.driver import publish, resource_slices
from simulator.errors import NotModelledError
from simulator.node import NodeAgent
from simulator.pods import condition, is_ready

NODE_N0 = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}
MINUTE_S = 60
TEN_MINUTES_S = 600
WHOLE = Shape("h100-80gb")


def calls(town, verb):
    return [(at_s, what) for at_s, call, what in town.containers.calls if call == verb]


def until(town, is_so, step_s=0.5):
    """Let time pass until something holds, and return the seconds that it took."""
    start_s = town.clock.now_s
    while not is_so():
        town.wait(step_s)
        assert town.clock.now_s - start_s < TEN_MINUTES_S
    return town.clock.now_s - start_s


def test_a_node_registers_itself_as_ready(town):
    (node,) = town().store.list(NODE)
    assert ("n0", "True") == (node["metadata"]["name"], condition(node, "Ready")["status"])


def test_a_node_that_is_registered_stays_as_it_is(store, clock):
    node = store.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0", "labels": {"zone": "a"}}}
    )
    NodeAgent(store, clock, "n0", containers=None, delays=Delays(7))
    assert [node] == list(store.list(NODE))


def test_a_node_has_room_for_pods(town):
    (node,) = town().store.list(NODE)
    assert node["status"]["capacity"] == node["status"]["allocatable"]
    assert {"cpu", "memory", "pods"} == node["status"]["allocatable"].keys()


def test_a_node_has_the_label_by_which_pods_are_spread(town):
    (node,) = town().store.list(NODE)
    assert {"kubernetes.io/hostname": "n0"} == node["metadata"]["labels"]


class Failing:
    """An API of which the next call of a verb fails if `errors` has one for it."""

    def __init__(self, api, **errors):
        self._api = api
        self.errors = errors

    def __getattr__(self, verb):
        if verb in self.errors:
            raise self.errors.pop(verb)
        return getattr(self._api, verb)


def test_a_node_that_a_controller_writes_to_meanwhile_is_ready_all_the_same(store, clock):
    api = Failing(store, replace_status=ConflictError("newer"))
    NodeAgent(api, clock, "n0", containers=None, delays=Delays(7))
    assert "True" == condition(store.get(NODE, None, "n0"), "Ready")["status"]


@pytest.mark.parametrize(
    ("verb", "replicas"), [("list", 1), ("get", 1), ("replace_status", 1), ("delete", 0)]
)
def test_a_pod_that_meets_a_lost_api_server_is_no_worse_for_it(town, verb, replicas):
    """The node's own calls fail once, whichever it is; the pod serves, or goes, as if nothing had been."""
    town = town({"n1": [A30_24GB]})
    failing = Failing(town.store)
    town.store.create(NODE_N0)
    NodeAgent(failing, town.clock, "n0", town.containers, Delays(7))
    failing.errors[verb] = UnavailableError("no answer")
    publish(town.store, "n0", resource_slices("n0", [H100_80GB]))
    town.serve("web", 1)
    town.wait(TEN_MINUTES_S)
    town.scale("web", replicas)
    town.wait(TEN_MINUTES_S)
    assert [True] * replicas == [is_ready(pod) for pod in town.pods()]


@pytest.mark.parametrize("profile", ["whole", "7g.80gb", "3g.40gb", "1g.20gb", "1g.10gb"])
def test_a_container_starts_on_the_shape_that_was_allocated(town, profile):
    town = town()
    town.serve("web", 1, Shape("h100-80gb", profile))
    town.wait(MINUTE_S)
    assert [f"h100-80gb:{profile}"] == [shape for _, shape in calls(town, "start")]


class TestStart:
    def test_scheduling_preparation_and_image_come_before_the_container(self, town):
        town = town()
        town.serve("web", 1)
        town.wait(MINUTE_S)
        (pod,) = town.pods()
        delays = Delays(7)
        expected_s = delays.schedule_s(pod) + delays.prepare_s(pod) + delays.image_s(pod)
        assert [expected_s] == pytest.approx([at_s for at_s, _ in calls(town, "start")])

    def test_a_pod_is_running_while_it_loads_and_ready_after(self, town):
        town = town(load_s=60.0)
        town.serve("web", 1, WHOLE)
        until(town, lambda: town.pods() and town.pods()[0]["status"]["phase"] == "Running")
        assert not is_ready(town.pods()[0])
        assert [False] == [each["ready"] for each in town.pods()[0]["status"]["containerStatuses"]]
        assert 60.0 == pytest.approx(until(town, lambda: is_ready(town.pods()[0])), abs=0.6)

    def test_starts_on_one_node_slow_each_other_down(self, town):
        def load_s(nodes):
            built = town(nodes, load_s=100.0)
            built.serve("web", 2, WHOLE)
            until(built, lambda: len(calls(built, "start")) == 2)
            second_start_s = calls(built, "start")[1][0]
            until(built, lambda: all(map(is_ready, built.pods())))
            return built.clock.now_s - built.start_s - second_start_s

        assert 100.0 * (1 + CROWDING_PER_START) == pytest.approx(load_s({"n0": [H100_80GB] * 2}), abs=0.6)
        assert 100.0 == pytest.approx(load_s({"n0": [H100_80GB], "n1": [H100_80GB]}), abs=0.6)

    def test_a_device_that_the_node_does_not_have_is_not_modelled(self, town):
        town = town()
        town.serve("web", 1)
        until(town, town.devices)
        for body in town.store.list(SLICE):
            town.store.delete(SLICE, None, body["metadata"]["name"])
        with pytest.raises(NotModelledError, match="without a device that node n0 has"):
            town.wait(MINUTE_S)

    def test_a_pod_without_a_device_is_not_modelled(self, town):
        town = town()
        metadata = {"namespace": "shop", "name": "static"}
        spec = {"nodeName": "n0", "containers": [{"name": "c"}]}
        town.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        with pytest.raises(NotModelledError, match="without a device"):
            town.wait(MINUTE_S)


class TestEnd:
    def test_a_pod_drains_then_stops_and_goes(self, town):
        town = town(drain_s=12.0)
        town.serve("web", 1)
        town.wait(TEN_MINUTES_S)
        town.scale("web", 0)
        town.wait(11.9)
        assert ([], 1) == (calls(town, "stop"), len(town.pods()))
        town.wait(0.1)
        assert ([612.0], 0) == (pytest.approx([at_s for at_s, _ in calls(town, "stop")]), len(town.pods()))

    def test_no_drain_outlasts_the_grace_of_the_pod(self, town):
        town = town(drain_s=10_000.0)
        town.serve("web", 1, terminationGracePeriodSeconds=40)
        town.wait(TEN_MINUTES_S)
        town.scale("web", 0)
        assert 40.0 == until(town, lambda: not town.pods())

    def test_less_grace_ends_the_drain_sooner(self, town):
        town = town(drain_s=10_000.0)
        town.serve("web", 1, terminationGracePeriodSeconds=300)
        town.wait(TEN_MINUTES_S)
        (pod,) = town.pods()
        town.scale("web", 0)
        town.wait(20)
        town.store.delete(POD, "shop", pod["metadata"]["name"], grace_s=10)
        assert 10.0 == until(town, lambda: not town.pods())
        town.wait(TEN_MINUTES_S)
        assert 1 == len(calls(town, "stop"))

    def test_a_pod_that_is_still_loading_is_stopped_too(self, town):
        town = town(load_s=300.0)
        town.serve("web", 1)
        until(town, lambda: calls(town, "start"))
        town.scale("web", 0)
        town.wait(TEN_MINUTES_S)
        assert (1, 0) == (len(calls(town, "stop")), len(town.pods()))

    def test_a_pod_whose_container_never_started_goes_at_once(self, town):
        town = town()
        town.serve("web", 1)
        until(town, town.devices, step_s=0.1)
        town.scale("web", 0)
        town.wait(0)
        assert [] == list(town.pods())
        town.wait(TEN_MINUTES_S)
        assert [] == town.containers.calls

    def test_a_pod_that_is_removed_by_force_is_stopped_once(self, town):
        town = town(drain_s=20.0)
        town.serve("web", 1)
        town.wait(TEN_MINUTES_S)
        name = town.pods()[0]["metadata"]["name"]
        town.store.delete(DEPLOYMENT, "shop", "web")
        town.wait(5)
        town.store.delete(POD, "shop", name, grace_s=0)
        town.wait(0)
        assert [name] == [what for _, what in calls(town, "stop")]
        town.wait(MINUTE_S)
        assert [name] == [what for _, what in calls(town, "stop")]

    def test_a_pod_that_is_gone_when_its_container_starts_is_stopped(self, town):
        town = town()

        def remove(pod, shape):
            town.clock.after(0, lambda: town.store.delete(POD, "shop", pod["metadata"]["name"], grace_s=0))

        town.containers.start = remove
        town.serve("web", 1)
        until(town, lambda: calls(town, "stop"))
        (pod,) = town.pods()
        assert pod["metadata"]["name"] not in [what for _, what in calls(town, "stop")]

    def test_the_device_is_free_once_the_pod_is_gone(self, town):
        town = town(drain_s=10.0)
        town.serve("web", 1)
        town.wait(TEN_MINUTES_S)
        town.scale("web", 0)
        town.wait(9)
        assert 1 == len(town.devices())
        town.wait(1)
        assert 0 == len(town.devices())


def test_a_node_runs_its_own_pods_only(town):
    town = town({"n0": [H100_80GB], "n1": [H100_80GB]})
    town.serve("web", 2, WHOLE)
    town.wait(TEN_MINUTES_S)
    assert 2 == len(calls(town, "start"))
    assert {"n0", "n1"} == {pod["spec"]["nodeName"] for pod in town.pods()}
