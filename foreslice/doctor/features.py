"""Which of DRA's abilities a cluster has, found by reading back what its API server keeps of an object.

Objects are sent as dry runs: the server validates them, drops the fields of gates that are off, and stores
nothing. Where an ability shows in no object, the server's own metric on its gates is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import ExistsError, NotFoundError
from actuator.kube.gates import feature_gates
from actuator.kube.resources import CLAIMS, SLICES, Resource
from actuator.manifest import Json
from fleet.errors import ConflictError, RefusedError

_GROUP = "resource.k8s.io"
_CLASSES = Resource(f"{_GROUP}/v1", "DeviceClass", "deviceclasses")
_RULES = ("v1", "v1beta2", "v1alpha3")
_POD_GROUPS = ("v1", "v1beta1", "v1alpha3", "v1alpha2")
_DRIVER = "probe.foreslice.dev"
_NAME = "foreslice-probe"
_ASK = {"deviceClassName": "gpu.nvidia.com"}
_DRY = {"dryRun": "All", "fieldValidation": "Ignore"}


class State(StrEnum):
    """Whether an ability is there."""

    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Feature:
    """One of DRA's abilities.

    Attributes:
        kep: Number of the enhancement proposal.
        name: What it is called.
        gate: Its feature gate, empty where it has none in the cluster.
        without: What foreslice cannot do where it is missing.
    """

    kep: int
    name: str
    gate: str
    without: str


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one ability.

    Attributes:
        feature: The ability.
        state: Whether it is there.
        seen: What showed it.
    """

    feature: Feature
    state: State
    seen: str


_Probe = Callable[[ApiServer, str], bool]


def found_in(server: ApiServer, namespace: str) -> tuple[Found, ...]:
    """Return what is there of every ability of the table.

    Args:
        server: Who is asked.
        namespace: Where claims are tried.

    Raises:
        UnavailableError: The API server does not answer.
    """
    gates = feature_gates(server)
    return tuple(_found(feature, probe, server, namespace, gates) for feature, probe in FEATURES)


def _found(
    feature: Feature, probe: _Probe | None, server: ApiServer, namespace: str, gates: Mapping[str, bool]
) -> Found:
    if probe is not None:
        try:
            is_there = probe(server, namespace)
        except RefusedError as error:
            refusal = str(error)
        else:
            return Found(feature, State.THERE if is_there else State.MISSING, "by read-back")
    else:
        refusal = "it shows in no object that can be tried"
    if feature.gate in gates:
        state = State.THERE if gates[feature.gate] else State.MISSING
        return Found(feature, state, f"by the server's metric on {feature.gate}")
    return Found(feature, State.UNKNOWN, refusal if feature.gate else f"{refusal}, and has no gate")


def _serves_v1(server: ApiServer, _: str) -> bool:
    try:
        server.request("GET", CLAIMS.path(), query={"limit": 1})
    except NotFoundError:
        return False
    return True


def _claim(server: ApiServer, namespace: str, request: Json) -> Json:
    """Return a request of a claim as the server would keep it."""
    body = {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {"name": _NAME, "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "r", **request}]}},
    }
    kept = server.request("POST", CLAIMS.path(namespace), body, _DRY)
    first: Json = kept["spec"]["devices"]["requests"][0]
    return first


def _alternatives(server: ApiServer, namespace: str) -> bool:
    try:
        kept = _claim(server, namespace, {"firstAvailable": [{"name": "a", **_ASK}, {"name": "b", **_ASK}]})
    except RefusedError as error:
        if "must be" in str(error) or "required" in str(error).lower():
            return False  # dropped, so that the request asks for nothing
        raise
    return "firstAvailable" in kept


def _shares(server: ApiServer, namespace: str) -> bool:
    kept = _claim(server, namespace, {"exactly": {**_ASK, "capacity": {"requests": {"memory": "1Gi"}}}})
    return "capacity" in kept["exactly"]


def _admin(server: ApiServer, namespace: str) -> bool:
    try:
        kept = _claim(server, namespace, {"exactly": {**_ASK, "adminAccess": True}})
    except RefusedError as error:
        if "admin-access" in str(error):
            return True  # only namespaces with the label may
        raise
    return "adminAccess" in kept["exactly"]


def _slice(server: ApiServer, **spec: Any) -> Json:  # noqa: ANN401 -- parts of a spec
    """Return a slice's spec as the server would keep it."""
    body = {
        "apiVersion": SLICES.api_version,
        "kind": SLICES.kind,
        "metadata": {"name": _NAME},
        "spec": {
            "driver": _DRIVER,
            "pool": {"name": _NAME, "generation": 1, "resourceSliceCount": 1},
            "allNodes": True,
            **spec,
        },
    }
    kept: Json = server.request("POST", SLICES.path(), body, _DRY)["spec"]
    return kept


def _taints(server: ApiServer, _: str) -> bool:
    taint = {"key": "foreslice.dev/probe", "effect": "NoSchedule"}
    kept = _slice(server, devices=[{"name": "d", "taints": [taint]}])
    return "taints" in kept["devices"][0] and any(_serves_rules(server, version) for version in _RULES)


def _serves_rules(server: ApiServer, version: str) -> bool:
    rules = Resource(f"{_GROUP}/{version}", "DeviceTaintRule", "devicetaintrules")
    try:
        server.request("GET", rules.path(), query={"limit": 1})
    except NotFoundError:
        return False
    return True


def _counters(server: ApiServer, _: str) -> bool:
    counters = {"memory": {"value": "1"}}
    try:
        kept = _slice(server, sharedCounters=[{"name": "c", "counters": counters}])
    except RefusedError as error:
        if "devices" in str(error) or "sharedCounters" in str(error):
            return False  # dropped, so that the slice publishes nothing
        raise
    return "sharedCounters" in kept


def _node_resources(server: ApiServer, _: str) -> bool:
    mapping = {"cpu": {"mapping": {"perDeviceQuantity": "1"}}}
    kept = _slice(server, devices=[{"name": "d", "nodeAllocatableResources": mapping}])
    return "nodeAllocatableResources" in kept["devices"][0]


def _extended(server: ApiServer, _: str) -> bool:
    body = {
        "apiVersion": _CLASSES.api_version,
        "kind": _CLASSES.kind,
        "metadata": {"name": _NAME},
        "spec": {"extendedResourceName": "foreslice.dev/probe"},
    }
    return "extendedResourceName" in server.request("POST", _CLASSES.path(), body, _DRY)["spec"]


def _pod_groups(server: ApiServer, namespace: str) -> bool:
    for version in _POD_GROUPS:
        groups = Resource(f"scheduling.k8s.io/{version}", "PodGroup", "podgroups")
        body = {
            "apiVersion": groups.api_version,
            "kind": groups.kind,
            "metadata": {"name": _NAME, "namespace": namespace},
            "spec": {
                "schedulingPolicy": {"basic": {}},
                "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
            },
        }
        try:
            kept = server.request("POST", groups.path(namespace), body, _DRY)
        except NotFoundError:
            continue
        except (ConflictError, ExistsError):
            return True
        return "resourceClaims" in kept["spec"]
    return False


FEATURES: tuple[tuple[Feature, _Probe | None], ...] = (
    (
        Feature(
            4381, "structured parameters", "DynamicResourceAllocation", "nothing is acted on through claims"
        ),
        _serves_v1,
    ),
    (
        Feature(
            5004,
            "extended resources by claims",
            "DRAExtendedResource",
            "pods that ask for nvidia.com/gpu stay with the device plugin, whose cards are not ours to cut",
        ),
        _extended,
    ),
    (
        Feature(
            4817,
            "device status in claims",
            "DRAResourceClaimDeviceStatus",
            "whether a slice is prepared is only known when its pod is ready",
        ),
        None,
    ),
    (
        Feature(
            5018,
            "admin access",
            "DRAAdminAccess",
            "monitoring cannot look into a card that is in use without taking it",
        ),
        _admin,
    ),
    (
        Feature(
            5055,
            "device taints and their rules",
            "DRADeviceTaintRules",
            "room cannot be held or steered with taints: pods that hold a claim do it, or nothing does",
        ),
        _taints,
    ),
    (
        Feature(
            4816,
            "prioritised alternatives",
            "DRAPrioritizedList",
            "a claim names one shape: a pod whose shape is taken waits instead of falling back",
        ),
        _alternatives,
    ),
    (
        Feature(
            5075,
            "consumable capacity",
            "DRAConsumableCapacity",
            "no shares of a card through claims: KAI, HAMi or MIG have to cut it",
        ),
        _shares,
    ),
    (
        Feature(
            4815,
            "partitionable devices",
            "DRAPartitionableDevices",
            "no dynamic MIG: two claims could get overlapping slices, so parts are refused",
        ),
        _counters,
    ),
    (
        Feature(
            5304,
            "device attributes in the pod",
            "",
            "an engine is told its share by an environment variable, not by the driver",
        ),
        None,
    ),
    (
        Feature(
            5729,
            "claims of pod groups",
            "DRAWorkloadResourceClaims",
            "a replica of several pods cannot keep its cards while its pods are replaced",
        ),
        _pod_groups,
    ),
    (
        Feature(
            4680,
            "device health in pods",
            "ResourceHealthStatus",
            "a card that fails is known by its pods failing, later than by its health",
        ),
        None,
    ),
    (
        Feature(
            5517,
            "host resources per device",
            "DRANodeAllocatableResources",
            "CPU and host memory of a replica are not bound to its card",
        ),
        _node_resources,
    ),
)
"""Every ability, and how it is tried, if it can be."""
