"""Who shares which card, for people (tables) and for scripts (JSON); what nobody knows is `-` or null."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fleet.sharing import Shared, Tenant
from foreslice import show
from foreslice.sharing.gather import Sharing

_GIB = 2.0**30


def as_dict(sharing: Sharing) -> dict[str, Any]:
    """Return every card with its tenants; memory in bytes, shares from 0 to 1."""
    return {"cards": [_card(view) for view in sharing.cards], "notes": list(sharing.notes)}


def _card(view: Shared) -> dict[str, Any]:
    return {
        "card": view.card.uuid,
        "node": view.card.node or None,
        "product": view.card.product or None,
        "mechanisms": list(view.mechanisms),
        "memory_bytes": view.card.memory_bytes,
        "memory_granted": view.memory_granted,
        "memory_used_bytes": view.memory_used_bytes,
        "compute_granted": view.compute_granted,
        "compute_used": view.compute_used,
        "stranded": view.stranded,
        "falls_with_card": [tenant.hold.tenant for tenant in view.tenants],
        "tenants": [_tenant(tenant) for tenant in view.tenants],
    }


def _tenant(tenant: Tenant) -> dict[str, Any]:
    hold, use = tenant.hold, tenant.use
    return {
        "tenant": hold.tenant,
        "mechanism": hold.mechanism or None,
        "has_alone": hold.extent,
        "held_by": hold.together,
        "granted": {
            "memory_bytes": hold.memory_bytes,
            "memory_share": hold.memory_share,
            "compute_share": hold.compute_share,
        },
        "used": None
        if use is None
        else {"memory_bytes": use.memory_bytes, "compute": use.compute, "source": use.source},
        "neighbours": list(tenant.neighbours),
        "falls_with": list(tenant.falls_with),
    }


def as_text(sharing: Sharing) -> RenderableType:
    """Return a table of cards and one of tenants, with what has to be known below."""
    cards = show.table("card", "node", "product", "by", "tenants")
    for name in ("memory granted", "used", "compute granted", "busy", "stranded"):
        cards.add_column(name, justify="right")
    tenants = show.table("tenant", "card", "by", "alone on")
    for name in ("granted", "used", "compute", "busy"):
        tenants.add_column(name, justify="right")
    tenants.add_column("falls with")
    for view in sharing.cards:
        cards.add_row(
            view.card.uuid,
            view.card.node or "-",
            view.card.product or "-",
            ", ".join(view.mechanisms) or "-",
            str(len(view.tenants)),
            percent(view.memory_granted),
            gib(view.memory_used_bytes),
            percent(view.compute_granted),
            percent(view.compute_used),
            percent(view.stranded),
        )
        for tenant in view.tenants:
            tenants.add_row(*_tenant_row(tenant))
    if not sharing.cards:
        return Group(Text("No card was found."), *_notes(sharing))
    return Group(cards, Text(), tenants, *_notes(sharing))


def _tenant_row(tenant: Tenant) -> list[str]:
    hold, use = tenant.hold, tenant.use
    return [
        hold.tenant,
        hold.card,
        hold.mechanism or "-",
        hold.extent if hold.extent != "share" else "-",
        gib(hold.memory_bytes) if hold.memory_bytes is not None else percent(hold.memory_share),
        gib(use.memory_bytes if use else None),
        percent(hold.compute_share),
        percent(use.compute if use else None),
        ", ".join(tenant.falls_with) or "-",
    ]


def percent(share: float | None) -> str:
    """Return a share as people read it, `-` where nobody knows."""
    return "-" if share is None else f"{100 * share:.0f} %"


def gib(amount: float | None) -> str:
    """Return bytes as people read them, `-` where nobody knows."""
    return "-" if amount is None else f"{amount / _GIB:.1f} GiB"


def _notes(sharing: Sharing) -> list[Text]:
    return [Text(note, style="yellow") for note in sharing.notes]
