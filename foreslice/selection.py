"""Settings with all their workloads: those that are selected by labels are looked up in the cluster."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.resources import DEPLOYMENTS
from actuator.manifest import key_of
from fleet.errors import InputError, RefusedError
from foreslice.doors import api_server_of
from foreslice.settings.load import load
from foreslice.settings.schema import KubernetesCluster, Settings
from foreslice.settings.selecting import has_selectors, with_selected
from foreslice.settings.workload import WorkloadSettings


def load_settled(path: Path) -> Settings:
    """Return the settings in a file, each workload of which has a name.

    Raises:
        InputError: They cannot be used, or Deployments may not be listed.
        UnavailableError: The API server does not answer.
    """
    return settled(load(path), path.parent)


def settled(settings: Settings, folder: Path) -> Settings:
    """Return settings with what they select now; paths are relative to `folder`. Raises as `load_settled`."""
    cluster = settings.cluster
    if not has_selectors(settings) or not isinstance(cluster, KubernetesCluster):
        return settings
    with closing(api_server_of(cluster, folder)) as server:
        found = {
            index: _selected(server, workload)
            for index, workload in enumerate(settings.workloads)
            if workload.selector
        }
    return with_selected(settings, found)


def _selected(server: ApiServer, workload: WorkloadSettings) -> list[str]:
    """Return the names of the Deployments that an entry selects; our copies have no labels of the base."""
    query = {"labelSelector": ",".join(f"{label}={value}" for label, value in workload.selector.items())}
    try:
        found = server.request("GET", DEPLOYMENTS.path(workload.namespace), None, query)
    except RefusedError as error:
        raise InputError(str(error), where="selector", fix="bind the role of observe.yaml") from error
    return sorted(key_of(body).name for body in found["items"])
