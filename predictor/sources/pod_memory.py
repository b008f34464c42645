"""Memory of pods and of the devices that they share, from a Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from fleet.signal import Signal
from predictor.engines import shipped
from predictor.ports import MEMORY_S, PodMemory, PodName
from predictor.sources.access import Access
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from predictor.vocabulary import Vocabulary

WORKING_SET = "container_memory_working_set_bytes"
"""What a kubelet evicts by: cAdvisor's and the kubelet's own resource metrics have it under one name
(google/cadvisor: metrics/prometheus.go; kubernetes: pkg/kubelet/metrics/collectors/resource_metrics.go)."""

NO_CONTAINERS = frozenset({"", "POD"})
"""Containers of series that stand for a whole pod, or for what holds its network."""

_Series = tuple[dict[str, str], float]


class PrometheusMemory:
    """Implements `predictor.ports.MemorySource`: working sets of containers, and what exporters say of cards.

    An exporter shows a shared device once for each pod that has it, with the memory of all of them
    (NVIDIA/dcgm-exporter: internal/pkg/transformation/kubernetes.go).

    Args:
        url: Address of the server, with whatever stands before `/api/v1`.
        access: Credentials and trust.
    """

    def __init__(self, url: str, access: Access) -> None:
        self._api = QueryApi(url, access)
        self._exporter = shipped()["dcgm"]
        self._vocabulary = Vocabulary.of(self._exporter)

    def memory(self, pods: Sequence[PodName], at_s: float) -> Mapping[PodName, PodMemory]:
        """Return what each pod was read to have of late, see `MemorySource.memory`."""
        host, device = self._host(pods, at_s), self._device(pods, at_s)
        return {pod: PodMemory(host.get(pod), device.get(pod)) for pod in pods}

    def _host(self, pods: Sequence[PodName], at_s: float) -> dict[PodName, float]:
        """Return the sum over the containers of each pod, of copies of a series the highest."""
        containers: dict[tuple[PodName, str], float] = {}
        for labels, most in self._read([WORKING_SET], "namespace", "pod", pods, at_s):
            name = labels.get("container", "")
            if name not in NO_CONTAINERS:
                place = (labels["namespace"], labels["pod"]), name
                containers[place] = max(containers.get(place, 0.0), most)
        found: dict[PodName, float] = {}
        for (pod, _), most in containers.items():
            found[pod] = found.get(pod, 0.0) + most
        return found

    def _device(self, pods: Sequence[PodName], at_s: float) -> dict[PodName, float]:
        names, labels = self._vocabulary.names([Signal.GPU_MEMORY_USED]), self._exporter.labels
        found: dict[PodName, float] = {}
        for spelled in product(labels.namespace, labels.pod):
            for about, most in self._read(names, *spelled, pods, at_s):
                meaning = self._vocabulary.meaning(about["__name__"], about)
                if meaning is not None:
                    pod = about[spelled[0]], about[spelled[1]]
                    found[pod] = max(found.get(pod, 0.0), meaning.scale * most)
        return found

    def _read(
        self, names: Sequence[str], namespace: str, pod: str, pods: Sequence[PodName], at_s: float
    ) -> Iterator[_Series]:
        """Yield the series of these pods and the highest reading of each; none where some may be missing."""
        asked = set(pods)
        values = {namespace: sorted({one for one, _ in asked}), pod: sorted({name for _, name in asked})}
        answer = self._api.readings(selector(names, values), MEMORY_S, at_s)
        for labels, _, readings in () if answer.is_partial else answer.series:
            if (labels[namespace], labels[pod]) in asked and np.isfinite(readings).any():
                yield labels, float(np.nanmax(readings))
