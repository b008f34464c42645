"""What serves on GPUs: Deployments, StatefulSets, LeaderWorkerSets, their pods, and who else writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actuator.manifest import STANDBY_LABEL, VARIANT_LABEL, Json, by_namespace, key_of, labels_of, selects
from actuator.objects.granted import Grant, grant_of
from actuator.objects.groups import KIND, SET_NAME, WORKER_INDEX
from actuator.objects.pods import is_over, true_condition
from actuator.objects.writers import writers_of
from fleet.workload import WorkloadKey
from fleet.writers import Writer


@dataclass(frozen=True, slots=True)
class Serving:
    """One object whose pods hold GPUs.

    Attributes:
        key: Namespace and name.
        kind: Deployment, StatefulSet or LeaderWorkerSet.
        grant: How its pods get their share of a GPU.
        scheduler: Who places its pods.
        replicas: How many are asked for.
        pods: Names of its pods that have not ended.
        ready: Those of them that serve; of a group that is one replica its leader.
        writers: Who else writes its replicas.
        services: Services that select its pods, by name.
    """

    key: WorkloadKey
    kind: str
    grant: Grant
    scheduler: str
    replicas: int
    pods: frozenset[str]
    ready: frozenset[str]
    writers: tuple[Writer, ...]
    services: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects of a cluster as plain JSON; kinds are those of their names."""

    deployments: Sequence[Json] = ()
    stateful_sets: Sequence[Json] = ()
    leader_worker_sets: Sequence[Json] = ()
    pods: Sequence[Json] = ()
    claim_templates: Sequence[Json] = ()
    autoscalers: Sequence[Json] = ()
    scaled_objects: Sequence[Json] = ()
    services: Sequence[Json] = ()


def servings_of(objects: Objects) -> tuple[Serving, ...]:
    """Return what holds GPUs, by namespace and name; copies that foreslice keeps are their base's."""
    templates = by_namespace(objects.claim_templates)
    pods = by_namespace(
        pod for pod in objects.pods if not is_over(pod) and STANDBY_LABEL not in labels_of(pod)
    )
    autoscalers, scaled = by_namespace(objects.autoscalers), by_namespace(objects.scaled_objects)
    services = by_namespace(objects.services)
    found = []
    for body, template in _templates(objects):
        key = key_of(body)
        named = {str(one["metadata"]["name"]): one for one in templates[key.namespace]}
        grant = grant_of(template, named)
        if grant is None or VARIANT_LABEL in labels_of(template):
            continue
        ours = [pod for pod in pods[key.namespace] if _is_pod_of(pod, body)]
        found.append(
            Serving(
                key=key,
                kind=body["kind"],
                grant=grant,
                scheduler=template["spec"].get("schedulerName", "default-scheduler"),
                replicas=body["spec"].get("replicas", 1),
                pods=frozenset(pod["metadata"]["name"] for pod in ours),
                ready=frozenset(pod["metadata"]["name"] for pod in ours if _is_ready(pod)),
                writers=writers_of(body, autoscalers[key.namespace], scaled[key.namespace]),
                services=frozenset(
                    service["metadata"]["name"]
                    for service in services[key.namespace]
                    if selects({"matchLabels": service["spec"].get("selector")}, labels_of(template))
                ),
            )
        )
    return tuple(sorted(found, key=lambda serving: (serving.key, serving.kind)))


def _templates(objects: Objects) -> Iterable[tuple[Json, Json]]:
    """Yield every object that makes pods, with the template of those that hold its GPUs."""
    for body in (*objects.deployments, *objects.stateful_sets):
        yield body, body["spec"]["template"]
    for body in objects.leader_worker_sets:
        yield body, body["spec"]["leaderWorkerTemplate"]["workerTemplate"]


def _is_pod_of(pod: Json, body: Json) -> bool:
    if body["kind"] == KIND:
        return bool(labels_of(pod).get(SET_NAME) == body["metadata"]["name"])
    return selects(body["spec"]["selector"], labels_of(pod))


def _is_ready(pod: Json) -> bool:
    is_serving = "deletionTimestamp" not in pod["metadata"] and labels_of(pod).get(WORKER_INDEX, "0") == "0"
    return is_serving and true_condition(pod, "Ready") is not None
