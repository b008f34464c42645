"""Everything that acts in the embedded cluster besides foreslice, started together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet.boards import Board
from simulator.api import Api
from simulator.autoscalers import AutoscalerController
from simulator.claims import ClaimController
from simulator.clock import Clock
from simulator.delays import Delays
from simulator.deployments import DeploymentController
from simulator.disruption import DisruptionController
from simulator.driver import publish, resource_slices
from simulator.node import Containers, NodeAgent
from simulator.scheduler import Scheduler


def start_nodes(
    api: Api, clock: Clock, nodes: Mapping[str, Sequence[Board]], containers: Containers, delays: Delays
) -> None:
    """Register nodes with these cards, published for DRA, and run their pods; a real one has the rest."""
    for node, boards in nodes.items():
        NodeAgent(api, clock, node, containers, delays)
        publish(api, node, resource_slices(node, boards))


def start_control_plane(api: Api, clock: Clock, delays: Delays) -> None:
    """Start the controllers and the scheduler that a real control plane would bring."""
    DeploymentController(api, clock)
    DisruptionController(api, clock)
    AutoscalerController(api, clock)
    ClaimController(api, clock)
    Scheduler(api, clock, delays)
