"""How agents on nodes label their node."""

from __future__ import annotations

from collections.abc import Mapping

from actuator.manifest import labels_of
from fleet.errors import ConflictError
from simulator.api import NODE, Api


def label(api: Api, node: str, labels: Mapping[str, str]) -> None:
    """Write labels of a node, on whatever else it is meanwhile; one who is gone has none."""
    while (body := api.get(NODE, None, node)) is not None:
        metadata = {**body["metadata"], "labels": {**labels_of(body), **labels}}
        try:
            api.replace({**body, "metadata": metadata})
        except ConflictError:
            continue
        return
