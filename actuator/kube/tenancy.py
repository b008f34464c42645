"""Reads once who holds what of which card; nothing is watched, nothing is written."""

from __future__ import annotations

from actuator.inventory.kai import shared_config_map
from actuator.inventory.understand import Dump
from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.listing import Lister
from actuator.kube.resources import CLAIMS, CONFIG_MAPS, NODES, PODS, SLICES
from actuator.manifest import Json, key_of
from fleet.errors import RefusedError


def read_tenancy(server: ApiServer) -> tuple[Dump, tuple[str, ...]]:
    """Return pods, claims, slices, nodes and what KAI's binder wrote for its pods; and what was refused.

    Of ConfigMaps only those are read that a pod of KAI names: they say what it was given.

    Raises:
        RefusedError: Pods may not be read.
        UnavailableError: The API server does not answer.
    """
    lister = Lister(server)
    pods = lister.all(PODS)
    objects = {
        "Pod": pods,
        "ResourceClaim": lister.some(CLAIMS),
        "ResourceSlice": lister.some(SLICES),
        "Node": lister.some(NODES),
        "ConfigMap": _given(server, lister, pods),
    }
    return Dump(objects), tuple(lister.notes)


def _given(server: ApiServer, lister: Lister, pods: list[Json]) -> list[Json]:
    found = []
    for pod in pods:
        name = shared_config_map(pod)
        if name is None:
            continue
        try:
            found.append(server.request("GET", CONFIG_MAPS.path(key_of(pod).namespace, name)))
        except NotFoundError:
            continue
        except RefusedError as error:
            lister.notes.append(str(error))
            break
    return found
