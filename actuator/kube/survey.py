"""Reads once what a cluster serves on GPUs; nothing is watched, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, PODS, SLICES, Resource
from actuator.manifest import Json
from actuator.objects.servings import Objects, Serving, servings_of
from actuator.objects.slices import SliceReader
from fleet.cluster import Gpu
from fleet.errors import RefusedError

STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets")
LEADER_WORKER_SETS = Resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets")
AUTOSCALERS = Resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
SCALED_OBJECTS = Resource("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Survey:
    """What a cluster holds.

    Attributes:
        servings: What holds GPUs.
        gpus: Cards that NVIDIA's DRA driver publishes.
        notes: What could not be read, with the rule that would let it.
    """

    servings: tuple[Serving, ...]
    gpus: tuple[Gpu, ...]
    notes: tuple[str, ...]


def survey(server: ApiServer, namespaces: Sequence[str] = ()) -> Survey:
    """Return what serves on GPUs in these namespaces, by default in all.

    A kind that the cluster does not know is one that it has none of; one that may not be read is noted.

    Raises:
        RefusedError: Deployments or pods may not be read.
        UnavailableError: The API server does not answer.
    """
    read = _Reader(server, tuple(namespaces) or ("",))
    objects = Objects(
        deployments=read.all(DEPLOYMENTS),
        stateful_sets=read.some(STATEFUL_SETS),
        leader_worker_sets=read.some(LEADER_WORKER_SETS),
        pods=read.all(PODS),
        claim_templates=read.some(CLAIM_TEMPLATES),
        autoscalers=read.some(AUTOSCALERS),
        scaled_objects=read.some(SCALED_OBJECTS),
    )
    slices = _Reader(server, ("",))
    gpus = SliceReader().read(slices.some(SLICES)).gpus
    return Survey(servings_of(objects), gpus, (*read.notes, *slices.notes))


class _Reader:
    """Lists resources in some namespaces; `""` = in all."""

    def __init__(self, server: ApiServer, namespaces: Sequence[str]) -> None:
        self._server = server
        self._namespaces = namespaces
        self.notes: list[str] = []

    def all(self, resource: Resource) -> list[Json]:
        """Return every object of a resource, each with its kind, which lists leave out."""
        return [
            {"kind": resource.kind, **body}
            for namespace in self._namespaces
            for body in self._pages(resource.path(namespace))
        ]

    def some(self, resource: Resource) -> list[Json]:
        """Return what may be read of a resource, and note what may not."""
        try:
            return self.all(resource)
        except NotFoundError:
            return []
        except RefusedError as error:
            self.notes.append(str(error))
            return []

    def _pages(self, path: str) -> list[Json]:
        bodies: list[Json] = []
        query: Json = {"limit": _PAGE}
        while True:
            page = self._server.request("GET", path, query=query)
            bodies += page["items"]
            if not page["metadata"].get("continue"):
                return bodies
            query["continue"] = page["metadata"]["continue"]
