"""Nodes whose layouts may be planned: cut by a MIG manager, or sliced by the device plugin."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from actuator.layouts.node import KEPT_CHANGES
from foreslice.layout_rules import LayoutRules
from foreslice.settings.durations import Lead, Pause
from foreslice.settings.group import Group

_NAMED = r"^[a-z0-9.-]+/[a-z0-9.-]+$"


class LayoutSettings(Group):
    """Layouts of nodes are planned ahead of need, and made by their agents one node at a time."""

    manager: Annotated[
        str | None,
        Field(
            pattern=_NAMED,
            description="the MIG manager's ConfigMap, as namespace/name; without `layouts` none is planned",
        ),
    ] = None
    plugin: Annotated[
        str | None,
        Field(
            pattern=_NAMED,
            description="in its place the device plugin's, as namespace/name: time slices of idle nodes",
        ),
    ] = None
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

    @model_validator(mode="after")
    def _names_one(self) -> LayoutSettings:
        if (self.manager is None) == (self.plugin is None):
            raise ValueError("give either manager or plugin")
        return self

    def rules(self, *, acting: bool) -> LayoutRules:
        """Return what may be done to nodes, where anything may."""
        return LayoutRules(acting and self.acting, self.nodes, self.dwell, self.per_day, self.lead)
