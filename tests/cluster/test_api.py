"""What `simulator.api.Api` promises, held on the object store and on a real API server alike."""

from itertools import count

import pytest

from fleet.errors import ConflictError, RefusedError
from simulator.api import BINDING, CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, NODE, POD, Change, timestamp
from simulator.clock import VirtualClock
from simulator.store import ObjectStore
from tests.cluster.lab import pod_spec, until

NUMBERS = count()
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 1}}


class World:
    """An API, a namespace in it, and a way to wait for what it does by itself."""

    def __init__(self, api, namespace, wait):
        self.api = api
        self.namespace = namespace
        self.until = wait
        self.nodes = []

    def body(self, kind, name=None, **parts):
        metadata = {"name": name} if name else {"generateName": "made-"}
        metadata |= {"namespace": self.namespace} if kind.is_namespaced else {}
        metadata |= parts.pop("metadata", {})
        return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **parts}

    def template(self, name="t", **metadata):
        spec = {"spec": {"devices": {"requests": [REQUEST]}}}
        return self.body(CLAIM_TEMPLATE, name, metadata=metadata, spec=spec)

    def claim(self, name="c"):
        return self.body(CLAIM, name, spec={"devices": {"requests": [REQUEST]}})

    def pod(self, name, node=None):
        """A pod that no scheduler touches, on a node if one is named."""
        spec = {**pod_spec("nowhere", []), "schedulerName": "nobody"}
        made = self.api.create(self.body(POD, name, spec=spec))
        if node:
            self.api.create(self.body(BINDING, name, target={"kind": "Node", "name": node}))
        return made

    def node(self):
        name = f"{self.namespace}-{next(NUMBERS)}"
        self.api.create(self.body(NODE, name, spec={}))
        self.nodes.append(name)
        return name

    def get(self, kind, name):
        return self.api.get(kind, self.namespace, name)


def embedded():
    clock = VirtualClock(1_750_000_000.0)

    def wait(probe):
        clock.run_until(clock.now_s + 60)
        assert probe()

    return World(ObjectStore(clock), "shop", wait)


@pytest.fixture(params=["embedded", "real"])
def world(request, agents, lab):
    made = embedded() if request.param == "embedded" else World(agents.api, lab.name, until)
    yield made
    for node in made.nodes:
        made.api.delete(NODE, None, node)


class TestCreate:
    def test_what_is_stored_is_returned(self, world):
        stored = world.api.create(world.template())
        assert {"uid", "creationTimestamp", "resourceVersion"} <= stored["metadata"].keys()
        assert stored == world.get(CLAIM_TEMPLATE, "t")
        assert ("resource.k8s.io/v1", "ResourceClaimTemplate") == (stored["apiVersion"], stored["kind"])

    def test_what_was_not_created_is_not_there(self, world):
        assert world.get(CLAIM_TEMPLATE, "t") is None

    def test_a_name_can_be_taken_once(self, world):
        world.api.create(world.template())
        with pytest.raises(ConflictError, match="exists"):
            world.api.create(world.template())

    def test_names_are_made_from_a_prefix(self, world):
        names = {world.api.create(world.template(None))["metadata"]["name"] for _ in range(3)}
        assert [True] * 3 == [name.startswith("made-") for name in names]

    def test_a_status_is_dropped(self, world):
        world.api.create({**world.claim(), "status": {"reservedFor": []}})
        assert not world.get(CLAIM, "c").get("status")

    def test_an_object_without_a_name_is_refused(self, world):
        body = world.template()
        del body["metadata"]["name"]
        with pytest.raises(RefusedError):
            world.api.create(body)

    def test_a_selector_that_does_not_select_its_own_pods_is_refused(self, world):
        pods = {"metadata": {"labels": {"app": "chat"}}, "spec": pod_spec("nowhere", [])}
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": pods}
        with pytest.raises(RefusedError, match="selector"):
            world.api.create(world.body(DEPLOYMENT, "web", spec=spec))


class TestReplace:
    def test_a_new_version_takes_the_place_of_the_old(self, world):
        old = world.api.create(world.template())
        new = world.api.replace(relabelled(old, team="search"))
        assert old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"]
        assert new == world.get(CLAIM_TEMPLATE, "t")

    def test_an_older_version_is_a_conflict(self, world):
        old = world.api.create(world.template())
        world.api.replace(relabelled(old, team="search"))
        with pytest.raises(ConflictError):
            world.api.replace(relabelled(old, team="ads"))
        assert {"team": "search"} == world.get(CLAIM_TEMPLATE, "t")["metadata"]["labels"]

    def test_a_write_that_carries_no_version_is_refused(self, world):
        world.api.create(world.claim())
        with pytest.raises(RefusedError, match="resourceVersion"):
            world.api.replace(world.claim())

    def test_what_is_gone_is_a_conflict(self, world):
        old = world.api.create(world.template())
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "t")
        with pytest.raises(ConflictError):
            world.api.replace(relabelled(old, team="search"))

    @pytest.mark.parametrize("kind", [CLAIM, CLAIM_TEMPLATE], ids=lambda kind: kind.name)
    def test_the_spec_of_a_claim_is_for_life(self, world, kind):
        held = world.api.create(world.claim() if kind is CLAIM else world.template())
        spec = {"devices": {"requests": [{**REQUEST, "name": "other"}]}}
        with pytest.raises(RefusedError, match="field is immutable"):
            world.api.replace({**held, "spec": spec if kind is CLAIM else {"spec": spec}})

    def test_status_and_the_rest_are_written_apart(self, world):
        held = world.api.create(world.claim())
        allocation = {"devices": {}, "allocationTimestamp": timestamp(1_750_000_000)}
        status = {"allocation": allocation}
        held = world.api.replace_status({**relabelled(held, team="search"), "status": status})
        assert (allocation, None) == (held["status"]["allocation"], held["metadata"].get("labels"))
        held = world.api.replace({**relabelled(held, team="search"), "status": {}})
        assert (allocation, {"team": "search"}) == (held["status"]["allocation"], held["metadata"]["labels"])


def relabelled(body, **labels):
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


class TestDelete:
    def test_it_is_gone(self, world):
        world.api.create(world.template())
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "t")
        assert world.get(CLAIM_TEMPLATE, "t") is None

    def test_what_is_not_there_is_a_conflict(self, world):
        with pytest.raises(ConflictError):
            world.api.delete(CLAIM_TEMPLATE, world.namespace, "t")

    def test_one_that_came_after_the_one_that_is_meant_stays(self, world):
        meant = world.api.create(world.template())["metadata"]["uid"]
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "t", uid=meant)
        later = world.api.create(world.template())["metadata"]["uid"]
        with pytest.raises(ConflictError):
            world.api.delete(CLAIM_TEMPLATE, world.namespace, "t", uid=meant)
        assert later == world.get(CLAIM_TEMPLATE, "t")["metadata"]["uid"]

    def test_a_pod_that_no_node_has_seen_is_gone_at_once(self, world):
        world.pod("p")
        world.api.delete(POD, world.namespace, "p")
        assert world.get(POD, "p") is None

    def test_a_bound_pod_stays_until_its_node_lets_it_go(self, world):
        world.pod("p", world.node())
        world.api.delete(POD, world.namespace, "p", grace_s=40)
        leaving = world.get(POD, "p")["metadata"]
        assert ("deletionTimestamp" in leaving, 40) == (True, leaving["deletionGracePeriodSeconds"])
        world.api.delete(POD, world.namespace, "p", grace_s=0)
        assert world.get(POD, "p") is None

    def test_the_pods_own_grace_counts_if_none_is_named(self, world):
        world.pod("p", world.node())
        world.api.delete(POD, world.namespace, "p")
        assert 5 == world.get(POD, "p")["metadata"]["deletionGracePeriodSeconds"]

    def test_a_finalizer_holds_it_until_it_is_taken_away(self, world):
        world.api.create(world.template(finalizers=["foreslice.dev/held"]))
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "t")
        held = world.get(CLAIM_TEMPLATE, "t")
        assert "deletionTimestamp" in held["metadata"]
        world.api.replace({**held, "metadata": {**held["metadata"], "finalizers": []}})
        assert world.get(CLAIM_TEMPLATE, "t") is None

    def test_what_it_owns_goes_with_it(self, world):
        owner = world.api.create(world.template("owner"))
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner"}
        reference |= {"uid": owner["metadata"]["uid"]}
        world.api.create(world.template("owned", ownerReferences=[reference]))
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "owner")
        world.until(lambda: world.get(CLAIM_TEMPLATE, "owned") is None)


class TestList:
    def test_objects_come_by_name_and_say_what_they_are(self, world):
        for name in ("b", "a-1", "a"):
            world.api.create(world.template(name))
        found = world.api.list(CLAIM_TEMPLATE, world.namespace)
        assert ["a", "a-1", "b"] == [body["metadata"]["name"] for body in found]
        assert {("resource.k8s.io/v1", "ResourceClaimTemplate")} == {
            (body["apiVersion"], body["kind"]) for body in found
        }

    def test_labels_select(self, world):
        for name, labels in (("a", {"app": "web", "tier": "gold"}), ("b", {"app": "web"}), ("c", {})):
            world.api.create(world.template(name, labels=labels))

        def named(labels):
            found = world.api.list(CLAIM_TEMPLATE, world.namespace, labels)
            return [body["metadata"]["name"] for body in found]

        assert [["a", "b"], ["a"], []] == [
            named({"app": "web"}),
            named({"app": "web", "tier": "gold"}),
            named({"app": "chat"}),
        ]

    def test_all_namespaces_are_one_list(self, world):
        world.api.create(world.template())
        found = [body["metadata"]["namespace"] for body in world.api.list(CLAIM_TEMPLATE)]
        assert (True, sorted(found)) == (world.namespace in found, found)


class TestWatch:
    @pytest.fixture
    def heard(self, world):
        """Begin to listen; returns the list to which what is heard of the namespace's templates is added."""

        def listen():
            heard = []

            def on_event(event):
                metadata = event.body["metadata"]
                if metadata["namespace"] == world.namespace:
                    heard.append((event.change, metadata["name"], metadata.get("labels")))

            world.api.watch(CLAIM_TEMPLATE, on_event)
            return heard

        return listen

    def test_what_is_there_comes_first_then_every_change_in_order(self, world, heard):
        held = world.api.create(world.template())
        seen = heard()
        world.until(lambda: len(seen) == 1)
        held = world.api.replace(relabelled(held, step="1"))
        world.api.replace(relabelled(held, step="2"))
        world.api.create(world.template("u"))
        world.api.delete(CLAIM_TEMPLATE, world.namespace, "t")
        world.until(lambda: len(seen) == 5)
        assert [
            (Change.ADDED, "t", None),
            (Change.MODIFIED, "t", {"step": "1"}),
            (Change.MODIFIED, "t", {"step": "2"}),
            (Change.ADDED, "u", None),
            (Change.DELETED, "t", {"step": "2"}),
        ] == seen

    def test_who_listens_later_hears_of_what_is_there_and_all_hear_of_changes(self, world, heard):
        first = heard()
        world.api.create(world.template())
        world.until(lambda: len(first) == 1)
        second = heard()
        world.until(lambda: len(second) == 1)
        world.api.create(world.template("u"))
        world.until(lambda: len(first) == len(second) == 2)
        assert [(Change.ADDED, "t", None), (Change.ADDED, "u", None)] == first == second


class TestBinding:
    def test_it_sets_the_node_of_a_pod(self, world):
        node = world.node()
        world.pod("p", node)
        assert node == world.get(POD, "p")["spec"]["nodeName"]

    def test_a_pod_is_bound_once(self, world):
        node = world.node()
        world.pod("p", node)
        with pytest.raises(ConflictError):
            world.api.create(world.body(BINDING, "p", target={"kind": "Node", "name": node}))
