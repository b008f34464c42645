"""Reads once what a cluster serves on GPUs; nothing is watched, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actuator.kube.apiserver import ApiServer
from actuator.kube.listing import Lister
from actuator.kube.resources import (
    AUTOSCALERS,
    CLAIM_TEMPLATES,
    DEPLOYMENTS,
    LEADER_WORKER_SETS,
    PODS,
    SCALED_OBJECTS,
    SERVICES,
    SLICES,
    STATEFUL_SETS,
)
from actuator.manifest import key_of
from actuator.objects.pods import is_over
from actuator.objects.servings import Objects, Serving, servings_of
from actuator.objects.slices import SliceReader
from fleet.cluster import Gpu
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Survey:
    """What a cluster holds.

    Attributes:
        servings: What holds GPUs.
        gpus: Cards that NVIDIA's DRA driver publishes.
        notes: What could not be read, with the rule that would let it.
        pods: Every pod that has not ended, whether it holds a GPU or not.
    """

    servings: tuple[Serving, ...]
    gpus: tuple[Gpu, ...]
    notes: tuple[str, ...]
    pods: frozenset[WorkloadKey] = frozenset()


def survey(server: ApiServer, namespaces: Sequence[str] = ()) -> Survey:
    """Return what serves on GPUs in these namespaces, by default in all.

    A kind that the cluster does not know is one that it has none of; one that may not be read is noted.

    Raises:
        RefusedError: Deployments or pods may not be read.
        UnavailableError: The API server does not answer.
    """
    read = Lister(server, tuple(namespaces) or ("",))
    objects = Objects(
        deployments=read.all(DEPLOYMENTS),
        stateful_sets=read.some(STATEFUL_SETS),
        leader_worker_sets=read.some(LEADER_WORKER_SETS),
        pods=read.all(PODS),
        claim_templates=read.some(CLAIM_TEMPLATES),
        autoscalers=read.some(AUTOSCALERS),
        scaled_objects=read.some(SCALED_OBJECTS),
        services=read.some(SERVICES),
    )
    slices = Lister(server)
    gpus = SliceReader().read(slices.some(SLICES)).gpus
    pods = frozenset(key_of(pod) for pod in objects.pods if not is_over(pod))
    return Survey(servings_of(objects), gpus, (*read.notes, *slices.notes), pods)
