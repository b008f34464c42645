"""Nodes and the files of NVIDIA's agents on an API server: the doors through which nodes are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from actuator.kube.apiserver import MERGE, ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.listing import Lister, listed
from actuator.kube.resources import CLAIMS, CONFIG_MAPS, NODES, PODS, SLICES, Resource
from actuator.layouts.node import TAINT
from actuator.manifest import Json, version_of
from actuator.objects.slices import Inventory, SliceReader
from fleet.errors import InputError, RefusedError, UnavailableError

FILE = "config.yaml"
"""The key of the ConfigMap that the GPU operator's MIG manager reads."""


class _Door:
    """Nodes, their pods, and the ConfigMap of an agent. Every write is on the version that it was decided on.

    Args:
        server: The API server.
        namespace: Namespace of the agent's ConfigMap.
        config_map: Its name.
        fence: Asked before every write; raises `RefusedError` where another leads.
    """

    def __init__(
        self, server: ApiServer, namespace: str, config_map: str, fence: Callable[[], object]
    ) -> None:
        self._server = server
        self._path = CONFIG_MAPS.path(namespace, config_map)
        self._fence = fence

    def node(self, name: str) -> Json:
        """Return a Node; `NotFoundError` if there is none."""
        return self._server.request("GET", NODES.path("", name))

    def nodes(self) -> Sequence[Json]:
        """Return every Node."""
        return Lister(self._server).all(NODES)

    def pods_on(self, node: str) -> Sequence[Json]:
        """Return the pods that are bound to a node."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        items: list[Json] = self._server.request("GET", PODS.path(), query=query)["items"]
        return items

    def mark(
        self, node: Json, labels: Mapping[str, str], notes: Mapping[str, str | None], *, is_held: bool
    ) -> None:
        """Set labels, our annotations and our taint, on the version of the node; nothing else moves."""
        self._fence()
        taints = [t for t in node["spec"].get("taints") or [] if t.get("key") != TAINT["key"]]
        taints += [dict(TAINT)] if is_held else []
        body = {
            "metadata": {
                "resourceVersion": version_of(node),
                "labels": dict(labels),
                "annotations": dict(notes),
            },
            "spec": {"taints": taints or None},
        }
        self._server.request("PATCH", NODES.path("", node["metadata"]["name"]), body, content_type=MERGE)

    def evict(self, pod: Json) -> None:
        """Evict a pod that was seen, and none that came after it; `RefusedError` while a budget keeps it."""
        self._fence()
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": {"preconditions": {"uid": pod["metadata"]["uid"]}},
        }
        try:
            self._server.request("POST", PODS.path(namespace, name, "eviction"), body)
        except UnavailableError as error:
            if "disruption budget" in str(error):  # 429, as for a server that is too busy
                raise RefusedError(str(error)) from error
            raise

    def _data(self, operand: str) -> tuple[dict[str, str], str]:
        try:
            body = self._server.request("GET", self._path)
        except NotFoundError as error:
            fix = f"name the one that {operand}.config.name of the operator's chart names"
            raise InputError("there is no such ConfigMap", where=self._path, fix=fix) from error
        return dict(body.get("data") or {}), version_of(body)

    def _write_data(self, data: Mapping[str, str | None], version: str) -> None:
        self._fence()
        body = {"metadata": {"resourceVersion": version}, "data": dict(data)}
        self._server.request("PATCH", self._path, body, content_type=MERGE)


class NodeDoor(_Door):
    """Implements `actuator.layouts.hands.Door`: the ConfigMap is the MIG manager's, with one file."""

    def __init__(
        self, server: ApiServer, namespace: str, config_map: str, fence: Callable[[], object]
    ) -> None:
        super().__init__(server, namespace, config_map, fence)
        # Plans are made beside the tick, and what a reader is not shown it forgets.
        self._every, self._one = SliceReader(), SliceReader()

    def published(self, node: str = "") -> Inventory:
        """Return what NVIDIA's DRA driver publishes of a node, `""` = of all; nothing where there is none."""
        if not node:
            return self._every.read(self._some(SLICES, {}))
        return self._one.read(self._some(SLICES, {"fieldSelector": f"spec.nodeName={node}"}))

    def claims(self) -> Sequence[Json]:
        """Return every ResourceClaim."""
        return self._some(CLAIMS, {})

    def _some(self, resource: Resource, query: Json) -> Sequence[Json]:
        """Return the objects of a resource, none where it is not served."""
        try:
            return listed(self._server, resource.path(), query)[0]
        except NotFoundError:
            return []

    def file(self) -> tuple[str, str]:
        """Return the manager's file and its version; `InputError` if there is no such ConfigMap or key."""
        data, version = self._data("migManager")
        if FILE not in data:
            raise InputError(f"has no key {FILE}", where=self._path, fix="give the MIG manager's ConfigMap")
        return data[FILE], version

    def write_file(self, text: str, version: str) -> None:
        """Write the manager's file."""
        self._write_data({FILE: text}, version)


class PluginDoor(_Door):
    """Implements `actuator.slicing.hands.Door`: the ConfigMap is the device plugin's, with a key a config."""

    def configs(self) -> tuple[Mapping[str, str], str]:
        """Return the plugin's configs by name, and their version; `InputError` without such a ConfigMap."""
        return self._data("devicePlugin")

    def write_configs(self, texts: Mapping[str, str | None], version: str) -> None:
        """Write configs by name, `None` = it goes; no other is touched."""
        self._write_data(texts, version)
