"""Everything that dumped objects say, put together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import yaml

from actuator.inventory import claims, hami, kai, shares, tenants
from actuator.inventory.facts import card_facts
from actuator.inventory.findings import Finding, Severity, error, info
from actuator.inventory.logs import unhealthy_cards
from actuator.inventory.nodes import Configs, NodeView, node_view
from actuator.inventory.versions import as_v1
from actuator.manifest import Json, key_of, labels_of
from actuator.mechanisms.device_plugin import GPU
from actuator.objects.slices import Inventory, SliceReader
from fleet.errors import InputError
from fleet.ledgers.queues import UNLIMITED, Queues, queues_of

_SEVEREST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True, slots=True)
class Dump:
    """Objects by kind, lists taken apart, and logs.

    Attributes:
        by_kind: Objects by kind; of resource.k8s.io in the shape of v1.
        configs: Configurations of the MIG manager by name.
        logs: Text of logs of the device plug-in.
        now_s: When the dump was made, seconds since the epoch; `None` if not known.
    """

    by_kind: Mapping[str, Sequence[Json]]
    configs: Configs = field(default_factory=dict)
    logs: str = ""
    now_s: float | None = None

    def of(self, kind: str) -> Sequence[Json]:
        """Return the objects of one kind."""
        return self.by_kind.get(kind, ())


def dump_of(documents: Iterable[object], logs: str = "", now_s: float | None = None) -> Dump:
    """Return documents as a dump: objects, lists of them, and configurations of the MIG manager.

    An object that is there twice counts once, as it is given last. `InputError` for a document that is
    none of these.
    """
    by_kind: defaultdict[str, dict[object, Json]] = defaultdict(dict)
    configs: dict[str, list[Json]] = {}
    for body in _objects(documents):
        if "mig-configs" in body:
            configs |= body["mig-configs"]
        else:
            meta = body["metadata"]
            # One without a name, as an observed slice before it was created, is only itself.
            key = (meta.get("namespace"), meta["name"]) if "name" in meta else id(body)
            by_kind[body["kind"]][key] = as_v1(body)
            if body["kind"] == "ConfigMap":
                configs |= _configs_in(body)
    return Dump({kind: tuple(found.values()) for kind, found in by_kind.items()}, configs, logs, now_s)


def understand(dump: Dump) -> Json:
    """Return what a dump shows of nodes, cards, devices, shares, queues and tenants, and the findings."""
    slices, pods = dump.of("ResourceSlice"), dump.of("Pod")
    inventory = SliceReader().read(slices)
    nodes, findings = _nodes(dump, inventory)
    devices, found = claims.device_view(inventory, dump.of("ResourceClaim"), pods, dump.now_s)
    findings += found + claims.taint_rule_findings(dump.of("DeviceTaintRule"), dump.of("ResourceClaim"))
    config_maps = {(key_of(body).namespace, key_of(body).name): body for body in dump.of("ConfigMap")}
    groups = kai.groups_of(pods)
    findings += kai.group_findings(groups, pods, _binding(dump.of("BindRequest")))
    uses = [
        *shares.hami_use(dump.of("Node"), pods),
        *shares.kai_use(groups, pods, config_maps),
        *shares.dra_use(slices, dump.of("ResourceClaim")),
        *shares.sliced_use(nodes, pods),
    ]
    findings += shares.overcommitted(uses)
    sliced = frozenset(node.name for node in nodes if node.replicas > 1)
    holding = tenants.tenants_of(pods, dump.of("ResourceClaim"), inventory.devices(), config_maps, sliced)
    unhealthy = unhealthy_cards(dump.logs)
    findings += [f for pod in pods for f in _pod_findings(pod, config_maps)]
    findings += tenants.meeting_findings(holding) + tenants.at_risk(holding, unhealthy)
    queues = queues_of(kai.queue_of(body) for body in dump.of("Queue"))
    lost = _lost_queues(queues)
    findings += [*lost.values(), *(f for name in queues.by_name for f in _queue_findings(queues, name))]
    return {
        "nodes": [asdict(node) for node in nodes],
        "cards": [asdict(card) for card in card_facts(slices)],
        "boards": {gpu.uuid: gpu.board.id for gpu in inventory.gpus},
        "unhealthy": unhealthy,
        "devices": asdict(devices),
        "groups": [asdict(group) for group in groups],
        "shares": [asdict(use) for use in uses],
        "queues": {name: _queue(queues, name) for name in queues.by_name if name not in lost},
        "tenants": [asdict(tenant) for tenant in holding],
        "findings": [asdict(f) for f in sorted(findings, key=lambda f: _SEVEREST_FIRST.index(f.severity))],
    }


def _objects(documents: Iterable[object]) -> Iterable[Json]:
    for body in documents:
        if isinstance(body, dict) and isinstance(body.get("items"), list):
            # `kubectl get -o yaml` names the kind on each item, the API server's own lists on the list only.
            kind = str(body.get("kind", "")).removesuffix("List")
            version = body.get("apiVersion")
            yield from _objects({"kind": kind, "apiVersion": version, **item} for item in body["items"])
        elif isinstance(body, dict) and ("mig-configs" in body or _is_object(body)):
            yield body
        elif body is not None:
            raise InputError(
                "holds something that is no Kubernetes object",
                where="objects",
                fix="give what `kubectl get ... -o yaml` or `-o json` writes",
            )


def _is_object(body: Json) -> bool:
    meta = body.get("metadata")
    return (
        isinstance(body.get("kind"), str) and isinstance(meta, dict) and isinstance(meta.get("name", ""), str)
    )


def _configs_in(config_map: Json) -> dict[str, list[Json]]:
    text = (config_map.get("data") or {}).get("config.yaml")
    try:
        body = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return {}  # some other program's settings
    found: dict[str, list[Json]] = body.get("mig-configs", {}) if isinstance(body, dict) else {}
    return found


def _nodes(dump: Dump, inventory: Inventory) -> tuple[list[NodeView], list[Finding]]:
    views, findings = [], []
    for node in dump.of("Node"):
        if not any(GPU in name or "mig" in name for name in labels_of(node)) and not _offers(node):
            continue
        view, found = node_view(node, dump.configs, inventory.devices_of(key_of(node).name))
        cards = hami.registered(node)
        if cards is not None:
            found.append(
                info("hami-node", f"Node {view.name}", f"shares {len(cards)} cards by HAMi", "none needed")
            )
        elif hami.REGISTER in (node["metadata"].get("annotations") or {}):
            what = "registers cards with HAMi in a form that HAMi does not read"
            fix = "bring its device plug-in to the scheduler's version"
            found.append(error("unread-register", f"Node {view.name}", what, fix))
        views.append(view)
        findings += found
    return views, findings


def _offers(node: Json) -> bool:
    return any(name.startswith("nvidia.com/") for name in (node.get("status") or {}).get("allocatable") or {})


def _binding(requests: Iterable[Json]) -> list[str]:
    return [
        group
        for request in requests
        if (request.get("status") or {}).get("phase") != "Failed"
        for group in request["spec"].get("selectedGPUGroups") or []
    ]


def _pod_findings(pod: Json, config_maps: Mapping[tuple[str, str], Json]) -> list[Finding]:
    _, found = kai.share_asked(pod)
    was_given = kai.given(pod, config_maps)
    off = kai.mismatch(pod, was_given[0]) if was_given is not None else None
    return [*found, *filter(None, (off, hami.allocation_finding(pod)))]


def _queue(queues: Queues, name: str) -> Json:
    queue = queues.by_name[name]
    left = {
        "guaranteed_left": queues.guaranteed_left(name),
        "possible_left": queues.possible_left(name),
        "reclaimable": queues.reclaimable(name),
    }
    bounds = {"quota": queue.quota, "limit": queue.limit}
    return {
        "parent": queue.parent,
        "priority": queue.priority,
        "allocated": queue.allocated,
        **{key: None if value == UNLIMITED else value for key, value in bounds.items()},
        **{key: None if math.isinf(value) else value for key, value in left.items()},
    }


def _lost_queues(queues: Queues) -> dict[str, Finding]:
    """Return the queues whose parents cannot be followed to the top."""
    found = {}
    for name in queues.by_name:
        try:
            tuple(queues.path(name))
        except InputError as wrong:
            found[name] = error("lost-queue", f"Queue {name}", wrong.what, wrong.fix)
    return found


def _queue_findings(queues: Queues, name: str) -> list[Finding]:
    queue = queues.by_name[name]
    if queue.limit == 0:
        what, fix = "has no limit set, which lets nothing through", "set limit: -1, or a number"
        return [error("queue-without-limit", f"Queue {name}", what, fix)]
    if queue.quota == 0:
        what = "guarantees nothing: what cannot be preempted, as Deployments by default, is refused"
        fix = "set a quota, or give its pods a class that may be preempted"
        return [info("queue-without-quota", f"Queue {name}", what, fix)]
    return []
