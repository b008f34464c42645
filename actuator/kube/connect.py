"""Opens the connection to an API server."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from urllib3.util import Retry

from actuator.kube.apiserver import ApiServer
from fleet.errors import InputError

# Reads only. A write is sent once: the next tick repeats it, after it was asked again whether we lead. A
# server that wants a longer pause is asked again by the next tick, too.
_RETRIES = Retry(
    total=2,
    allowed_methods={"GET"},
    status_forcelist={
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    },
    backoff_factor=0.2,
    raise_on_status=False,
    retry_after_max=2,
)

_CONNECTIONS = 32
"""Kept open: one for each watch, and a few."""


def connect(kubeconfig: Path | None = None, context: str = "") -> ApiServer:
    """Return the API server of a kubeconfig's context, or by default that of the pod we run in.

    Args:
        kubeconfig: File; none = the service account of this pod, outside of a cluster the user's own file.
        context: Context of the file, empty = its current one.

    Raises:
        InputError: There is no such file or context, or it cannot be used.
    """
    configuration = Configuration()
    try:
        if kubeconfig is not None or context or not _in_cluster(configuration):
            file = None if kubeconfig is None else str(kubeconfig)
            load_kube_config(  # type: ignore[no-untyped-call]  # shipped without types
                file, context or None, client_configuration=configuration, persist_config=False
            )
    except (ConfigException, OSError, ValueError) as error:
        where = "kubeconfig" if kubeconfig is None else str(kubeconfig)
        raise InputError(
            f"no API server can be read from it: {error}",
            where=where,
            fix="name a kubeconfig and context that kubectl can use",
        ) from error
    configuration.retries = _RETRIES
    configuration.connection_pool_maxsize = _CONNECTIONS
    return ApiServer(ApiClient(configuration))


def _in_cluster(configuration: Configuration) -> bool:
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # shipped without types
    except ConfigException:
        return False
    return True
