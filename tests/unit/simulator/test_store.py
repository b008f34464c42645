import copy
import re

import pytest

from fleet.errors import ConflictError, RefusedError
from simulator.api import CLAIM_TEMPLATE, DEPLOYMENT, POD, SLICE
from simulator.errors import NotModelledError
from tests.builders.objects import binding, claim, deployment, node, owner, pod, with_spec


class TestCreate:
    def test_the_server_fills_in_what_is_its_own(self, store):
        metadata = store.create(deployment())["metadata"]
        assert "2025-06-15T15:06:40Z" == metadata["creationTimestamp"]
        assert 1 == metadata["generation"]
        assert str(store.version) == metadata["resourceVersion"]
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])

    def test_it_can_be_read_back(self, store):
        assert store.create(deployment()) == store.get(DEPLOYMENT, "shop", "d")

    def test_what_does_not_exist_is_none(self, store):
        store.create(pod())
        assert store.get(POD, "shop", "q") is None
        assert store.get(POD, "other", "p") is None

    def test_a_name_is_taken_once_per_kind_and_namespace(self, store):
        store.create(pod())
        store.create(pod(namespace="other"))
        store.create(claim("p"))
        with pytest.raises(ConflictError, match="Pod shop/p exists already"):
            store.create(pod())

    def test_a_status_is_not_taken_from_the_one_who_creates(self, store):
        assert "status" not in store.create({**claim(), "status": {"allocation": {}}})

    def test_a_pod_begins_pending(self, store):
        assert {"phase": "Pending"} == store.create({**pod(), "status": {"phase": "Running"}})["status"]

    def test_later_changes_of_what_was_sent_do_not_reach_the_store(self, store):
        body = pod()
        store.create(body)
        body["spec"]["containers"].clear()
        assert [{"name": "c"}] == store.get(POD, "shop", "p")["spec"]["containers"]

    def test_what_was_read_cannot_be_changed(self, store):
        held = store.create(pod())
        with pytest.raises(TypeError, match="belongs to the store"):
            held["spec"]["containers"].clear()

    def test_generated_names_begin_as_asked_and_differ(self, store):
        names = [store.create(pod(None, generateName="web-"))["metadata"]["name"] for _ in range(50)]
        assert 50 == len(set(names))
        assert all(re.fullmatch(r"web-[b-df-hj-np-tv-z2-9]{5}", name) for name in names)

    def test_a_generated_name_does_not_depend_on_what_else_was_created(self, store, clock):
        first = store.create(pod(None, generateName="web-"))["metadata"]["name"]
        again = type(store)(clock)
        again.create(pod(None, generateName="other-"))
        again.create(claim())
        assert first == again.create(pod(None, generateName="web-"))["metadata"]["name"]

    def test_a_generated_name_that_is_taken_is_skipped(self, store, clock):
        first = type(store)(clock).create(pod(None, generateName="web-"))["metadata"]["name"]
        store.create(pod(first))
        assert first != store.create(pod(None, generateName="web-"))["metadata"]["name"]

    def test_a_uid_is_never_used_again(self, store):
        first = store.create(pod())["metadata"]["uid"]
        store.delete(POD, "shop", "p")
        assert first != store.create(pod())["metadata"]["uid"]

    @pytest.mark.parametrize(
        "metadata",
        [
            {"name": "p"},
            {"namespace": "shop"},
            {"name": "p", "namespace": "shop", "resourceVersion": "1"},
        ],
    )
    def test_without_name_or_namespace_or_with_a_version_it_is_refused(self, store, metadata):
        with pytest.raises(RefusedError, match="a new Pod needs"):
            store.create({**pod(), "metadata": metadata})

    def test_a_cluster_wide_object_has_no_namespace(self, store):
        with pytest.raises(RefusedError, match="no namespace"):
            store.create({**node(), "metadata": {"name": "n0", "namespace": "shop"}})

    def test_an_unknown_kind_is_not_modelled(self, store):
        with pytest.raises(NotModelledError, match="'StatefulSet' in 'apps/v1'"):
            store.create({**deployment(), "kind": "StatefulSet"})

    def test_fewer_than_no_replicas_are_refused(self, store):
        with pytest.raises(RefusedError, match=r"spec\.replicas"):
            store.create(deployment(replicas=-1))

    def test_a_template_that_its_selector_misses_is_refused(self, store):
        body = deployment()
        body["spec"]["selector"] = {"matchLabels": {"app": "other"}}
        with pytest.raises(RefusedError, match="do not match the selector"):
            store.create(body)


class TestList:
    def test_objects_come_by_namespace_and_name(self, store):
        for namespace, name in [("b", "1"), ("a", "2"), ("a", "1")]:
            store.create(pod(name, namespace))
        found = [(p["metadata"]["namespace"], p["metadata"]["name"]) for p in store.list(POD)]
        assert [("a", "1"), ("a", "2"), ("b", "1")] == found

    def test_a_namespace_and_labels_narrow_it_down(self, store):
        store.create(pod("1", labels={"app": "x", "tier": "t"}))
        store.create(pod("2", labels={"app": "y"}))
        store.create(pod("3"))
        store.create(pod("4", "other", labels={"app": "x"}))
        found = store.list(POD, "shop", {"app": "x"})
        assert ["1"] == [p["metadata"]["name"] for p in found]


class TestReplace:
    def test_the_newest_version_can_be_replaced_once(self, store):
        held = store.create(deployment())
        new = store.replace(with_spec(held, replicas=3))
        assert 3 == store.get(DEPLOYMENT, "shop", "d")["spec"]["replicas"]
        assert int(held["metadata"]["resourceVersion"]) < int(new["metadata"]["resourceVersion"])
        with pytest.raises(ConflictError, match="is at version"):
            store.replace(with_spec(held, replicas=4))
        assert 3 == store.get(DEPLOYMENT, "shop", "d")["spec"]["replicas"]

    def test_generation_grows_with_the_spec_only(self, store):
        held = store.create(deployment())
        held = store.replace({**held, "metadata": {**held["metadata"], "labels": {"a": "b"}}})
        assert 1 == held["metadata"]["generation"]
        held = store.replace(with_spec(held, replicas=3))
        assert 2 == held["metadata"]["generation"]

    def test_the_same_again_changes_nothing(self, store):
        held = store.create(deployment())
        before = store.version
        assert held == store.replace(copy.deepcopy(held))
        assert before == store.version

    def test_status_is_not_written_with_the_rest(self, store):
        held = store.create(deployment())
        held = store.replace_status({**held, "status": {"replicas": 1}})
        held = store.replace({**with_spec(held, replicas=2), "status": {"replicas": 9}})
        assert {"replicas": 1} == held["status"]

    def test_system_fields_cannot_be_set(self, store):
        held = store.create(deployment())
        forged = {
            **held["metadata"],
            "uid": "mine",
            "generation": 40,
            "deletionTimestamp": "2020-01-01T00:00:00Z",
        }
        assert held == store.replace({**held, "metadata": forged})

    def test_without_a_version_it_is_refused(self, store):
        store.create(deployment())
        with pytest.raises(RefusedError, match="must carry its resourceVersion"):
            store.replace(deployment())

    def test_what_is_gone_is_a_conflict(self, store):
        held = store.create(deployment())
        store.delete(DEPLOYMENT, "shop", "d")
        with pytest.raises(ConflictError, match="does not exist"):
            store.replace(held)

    @pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
    def test_claims_and_their_templates_are_immutable(self, store, kind):
        held = store.create({**claim(), "kind": kind})
        with pytest.raises(RefusedError, match="spec: field is immutable"):
            store.replace(with_spec(held, devices={}))
        labelled = {**held["metadata"], "labels": {"a": "b"}}
        assert {"a": "b"} == store.replace({**held, "metadata": labelled})["metadata"]["labels"]

    def test_changing_the_spec_of_a_pod_is_not_modelled(self, store):
        held = store.create(pod())
        with pytest.raises(NotModelledError, match="spec of Pod shop/p"):
            store.replace(with_spec(held, containers=[]))

    def test_changing_owners_is_not_modelled(self, store):
        held, boss = store.create(pod()), store.create(deployment())
        adopted = {**held["metadata"], "ownerReferences": [owner(boss)]}
        with pytest.raises(NotModelledError, match="change of owners"):
            store.replace({**held, "metadata": adopted})

    def test_invalid_replicas_are_refused(self, store):
        held = store.create(deployment())
        with pytest.raises(RefusedError, match=r"spec\.replicas"):
            store.replace(with_spec(held, replicas=-1))


class TestReplaceStatus:
    def test_only_the_status_is_written(self, store):
        held = store.create(deployment())
        new = store.replace_status({**with_spec(held, replicas=7), "status": {"replicas": 1}})
        assert (1, {"replicas": 1}) == (new["spec"]["replicas"], new["status"])
        assert 1 == new["metadata"]["generation"]

    def test_it_makes_older_copies_stale(self, store):
        held = store.create(deployment())
        store.replace_status({**held, "status": {"replicas": 1}})
        with pytest.raises(ConflictError):
            store.replace(with_spec(held, replicas=2))

    def test_the_same_again_changes_nothing(self, store):
        held = store.replace_status({**store.create(claim()), "status": {"reservedFor": []}})
        before = store.version
        store.replace_status(held)
        assert before == store.version

    def test_a_kind_without_a_status_of_its_own_is_refused(self, store):
        held = store.create({**claim(), "kind": "ResourceClaimTemplate"})
        with pytest.raises(RefusedError, match="no status of its own"):
            store.replace_status({**held, "status": {}})


class TestBinding:
    def test_it_sets_the_node_and_says_that_the_pod_is_scheduled(self, bound):
        assert "n0" == bound["spec"]["nodeName"]
        assert [("PodScheduled", "True")] == [(c["type"], c["status"]) for c in bound["status"]["conditions"]]

    def test_a_pod_is_bound_once(self, store, bound):
        with pytest.raises(ConflictError, match="bound already"):
            store.create(binding())

    def test_a_node_must_exist(self, store):
        store.create(pod())
        with pytest.raises(RefusedError, match="node n9 does not exist"):
            store.create(binding(to="n9"))

    def test_a_pod_must_exist(self, store):
        store.create(node())
        with pytest.raises(ConflictError, match="gone"):
            store.create(binding())


class TestVersion:
    def test_it_grows_with_every_change_and_only_then(self, store, bound):
        versions = [store.version]
        store.list(POD)
        store.get(SLICE, None, "s")
        versions.append(store.version)
        store.create({**claim(), "kind": "ResourceClaimTemplate"})
        versions.append(store.version)
        store.delete(CLAIM_TEMPLATE, "shop", "c")
        versions.append(store.version)
        assert versions[0] == versions[1] < versions[2] < versions[3]
