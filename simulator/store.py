"""The API server of the embedded world: objects in memory, with the rules that clients lean on."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from uuid import NAMESPACE_OID, uuid5

from actuator.manifest import labels_of
from fleet.errors import ConflictError, RefusedError
from simulator.admission import SYSTEM_FIELDS, granted_s, is_spent, refuse_immutable, refuse_invalid
from simulator.api import BINDING, KINDS, NODE, POD, Change, Event, Json, Kind, kind_of, timestamp
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.frozen import freeze
from simulator.pods import with_condition

_Key = tuple[Kind, str, str]

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # k8s.io/apimachinery util/rand: no vowels, no lookalikes
_SUFFIX_LENGTH = 5


class ObjectStore:
    """Implements `simulator.api.Api` with optimistic concurrency, watches, finalizers and ownership.

    What is stored is frozen (`simulator.frozen`): reads and watches hand out the stored object itself.
    Writes freeze what they are given, sharing the parts that are frozen already. A generated name depends
    only on how often its prefix was used, so that runs that differ elsewhere still agree on it.

    Stands in for the garbage collector too: an object whose last owner goes is deleted at once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[Kind, dict[tuple[str, str], Json]] = {kind: {} for kind in KINDS.values()}
        # Names in order, and objects by each of their labels: lists are made of these.
        self._named: dict[Kind, list[tuple[str, str]]] = {kind: [] for kind in KINDS.values()}
        self._labelled: defaultdict[tuple[Kind, str, str], dict[tuple[str, str], Json]] = defaultdict(dict)
        self._listed: dict[Kind, dict[str | None, Sequence[Json]]] = {}
        self._owned: defaultdict[str, dict[_Key, None]] = defaultdict(dict)
        self._alive: set[str] = set()
        self._watchers: defaultdict[Kind, list[Callable[[Event], None]]] = defaultdict(list)
        self._generated: defaultdict[tuple[Kind, str, str], int] = defaultdict(int)
        self._version = 0

    @property
    def version(self) -> int:
        """Grows with every change of any object: equal versions, equal contents."""
        return self._version

    def get(self, kind: Kind, namespace: str | None, name: str) -> Json | None:
        """Return an object, `None` if it does not exist."""
        return self._objects[kind].get((namespace or "", name))

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Sequence[Json]:
        """Return what carries these labels, by namespace and name; of all namespaces if none is given."""
        if labels:
            return self._carrying(kind, namespace, labels)
        listed, bodies = self._listed.setdefault(kind, {}), self._objects[kind]
        if namespace not in listed:
            named = self._named[kind]
            listed[namespace] = [bodies[key] for key in named if namespace in {None, key[0]}]
        return listed[namespace]

    def _carrying(self, kind: Kind, namespace: str | None, labels: Mapping[str, str]) -> Sequence[Json]:
        """Return what carries these labels; linear in what carries the rarest of them."""
        rarest = min((self._labelled.get((kind, *label), {}) for label in labels.items()), key=len)
        found = (item for item in rarest.items() if namespace in {None, item[0][0]})
        wanted = labels.items()
        return [body for _, body in sorted(found, key=itemgetter(0)) if wanted <= labels_of(body).items()]

    def watch(self, kind: Kind, on_event: Callable[[Event], None]) -> None:
        """Report every object that exists as added, then every change; delivered by the clock, at once."""
        for body in self.list(kind):
            self._clock.after(0, partial(on_event, Event(Change.ADDED, body)))
        self._watchers[kind].append(on_event)

    def create(self, body: Json) -> Json:
        """Write a new object and return it as stored; `ConflictError` if its name is taken."""
        kind = kind_of(body)
        if kind is BINDING:
            return self._bind(body)
        key = self._new_key(kind, body)
        if key[1:] in self._objects[kind]:
            raise ConflictError(f"{_spoken(key)} exists already")
        refuse_invalid(kind, _spoken(key), body)
        stored = {name: part for name, part in body.items() if name != "status" or not kind.has_status}
        if kind is POD:
            stored["status"] = {"phase": "Pending"}
        stored["metadata"] = {
            **body["metadata"],
            "name": key[2],
            "uid": str(uuid5(NAMESPACE_OID, f"{_spoken(key)}/{self._version}")),
            "creationTimestamp": timestamp(self._clock.now_s),
            "generation": 1,
        }
        stored = self._put(Change.ADDED, key, stored)
        self._adopt(key, stored)
        return stored

    def replace(self, body: Json) -> Json:
        """Write everything but the status, on the version that the object carries."""
        key, old = self._current(body)
        metadata = {name: part for name, part in body["metadata"].items() if name not in SYSTEM_FIELDS}
        metadata |= {name: old["metadata"][name] for name in SYSTEM_FIELDS if name in old["metadata"]}
        new = {**body, "metadata": metadata}
        if key[0].has_status:
            new.pop("status", None)
            new |= {"status": old["status"]} if "status" in old else {}
        if metadata.get("ownerReferences") != old["metadata"].get("ownerReferences"):
            raise NotModelledError(f"a change of owners of {_spoken(key)}")
        if new.get("spec") != old.get("spec"):
            refuse_immutable(key[0], _spoken(key))
            refuse_invalid(key[0], _spoken(key), new)
            metadata["generation"] += 1
        if is_spent(metadata):
            self._remove(key)
            return old
        return old if new == old else self._put(Change.MODIFIED, key, new)

    def replace_status(self, body: Json) -> Json:
        """Write the status and nothing else, on the version that the object carries."""
        key, old = self._current(body)
        if not key[0].has_status:
            raise RefusedError(f"{_spoken(key)} has no status of its own")
        if body.get("status") == old.get("status"):
            return old
        return self._put(Change.MODIFIED, key, {**old, "status": body.get("status")})

    def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        grace_s: int | None = None,
    ) -> None:
        """Delete an object, if `uid` is given only that one and none that came after it under its name.

        Pods end within their grace, or `grace_s`, and 0 removes what is left of them.
        """
        key = (kind, namespace or "", name)
        old = self._objects[kind].get(key[1:])
        if old is None:
            raise ConflictError(f"{_spoken(key)} does not exist")
        if uid not in (None, old["metadata"]["uid"]):
            raise ConflictError(f"{_spoken(key)} is another one than that with uid {uid}")
        grace_s = granted_s(kind, old, grace_s)
        metadata = old["metadata"]
        if "deletionTimestamp" in metadata and grace_s >= metadata["deletionGracePeriodSeconds"]:
            return
        metadata = {
            **metadata,
            "deletionTimestamp": timestamp(self._clock.now_s + grace_s),
            "deletionGracePeriodSeconds": grace_s,
        }
        if is_spent(metadata):
            self._remove(key)
        else:
            self._put(Change.MODIFIED, key, {**old, "metadata": metadata})

    def _new_key(self, kind: Kind, body: Json) -> _Key:
        metadata = body.get("metadata", {})
        namespace, name = metadata.get("namespace", ""), metadata.get("name")
        prefix = metadata.get("generateName")
        if "resourceVersion" in metadata or bool(namespace) != kind.is_namespaced or not (name or prefix):
            raise RefusedError(
                f"a new {kind.name} needs a name or generateName, no resourceVersion and "
                f"{'a' if kind.is_namespaced else 'no'} namespace"
            )
        if not name:
            name = self._free_name(kind, namespace, prefix)
        return kind, namespace, name

    def _free_name(self, kind: Kind, namespace: str, prefix: str) -> str:
        """Return the next name with this prefix: the same in every run, whatever others are called."""
        while True:
            self._generated[kind, namespace, prefix] += 1
            name = prefix + _suffix(f"{namespace}/{prefix}/{self._generated[kind, namespace, prefix]}")
            if (namespace, name) not in self._objects[kind]:
                return name

    def _current(self, body: Json) -> tuple[_Key, Json]:
        """Find what a write is meant for; it must be on the newest version."""
        metadata = body["metadata"]
        key = (kind_of(body), metadata.get("namespace", ""), metadata["name"])
        old = self._objects[key[0]].get(key[1:])
        if "resourceVersion" not in metadata:
            raise RefusedError(f"a write to {_spoken(key)} must carry its resourceVersion")
        if old is None:
            raise ConflictError(f"{_spoken(key)} does not exist")
        newest = old["metadata"]["resourceVersion"]
        if metadata["resourceVersion"] != newest:
            raise ConflictError(f"{_spoken(key)} is at version {newest}, not {metadata['resourceVersion']}")
        return key, old

    def _bind(self, binding: Json) -> Json:
        key = (POD, binding["metadata"]["namespace"], binding["metadata"]["name"])
        pod, node = self._objects[POD].get(key[1:]), binding["target"]["name"]
        if pod is None or "deletionTimestamp" in pod["metadata"] or pod["spec"].get("nodeName"):
            raise ConflictError(f"{_spoken(key)} is gone, leaving or bound already")
        if self.get(NODE, None, node) is None:
            raise RefusedError(f"node {node} does not exist")
        status = with_condition(pod["status"], "PodScheduled", is_true=True, at_s=self._clock.now_s)
        return self._put(
            Change.MODIFIED, key, {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}
        )

    def _put(self, change: Change, key: _Key, body: Json) -> Json:
        self._version += 1
        stored: Json = freeze(
            {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        )
        self._index(key, self._objects[key[0]].get(key[1:]), stored)
        self._objects[key[0]][key[1:]] = stored
        self._announce(key[0], Event(change, stored))
        return stored

    def _index(self, key: _Key, old: Json | None, new: Json | None) -> None:
        """Have lists show an object as it is now, `None` = not there; lists that were given out stay."""
        kind, name = key[0], key[1:]
        self._listed.pop(kind, None)
        if old is None:
            insort(self._named[kind], name)
        else:
            for label in labels_of(old).items():
                del self._labelled[kind, *label][name]
        if new is None:
            del self._named[kind][bisect_left(self._named[kind], name)]
        else:
            for label in labels_of(new).items():
                self._labelled[kind, *label][name] = new

    def _adopt(self, key: _Key, body: Json) -> None:
        """Note whose object this is; one that is born without a living owner does not live long."""
        self._alive.add(body["metadata"]["uid"])
        owners = [owner["uid"] for owner in body["metadata"].get("ownerReferences", ())]
        for owner in owners:
            self._owned[owner][key] = None
        if owners and self._alive.isdisjoint(owners):
            self._clock.after(0, partial(self._collect, [key]))

    def _remove(self, key: _Key) -> None:
        self._version += 1
        body = self._objects[key[0]].pop(key[1:])
        self._index(key, body, None)
        self._announce(key[0], Event(Change.DELETED, body))
        self._alive.discard(body["metadata"]["uid"])
        for owner in body["metadata"].get("ownerReferences", ()):
            self._owned.get(owner["uid"], {}).pop(key, None)
        self._collect(self._owned.pop(body["metadata"]["uid"], {}))

    def _collect(self, keys: Iterable[_Key]) -> None:
        """Delete those of the objects that no living owner holds."""
        for kind, namespace, name in keys:
            body = self.get(kind, namespace, name)
            owners = body["metadata"].get("ownerReferences", ()) if body else ()
            if owners and self._alive.isdisjoint(owner["uid"] for owner in owners):
                self.delete(kind, namespace, name)

    def _announce(self, kind: Kind, event: Event) -> None:
        for on_event in self._watchers[kind]:
            self._clock.after(0, partial(on_event, event))


def _spoken(key: _Key) -> str:
    kind, namespace, name = key
    return f"{kind.name} {namespace}/{name}" if kind.is_namespaced else f"{kind.name} {name}"


def _suffix(text: str) -> str:
    digest = blake2b(text.encode(), digest_size=_SUFFIX_LENGTH).digest()
    return "".join(_SUFFIX_ALPHABET[byte % len(_SUFFIX_ALPHABET)] for byte in digest)
