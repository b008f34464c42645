"""How to get at what settings name, a Prometheus and an API server, and how others get at us."""

from __future__ import annotations

from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.connect import connect
from foreslice.entrance import Entrance
from foreslice.settings.http import HttpSettings
from foreslice.settings.schema import KubernetesCluster
from foreslice.settings.sources import PrometheusMetrics
from predictor.sources.access import Access


def access_of(metrics: PrometheusMetrics, folder: Path) -> Access:
    """Return how to get at a Prometheus; relative paths are relative to `folder`."""
    return Access(
        token_file=_beside(folder, metrics.token_file),
        username=metrics.username or "",
        password_file=_beside(folder, metrics.password_file),
        ca_file=_beside(folder, metrics.ca_file),
        is_insecure=metrics.insecure,
        timeout_s=metrics.timeout,
    )


def api_server_of(cluster: KubernetesCluster, folder: Path) -> ApiServer:
    """Return the API server that settings name; relative paths are relative to `folder`."""
    return connect(_beside(folder, cluster.kubeconfig), cluster.context or "")


def entrance_of(http: HttpSettings, folder: Path) -> Entrance:
    """Return who may ask us; relative paths are relative to `folder`."""
    files = (http.cert_file, http.key_file, http.token_file)
    return Entrance(*(_beside(folder, file) for file in files))


def _beside(folder: Path, path: Path | None) -> Path | None:
    return None if path is None else folder / path
