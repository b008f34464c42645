"""Whatever is written to the object store, its rules hold and a watch tells the whole story."""

import copy

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fleet.errors import ConflictError
from simulator.api import CLAIM, NODE, POD, Change
from simulator.clock import VirtualClock
from simulator.store import ObjectStore

NAMES = st.sampled_from(["a", "b", "c"])
KINDS = st.sampled_from([POD, CLAIM])
HOLD = "example.org/hold"


class StoreMachine(RuleBasedStateMachine):
    """Creates, changes and deletes pods and claims that own each other, with stale copies in hand."""

    @initialize()
    def begin(self):
        self.clock = VirtualClock(1_750_000_000.0)
        self.store = ObjectStore(self.clock)
        self.store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}})
        self.told = {}
        self.told_version = 0
        self.copies = []
        self.uids = set()
        for kind in (POD, CLAIM):
            self.store.watch(kind, self._on_event)

    def _on_event(self, event):
        body = event.body
        key = body["kind"], body["metadata"]["name"]
        assert (event.change is Change.ADDED) == (key not in self.told)
        if event.change is Change.DELETED:
            del self.told[key]
        else:
            version = int(body["metadata"]["resourceVersion"])
            assert version > self.told_version
            self.told_version = version
            self.told[key] = body

    def _held(self, kind, name):
        return self.store.get(kind, "shop", name)

    @rule(kind=KINDS, name=NAMES, owner=st.none() | st.tuples(KINDS, NAMES), is_held=st.booleans())
    def create(self, kind, name, owner, is_held):
        boss = self._held(*owner) if owner else None
        metadata = {"namespace": "shop", "name": name, "finalizers": [HOLD] * is_held}
        if boss is not None:
            named = {"apiVersion": boss["apiVersion"], "kind": boss["kind"], "name": boss["metadata"]["name"]}
            metadata["ownerReferences"] = [{**named, "uid": boss["metadata"]["uid"]}]
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": {}}
        is_taken = self._held(kind, name) is not None
        try:
            stored = self.store.create(body)
        except ConflictError:
            assert is_taken
        else:
            assert not is_taken
            assert stored["metadata"]["uid"] not in self.uids
            self.uids.add(stored["metadata"]["uid"])
            self.copies.append(stored)

    @rule(name=NAMES)
    def bind(self, name):
        pod = self._held(POD, name)
        can = pod is not None and "deletionTimestamp" not in pod["metadata"] and "nodeName" not in pod["spec"]
        target = {"apiVersion": NODE.api_version, "kind": NODE.name, "name": "n"}
        metadata = {"namespace": "shop", "name": name}
        try:
            self.store.create({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})
        except ConflictError:
            assert not can
        else:
            assert can

    @rule(kind=KINDS, name=NAMES)
    def read(self, kind, name):
        body = self._held(kind, name)
        if body is not None:
            self.copies.append(body)

    @precondition(lambda self: self.copies)
    @rule(data=st.data(), in_status=st.booleans(), word=st.sampled_from("xyz"))
    def write(self, data, in_status, word):
        body = data.draw(st.sampled_from(self.copies))
        newest = self.store.get(POD if body["kind"] == "Pod" else CLAIM, "shop", body["metadata"]["name"])
        is_current = (
            newest is not None
            and newest["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"]
        )
        edited = copy.deepcopy(body)
        if in_status:
            edited["status"] = {"word": word}
        else:
            edited["metadata"]["labels"] = {"word": word, "kind": body["kind"]}
            edited["metadata"]["finalizers"] = []
        try:
            written = (self.store.replace_status if in_status else self.store.replace)(edited)
        except ConflictError:
            assert not is_current
        else:
            assert is_current
            self.copies.append(written)

    @rule(kind=KINDS, name=NAMES, grace_s=st.none() | st.sampled_from([0, 5]))
    def delete(self, kind, name, grace_s):
        is_there = self._held(kind, name) is not None
        try:
            self.store.delete(kind, "shop", name, grace_s=grace_s)
        except ConflictError:
            assert not is_there
        else:
            held = self._held(kind, name)
            assert held is None or "deletionTimestamp" in held["metadata"]

    @invariant()
    def a_watch_tells_everything(self):
        self.clock.run_until(self.clock.now_s)
        listed = [*self.store.list(POD), *self.store.list(CLAIM)]
        assert {(body["kind"], body["metadata"]["name"]): body for body in listed} == self.told

    @invariant()
    def labels_narrow_down_what_is_listed(self):
        for kind in (POD, CLAIM):
            for labels in ({"word": word, "kind": kind.name} for word in "xyz"):
                carry = [
                    body
                    for body in self.store.list(kind, "shop")
                    if labels.items() <= body["metadata"].get("labels", {}).items()
                ]
                assert carry == self.store.list(kind, "shop", labels) == self.store.list(kind, None, labels)
            names = [body["metadata"]["name"] for body in self.store.list(kind, "shop")]
            assert sorted(names) == names

    @invariant()
    def nothing_lives_on_without_an_owner_or_a_reason(self):
        bodies = [*self.store.list(POD), *self.store.list(CLAIM)]
        alive = {body["metadata"]["uid"] for body in bodies}
        for body in bodies:
            metadata = body["metadata"]
            owners = {owner["uid"] for owner in metadata.get("ownerReferences", ())}
            assert not owners or owners & alive or "deletionTimestamp" in metadata
            if "deletionTimestamp" in metadata:
                assert metadata["finalizers"] or metadata["deletionGracePeriodSeconds"] > 0


TestStore = StoreMachine.TestCase
