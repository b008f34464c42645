"""What an API server says of its feature gates in its own metrics."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import HTTPError

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from fleet.errors import RefusedError, UnavailableError

_METRIC = "kubernetes_feature_enabled"


def feature_gates(server: ApiServer) -> Mapping[str, bool]:
    """Return which gates are on; empty where the metrics may not be read.

    Raises:
        UnavailableError: The API server does not answer.
    """
    try:
        with server.stream("/metrics", {}) as answer:
            lines = [
                line.decode() for line in answer.read().splitlines() if line.startswith(_METRIC.encode())
            ]
    except (RefusedError, NotFoundError):
        return {}
    except HTTPError as error:
        raise UnavailableError(f"GET /metrics: {error}") from error
    text = "\n".join([*lines, ""])
    return {
        sample.labels["name"]: bool(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
