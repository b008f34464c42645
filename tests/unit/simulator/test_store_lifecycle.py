import pytest

from fleet.errors import ConflictError
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD, Change
from tests.builders.objects import binding, claim, deployment, node, owner, pod, with_spec


class TestDelete:
    def test_a_pod_that_no_node_has_seen_goes_at_once(self, store):
        store.create(pod())
        store.delete(POD, "shop", "p")
        assert store.get(POD, "shop", "p") is None

    def test_a_bound_pod_is_given_its_grace(self, store, bound):
        store.delete(POD, "shop", "p")
        metadata = store.get(POD, "shop", "p")["metadata"]
        assert ("2025-06-15T15:07:10Z", 30) == (
            metadata["deletionTimestamp"],
            metadata["deletionGracePeriodSeconds"],
        )

    def test_grace_is_what_the_pod_asks_for_unless_told(self, store):
        store.create(node())
        store.create(with_spec(pod(), terminationGracePeriodSeconds=90))
        store.create(binding())
        store.delete(POD, "shop", "p")
        assert 90 == store.get(POD, "shop", "p")["metadata"]["deletionGracePeriodSeconds"]
        store.delete(POD, "shop", "p", grace_s=5)
        assert 5 == store.get(POD, "shop", "p")["metadata"]["deletionGracePeriodSeconds"]

    def test_deleting_again_does_not_buy_time(self, store, bound):
        store.delete(POD, "shop", "p", grace_s=5)
        before = store.version
        store.delete(POD, "shop", "p")
        assert before == store.version

    def test_no_grace_removes_what_is_left(self, store, bound):
        store.delete(POD, "shop", "p")
        store.delete(POD, "shop", "p", grace_s=0)
        assert store.get(POD, "shop", "p") is None

    def test_a_pod_that_leaves_cannot_be_bound(self, store):
        store.create(node())
        store.create(pod(finalizers=["example.org/hold"]))
        store.delete(POD, "shop", "p")
        with pytest.raises(ConflictError, match="leaving"):
            store.create(binding())

    def test_a_finalizer_holds_what_is_deleted(self, store):
        store.create(claim(finalizers=["example.org/a", "example.org/b"]))
        store.delete(CLAIM, "shop", "c")
        for left in (["example.org/b"], []):
            held = store.get(CLAIM, "shop", "c")
            assert "deletionTimestamp" in held["metadata"]
            store.replace({**held, "metadata": {**held["metadata"], "finalizers": left}})
        assert store.get(CLAIM, "shop", "c") is None

    def test_what_does_not_exist_is_a_conflict(self, store):
        with pytest.raises(ConflictError, match="Node n0 does not exist"):
            store.delete(NODE, None, "n0")


class TestOwners:
    def test_what_is_owned_goes_with_its_owner_to_any_depth(self, store):
        boss = store.create(deployment())
        held = store.create(pod(ownerReferences=[owner(boss)]))
        store.create(claim(ownerReferences=[owner(held)]))
        store.create(claim("free"))
        store.delete(DEPLOYMENT, "shop", "d")
        assert [] == list(store.list(POD))
        assert ["free"] == [c["metadata"]["name"] for c in store.list(CLAIM)]

    def test_one_living_owner_is_enough(self, store):
        bosses = [store.create(deployment(name)) for name in ("d", "e")]
        store.create(pod(ownerReferences=[owner(boss) for boss in bosses]))
        store.delete(DEPLOYMENT, "shop", "d")
        assert store.get(POD, "shop", "p") is not None
        store.delete(DEPLOYMENT, "shop", "e")
        assert store.get(POD, "shop", "p") is None

    def test_a_finalizer_holds_what_lost_its_owner(self, store):
        held = store.create(pod())
        store.create(claim(ownerReferences=[owner(held)], finalizers=["example.org/hold"]))
        store.delete(POD, "shop", "p")
        assert "deletionTimestamp" in store.get(CLAIM, "shop", "c")["metadata"]

    def test_what_is_born_without_a_living_owner_goes(self, store, clock):
        dead = store.create(pod())
        store.delete(POD, "shop", "p")
        store.create(claim(ownerReferences=[owner(dead)]))
        clock.run_until(clock.now_s)
        assert store.get(CLAIM, "shop", "c") is None


class TestWatch:
    @pytest.fixture
    def seen(self, store):
        events = []
        store.watch(POD, lambda event: events.append((event.change, event.body["metadata"]["name"])))
        return events

    def test_every_change_is_told_in_order(self, store, clock, seen):
        held = store.create(pod())
        store.replace_status({**held, "status": {"phase": "Running"}})
        store.create(pod("q"))
        store.delete(POD, "shop", "p")
        clock.run_until(clock.now_s)
        assert [
            (Change.ADDED, "p"),
            (Change.MODIFIED, "p"),
            (Change.ADDED, "q"),
            (Change.DELETED, "p"),
        ] == seen

    def test_it_begins_with_what_exists(self, store, clock):
        store.create(pod())
        seen = []
        store.watch(POD, lambda event: seen.append(event.change))
        clock.run_until(clock.now_s)
        assert [Change.ADDED] == seen

    def test_nothing_is_told_inside_a_write(self, store, clock, seen):
        store.create(pod())
        assert [] == seen
        clock.run_until(clock.now_s)
        assert [(Change.ADDED, "p")] == seen

    def test_other_kinds_are_not_told(self, store, clock, seen):
        store.create(claim())
        clock.run_until(clock.now_s)
        assert [] == seen

    def test_an_event_carries_the_object_as_it_was_then(self, store, clock):
        phases = []
        store.watch(POD, lambda event: phases.append(event.body["status"]["phase"]))
        held = store.create(pod())
        store.replace_status({**held, "status": {"phase": "Running"}})
        clock.run_until(clock.now_s)
        assert ["Pending", "Running"] == phases
