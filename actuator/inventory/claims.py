"""What DRA publishes, who holds it, and what is stuck: slices, claims and device taint rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from actuator.inventory.findings import Finding, error, warning
from actuator.manifest import Json, key_of, seconds_of
from actuator.objects.allocations import allocated_ids, results_of
from actuator.objects.slices import Inventory
from fleet.devices import Device

_STUCK_AFTER_S = 600.0


@dataclass(frozen=True, slots=True)
class DeviceView:
    """Devices of the driver, as they can be used.

    Attributes:
        whole: Whole cards that are not cut.
        instances: MIG devices by profile.
        free: Names of devices that nobody holds.
        overlapping: Cards that are offered whole although they are cut, with their instances.
        stuck: Claims that are deleted, hold a device, and whose pods are gone.
    """

    whole: tuple[str, ...]
    instances: Mapping[str, int]
    free: tuple[str, ...]
    overlapping: Mapping[str, tuple[str, ...]]
    stuck: tuple[str, ...]


def device_view(
    inventory: Inventory, claims: Sequence[Json], pods: Iterable[Json], now_s: float | None
) -> tuple[DeviceView, list[Finding]]:
    """Return what the driver's devices come to, and what is wrong with them.

    Args:
        inventory: What complete slices publish.
        claims: Every ResourceClaim, in the shape of v1.
        pods: Every pod; those that claims are reserved for are looked for among them.
        now_s: Seconds since the epoch for the age of what is stuck, `None` if not known.
    """
    devices = [device for pool in inventory.pools for device in pool.devices if not device.part_of]
    overlapping, findings = _overlaps(devices)
    held = {device_id for claim in claims for device_id in allocated_ids(claim)}
    alive = {(key_of(pod), pod["metadata"].get("uid", "")) for pod in pods}
    stuck = [claim for claim in claims if _is_stuck(claim, alive)]
    view = DeviceView(
        whole=tuple(d.name for d in devices if d.profile is None and d.name not in overlapping),
        instances=dict(sorted(Counter(d.profile for d in devices if d.profile is not None).items())),
        free=tuple(d.name for d in devices if d.id not in held and d.name not in overlapping),
        overlapping=overlapping,
        stuck=tuple(str(key_of(claim)) for claim in stuck),
    )
    return view, [*findings, *(_stuck(claim, now_s) for claim in stuck)]


def _overlaps(devices: Sequence[Device]) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Return cards that are on offer both whole and cut with nothing that keeps them apart."""
    found: dict[str, tuple[str, ...]] = {}
    for card in devices:
        inside = tuple(d.name for d in devices if d.profile is not None and d.gpu == card.gpu)
        # With counters (dynamic MIG) the scheduler itself keeps a card and its instances apart.
        if card.profile is None and inside and not card.draws:
            found[card.name] = inside
    findings = [
        error(
            "whole-and-cut",
            f"device {name}",
            f"is offered whole beside its own instances {', '.join(inside)}",
            "do not count it as whole; keep whole-card claims off it by a selector or a taint",
        )
        for name, inside in found.items()
    ]
    return found, findings


def _is_stuck(claim: Json, alive: Iterable[tuple[object, str]]) -> bool:
    reserved: list[Json] = (claim.get("status") or {}).get("reservedFor") or []
    namespace = key_of(claim).namespace
    return (
        "deletionTimestamp" in claim["metadata"]
        and bool(allocated_ids(claim))
        and not any(
            (key_of({"metadata": {"namespace": namespace, "name": user["name"]}}), user.get("uid", ""))
            in alive
            for user in reserved
            if user.get("resource") == "pods"
        )
    )


def _stuck(claim: Json, now_s: float | None) -> Finding:
    since_s = seconds_of(claim["metadata"]["deletionTimestamp"])
    age = "" if now_s is None else f" for {(now_s - since_s) / 3600:.1f} h"
    held = ", ".join(device for _, device in allocated_ids(claim))
    say = warning if now_s is not None and now_s - since_s < _STUCK_AFTER_S else error
    return say(
        "stuck-claim",
        f"ResourceClaim {key_of(claim)}",
        f"is deleted{age} and holds {held} for a pod that is gone",
        "plan without the device and see why the node does not give it back; leave the finalizer alone, "
        "the node may still hold the device",
    )


def taint_rule_findings(rules: Iterable[Json], claims: Sequence[Json]) -> list[Finding]:
    """Return the DeviceTaintRules that hit devices nobody named, and those that evict."""
    found = []
    for rule in rules:
        on, spec = f"DeviceTaintRule {rule['metadata']['name']}", rule["spec"]
        hit = len(claims_hit(rule, claims))
        if spec.get("deviceSelector") == {}:
            found.append(
                error(
                    "rule-hits-everything",
                    on,
                    f"its empty selector hits every device of every driver, {hit} claims now",
                    "delete it, or name driver, pool and device",
                )
            )
        elif spec["taint"]["effect"] == "NoExecute":
            fix = "use NoSchedule and evict by the Eviction API, which minds disruption budgets"
            found.append(warning("rule-evicts", on, f"evicts the pods of {hit} claims at once", fix))
    return found


def claims_hit(rule: Json, claims: Iterable[Json]) -> list[str]:
    """Return the claims that hold a device which a DeviceTaintRule selects; without a selector none are."""
    selector = rule["spec"].get("deviceSelector")
    if selector is None:
        return []
    return [
        str(key_of(claim))
        for claim in claims
        if any(_selects(selector, result) for result in results_of(claim))
    ]


def _selects(selector: Json, result: Json) -> bool:
    return all(result.get(name) == wanted for name, wanted in selector.items())
