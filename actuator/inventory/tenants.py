"""Who holds what of which card, and by which mechanism."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from actuator.inventory import hami, kai
from actuator.inventory.findings import Finding, error
from actuator.manifest import Json, key_of
from actuator.objects.allocations import allocated_ids, results_of
from actuator.objects.granted import is_card
from actuator.objects.pods import is_over
from actuator.objects.restraints import RESERVATIONS
from fleet.devices import Device, DeviceId
from fleet.ledgers.tenancy import Tenancy, clash

_VISIBLE = "NVIDIA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Tenant:
    """What one pod holds.

    Attributes:
        pod: Namespace and name.
        node: Node, empty while it is not bound.
        mechanism: By which way, a key of the mechanism table.
        holds: What, in its mechanism's own terms.
        gpus: UUIDs of the cards, empty where objects do not say.
    """

    pod: str
    node: str
    mechanism: str
    holds: str
    gpus: tuple[str, ...]


def tenants_of(
    pods: Sequence[Json],
    claims: Iterable[Json],
    devices: Mapping[DeviceId, Device],
    config_maps: Mapping[tuple[str, str], Json],
    sliced: frozenset[str],
) -> tuple[Tenant, ...]:
    """Return every pod that holds, or asks for, GPU; a pod that is over holds nothing.

    Args:
        pods: Every pod.
        claims: Every ResourceClaim, in the shape of v1.
        devices: Devices of the driver, by what an allocation names them by.
        config_maps: ConfigMaps by namespace and name.
        sliced: Names of nodes whose cards are time-sliced.
    """
    held = claims_by_pod(claims)
    found: list[Tenant] = []
    for pod in pods:
        if is_over(pod) or key_of(pod).namespace == RESERVATIONS:
            continue
        tenant = (
            _by_claims(pod, held.get(str(key_of(pod)), []), devices)
            or _by_kai(pod, config_maps)
            or _by_hami(pod)
            or _by_resources(pod, sliced)
        )
        if tenant is not None:
            found.append(tenant)
    return tuple(found)


def meeting_findings(tenants: Iterable[Tenant]) -> list[Finding]:
    """Return the cards on which two mechanisms have met."""
    by_card: defaultdict[str, list[Tenant]] = defaultdict(list)
    found = []
    for tenant in tenants:
        for gpu in tenant.gpus:
            others = [Tenancy(other.mechanism) for other in by_card[gpu]]
            rule = clash(others, Tenancy(tenant.mechanism), is_mig=False)
            if rule:
                fix = f"move {tenant.pod}, and keep the mechanisms on cards of their own"
                found.append(error("two-mechanisms", f"card {gpu}", rule, fix))
            by_card[gpu].append(tenant)
    return found


def at_risk(tenants: Iterable[Tenant], unhealthy: Mapping[str, int]) -> list[Finding]:
    """Return the tenants of cards that are marked unhealthy, by UUID and Xid."""
    return [
        error(
            "tenant-at-risk",
            f"Pod {tenant.pod}",
            f"runs on card {gpu}, unhealthy since Xid {unhealthy[gpu]}",
            "start its replacement on another card first, then drain it",
        )
        for tenant in tenants
        for gpu in tenant.gpus
        if gpu in unhealthy
    ]


def claims_by_pod(claims: Iterable[Json]) -> Mapping[str, list[Json]]:
    """Return the claims that are reserved for each pod, by its namespace and name."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for claim in claims:
        users: list[Json] = (claim.get("status") or {}).get("reservedFor") or []
        for name in dict.fromkeys(user["name"] for user in users if user.get("resource") == "pods"):
            found[f"{key_of(claim).namespace}/{name}"].append(claim)
    return found


def _tenant(pod: Json, mechanism: str, holds: str, gpus: Iterable[str]) -> Tenant:
    node = str((pod.get("spec") or {}).get("nodeName", ""))
    return Tenant(str(key_of(pod)), node, mechanism, holds, tuple(dict.fromkeys(filter(None, gpus))))


def _by_claims(pod: Json, claims: Sequence[Json], devices: Mapping[DeviceId, Device]) -> Tenant | None:
    ids = [device_id for claim in claims for device_id in allocated_ids(claim)]
    if not ids:
        return None
    is_share = any("consumedCapacity" in result for claim in claims for result in results_of(claim))
    gpus = (devices[device_id].gpu for device_id in ids if device_id in devices)
    return _tenant(pod, "dra-shares" if is_share else "dra", ", ".join(name for _, name in ids), gpus)


def _by_kai(pod: Json, config_maps: Mapping[tuple[str, str], Json]) -> Tenant | None:
    share, _ = kai.share_asked(pod)
    was_given = kai.given(pod, config_maps)
    if was_given is not None:
        portion, gpus = was_given
        return _tenant(pod, "kai", f"{portion:g} of {max(1, len(gpus))} card(s)", gpus)
    if share is None:
        return None
    asked = f"{share.portion:g}" if share.portion else f"{share.memory_mib} MiB"
    return _tenant(pod, "kai", f"asks for {asked} of {share.devices} card(s)", ())


def _by_hami(pod: Json) -> Tenant | None:
    text = (pod["metadata"].get("annotations") or {}).get(hami.ALLOCATED)
    if text is None:
        return None
    containers = hami.grants_of(str(text))
    if containers is None:
        return _tenant(pod, "hami", "unknown", ())
    grants = [grant for container in containers for grant in container]
    holds = ", ".join(f"{grant.mib} MiB and {grant.cores} % of SM time" for grant in grants)
    return _tenant(pod, "hami", holds or "nothing", (grant.uuid for grant in grants))


def _by_resources(pod: Json, sliced: frozenset[str]) -> Tenant | None:
    containers: list[Json] = (pod.get("spec") or {}).get("containers") or []
    limits = [
        f"{count} x {name}"
        for container in containers
        for name, count in ((container.get("resources") or {}).get("limits") or {}).items()
        if is_card(name)
    ]
    visible = (
        str(entry.get("value", ""))
        for container in containers
        for entry in container.get("env") or []
        if entry["name"] == _VISIBLE
    )
    gpus = [uuid for text in visible for uuid in text.split(",") if uuid.startswith("GPU-")]
    if not limits and not gpus:
        return None
    mechanism = "time-slicing" if pod["spec"].get("nodeName") in sliced else "device-plugin"
    return _tenant(pod, mechanism, ", ".join(limits) or "cards by environment", gpus)
