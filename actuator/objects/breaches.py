"""Whether schedulers heed what is held, read from what they allocated: not every one knows device taints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actuator.manifest import Json, key_of, seconds_of, tolerates
from actuator.mechanisms.dra import DRIVER
from actuator.objects.allocations import results_of
from actuator.objects.holds import holds_of

LAG_S = 10.0
"""A scheduler may not have heard of a hold for a moment, and clocks differ."""


def breaches(rules: Iterable[Json], claims: Iterable[Json]) -> tuple[str, ...]:
    """Return which held devices were given to claims that do not tolerate it, one line each.

    Args:
        rules: DeviceTaintRules; only ours are looked at.
        claims: Every ResourceClaim.
    """
    held = {hold.device: (hold, rule) for rule in rules for hold in holds_of([rule])}
    if not held:
        return ()
    return tuple(
        f"{device} of {pool} is held for {hold.owner}, and was given to ResourceClaim {key_of(claim)}"
        for claim in claims
        for pool, device, tolerations, at_s in _given(claim)
        if (found := held.get((pool, device))) is not None
        for hold, rule in (found,)
        if at_s > seconds_of(rule["metadata"]["creationTimestamp"]) + LAG_S
        and not tolerates(tolerations, rule["spec"]["taint"])
    )


def _given(claim: Json) -> Iterator[tuple[str, str, list[Json], float]]:
    """Yield pool and device of what was allocated, what it tolerates, and when that was."""
    allocation: Json = (claim.get("status") or {}).get("allocation") or {}
    if timestamp := allocation.get("allocationTimestamp"):
        for result in results_of(claim):
            if result["driver"] == DRIVER and not result.get("adminAccess"):
                tolerations = result.get("tolerations") or []
                yield result["pool"], result["device"], tolerations, seconds_of(timestamp)
