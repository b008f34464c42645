"""Nodes under a MIG manager whose layouts may be planned."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from actuator.layouts.node import KEPT_CHANGES
from foreslice.repartition import LayoutRules
from foreslice.settings.durations import Lead, Pause
from foreslice.settings.group import Group


class LayoutSettings(Group):
    """Layouts of nodes are planned ahead of need, and made by their MIG manager one node at a time."""

    manager: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9.-]+/[a-z0-9.-]+$",
            description="the MIG manager's ConfigMap, as namespace/name; without `layouts` none is planned",
        ),
    ]
    acting: Annotated[bool, Field(description="false: only say which nodes should be cut otherwise")] = False
    nodes: Annotated[
        dict[str, str], Field(description="labels of the nodes whose layouts may be changed; default: all")
    ] = Field(default_factory=dict)
    dwell: Annotated[Pause, Field(description="a node keeps a layout at least this long")] = 3600.0
    per_day: Annotated[
        int, Field(ge=1, le=KEPT_CHANGES, description="changes of one node's layout in a day")
    ] = 4
    lead: Annotated[
        Lead, Field(description="how long a node's change is reckoned to take until one was made")
    ] = 600.0

    def rules(self, *, acting: bool) -> LayoutRules:
        """Return what may be done to nodes, where anything may."""
        return LayoutRules(acting and self.acting, self.nodes, self.dwell, self.per_day, self.lead)
