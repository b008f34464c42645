"""Lines of the device plug-in's log that name a card: what objects do not say."""

from __future__ import annotations

import re

_CRITICAL = re.compile(r"XidCriticalError: Xid=(\d+) on Device=(GPU-[0-9a-f-]+)", re.IGNORECASE)

# A fault of the application, not of the card (k8s-device-plugin internal/rm/health.go).
_IGNORED = frozenset({13, 31, 43, 45, 68, 109})


def unhealthy_cards(log: str) -> dict[str, int]:
    """Return the cards that the plug-in has marked unhealthy, with the Xid that it names last."""
    found = {match[2]: int(match[1]) for match in _CRITICAL.finditer(log)}
    return {uuid: xid for uuid, xid in found.items() if xid not in _IGNORED}
