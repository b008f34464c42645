"""How often the loop looks, how long it waits, and where it keeps what it has read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from actuator.crowd import STARTS_PER_NODE
from foreslice.settings.durations import History, Lead, Pause
from foreslice.settings.group import Group


class LoopSettings(Group):
    """How often the loop looks, and how long it waits."""

    tick: Annotated[Pause, Field(description="between two looks at the need")] = 10.0
    plan: Annotated[Pause, Field(description="longest time between two plans")] = 300.0
    history: Annotated[History, Field(description="how far back forecasts learn")] = 864000.0
    lead: Annotated[
        Lead, Field(description="how long from decided to ready is reckoned to take; at most 5h")
    ] = 90.0
    quiet: Annotated[Pause, Field(description="how long evidence for a removal must have held")] = 600.0
    dwell: Annotated[Pause, Field(description="a workload keeps its replicas this long after a change")] = (
        600.0
    )
    trial: Annotated[
        Pause, Field(description="a new shape serves one replica so long before more is built on it")
    ] = 600.0
    shape_dwell: Annotated[Pause, Field(description="a workload keeps its shapes this long")] = 3600.0
    starts_per_node: Annotated[
        int, Field(ge=1, le=64, description="engines that may be starting on one node at the same time")
    ] = STARTS_PER_NODE


class HoldingSettings(Group):
    """Room that replicas to come need is kept from others, by device taints."""

    longest: Annotated[Pause, Field(description="a hold that was not needed by then ends by itself")] = 1800.0


class HistorySettings(Group):
    """What was read from Prometheus is kept, so that a restart asks for the newest minutes only."""

    path: Annotated[
        Path,
        Field(description="scratch folder, relative to this file; without `history` nothing is kept"),
    ]
