"""The Deployment controller of the embedded world."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import blake2b
from math import ceil, floor

from actuator.manifest import seconds_of
from simulator.api import DEPLOYMENT, POD, Api, Event, Json, timestamp
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.metadata import Name, is_owned, name_of, owner_reference
from simulator.pods import condition, is_leaving, is_ready
from simulator.workqueue import WorkQueue

_COMPLETE, _UPDATED, _EXCEEDED = "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"

POD_TEMPLATE_HASH = "pod-template-hash"
"""Label of a pod: which template of its Deployment it was made from."""


class DeploymentController:
    """Keeps as many pods of each Deployment as it asks for, and takes them to a changed template.

    There are no ReplicaSets; of rollouts only those that make new pods before they end old ones.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        # Replicas that each Deployment asked for when it was last looked at, by its uid.
        self._told: dict[str, int] = {}
        self._templates: dict[str, Json] = {}
        self._queue: WorkQueue[Name] = WorkQueue(clock, self._reconcile)
        api.watch(DEPLOYMENT, lambda event: self._queue.add(name_of(event.body)))
        api.watch(POD, self._on_pod)

    def _on_pod(self, event: Event) -> None:
        for owner in event.body["metadata"].get("ownerReferences", ()):
            if owner["kind"] == DEPLOYMENT.name:
                self._queue.add((event.body["metadata"]["namespace"], owner["name"]))

    def _reconcile(self, name: Name) -> None:
        deployment = self._api.get(DEPLOYMENT, *name)
        if deployment is None or is_leaving(deployment):
            return
        template_hash = _template_hash(deployment)
        self._templates[template_hash] = deployment["spec"]["template"]
        # Pods that somebody else made in its name have no such label; ReplicaSets leave them alone.
        made = (pod for pod in self._pods_of(deployment) if POD_TEMPLATE_HASH in pod["metadata"]["labels"])
        staying = [pod for pod in made if is_owned(pod, deployment) and not is_leaving(pod)]
        old = [pod for pod in staying if _hash_of(pod) != template_hash]
        wanted = deployment["spec"].get("replicas", 1)
        told = self._told.get(deployment["metadata"]["uid"], wanted)
        if old and told != wanted:
            self._share(deployment, template_hash, staying, told)
            self._queue.add(name)
        elif old:
            self._roll(deployment, template_hash, staying, old)
        else:
            self._end(_best_first(staying)[wanted:])
            self._make(deployment, template_hash, wanted - len(staying))
        self._told[deployment["metadata"]["uid"]] = wanted
        self._tell(deployment, staying, old)

    def _share(self, deployment: Json, template_hash: str, staying: Sequence[Json], told: int) -> None:
        """Bring what stands of each template to other replicas, in proportion and within the surge.

        As kubernetes pkg/controller/deployment/sync.go (scale) and util/deployment_util.go
        (GetReplicaSetProportion): old ones grow and shrink too, and the largest takes what is left over.
        """
        wanted = deployment["spec"].get("replicas", 1)
        most, before = (n + _surge(deployment, n) if n else 0 for n in (wanted, told))
        sizes = Counter(map(_hash_of, staying))
        left = (wanted if len(sizes) == 1 else most) - len(staying)
        # Of the same size the newest comes first where there are to be more, else last.
        order = sorted(sizes, key=lambda each: (-sizes[each], (each == template_hash) != (left > 0)))
        goals = dict(sizes)
        for each in order:
            part = floor(sizes[each] * most / before + 0.5) - sizes[each] if before else 0
            part = min(part, left) if left > 0 else max(part, left)
            goals[each], left = goals[each] + part, left - part
        goals[order[0]] = max(0, goals[order[0]] + left)
        for each, goal in goals.items():
            self._end(_best_first([pod for pod in staying if _hash_of(pod) == each])[goal:])
            self._make(deployment, each, goal - sizes[each])

    def _roll(
        self, deployment: Json, template_hash: str, staying: Sequence[Json], old: Sequence[Json]
    ) -> None:
        """Make new pods as far as the surge goes, and end old ones that are not missed.

        As kubernetes pkg/controller/deployment/rolling.go with maxUnavailable 0: one sync makes pods or ends
        some; what does not serve makes room only beyond what new pods have still to take over.
        """
        wanted = deployment["spec"].get("replicas", 1)
        surge = _surge(deployment, wanted)
        new = len(staying) - len(old)
        more = min(wanted - new, wanted + surge - len(staying))
        if more > 0:
            self._make(deployment, template_hash, more)
            return
        available = sum(self._is_available(deployment, pod) for pod in staying)
        idle = sum(not self._is_available(deployment, pod) for pod in old)
        most = len(staying) - wanted - (len(staying) - available - idle)
        if most > 0:
            self._end(_best_first(old)[::-1][: min(idle, most) + max(0, available - wanted)])

    def _tell(self, deployment: Json, staying: Sequence[Json], old: Sequence[Json]) -> None:
        """Write the status; while pods that are ready are not available yet, look again."""
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(staying),
            "updatedReplicas": len(staying) - len(old),
            "readyReplicas": sum(map(is_ready, staying)),
            "availableReplicas": sum(self._is_available(deployment, pod) for pod in staying),
        }
        before = deployment.get("status", {})
        if conditions := self._progress(deployment, before, status, is_rolling=bool(old)):
            status["conditions"] = conditions
        self._api.replace_status({**deployment, "status": status})

    def _progress(self, deployment: Json, before: Json, status: Json, *, is_rolling: bool) -> Sequence[Json]:
        """Return whether a rollout gets further, as a condition; none before the first one."""
        held: Sequence[Json] = before.get("conditions", ())
        said: Json = held[0] if held else {}
        is_complete = not is_rolling and status["availableReplicas"] == status["replicas"]
        if not (said or is_rolling) or (said and is_complete and said["reason"] == _COMPLETE):
            return held
        now_s, deadline_s = self._clock.now_s, deployment["spec"].get("progressDeadlineSeconds", 600)
        if is_complete:
            return [_progressing(_COMPLETE, now_s)]
        if not said or any(status[part] != before.get(part) for part in status):
            self._look_again(deployment, deadline_s)
            return [_progressing(_UPDATED, now_s)]
        if said["reason"] == _UPDATED and now_s - seconds_of(said["lastUpdateTime"]) >= deadline_s:
            return [_progressing(_EXCEEDED, now_s, is_true=False)]
        return held

    def _is_available(self, deployment: Json, pod: Json) -> bool:
        """Return whether a pod has been ready for as long as is asked; if not yet, look again then."""
        since, wait_s = condition(pod, "Ready"), deployment["spec"].get("minReadySeconds", 0)
        if since is None or not is_ready(pod):
            return False
        left_s: float = seconds_of(since["lastTransitionTime"]) + wait_s - self._clock.now_s
        if left_s > 0:
            self._look_again(deployment, left_s)
        return left_s <= 0

    def _look_again(self, deployment: Json, after_s: float) -> None:
        self._clock.after(after_s, partial(self._queue.add, name_of(deployment)))

    def _end(self, pods: Iterable[Json]) -> None:
        for pod in pods:
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            self._api.delete(POD, namespace, name, uid=pod["metadata"]["uid"])

    def _make(self, deployment: Json, template_hash: str, pods: int) -> None:
        for _ in range(pods):
            self._api.create(_pod(deployment, self._templates[template_hash], template_hash))

    def _pods_of(self, deployment: Json) -> Sequence[Json]:
        return self._api.list(POD, deployment["metadata"]["namespace"], _selector(deployment))


def _best_first(pods: Sequence[Json]) -> list[Json]:
    """Order in which pods are kept: bound, ready, old (kubernetes pkg/controller ActivePodsWithRanks)."""
    by_age = sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
    return sorted(by_age, key=lambda pod: (bool(pod["spec"].get("nodeName")), is_ready(pod)), reverse=True)


def _selector(deployment: Json) -> dict[str, str]:
    selector = deployment["spec"]["selector"]
    if selector.keys() - {"matchLabels"}:
        raise NotModelledError("selectors other than equality")
    labels: dict[str, str] = selector["matchLabels"]
    return labels


def _hash_of(pod: Json) -> str:
    made_from: str = pod["metadata"]["labels"][POD_TEMPLATE_HASH]
    return made_from


def _surge(deployment: Json, replicas: int) -> int:
    """Return how many pods a rollout may have beside so many, percentages rounded up."""
    name, spec = deployment["metadata"]["name"], deployment["spec"]
    strategy = spec.get("strategy", {})
    parts = {"maxSurge": "25%", "maxUnavailable": "25%", **strategy.get("rollingUpdate", {})}
    exact = {
        part: int(said[:-1]) * replicas / 100 if isinstance(said, str) else said
        for part, said in parts.items()
    }
    surge: int = ceil(exact["maxSurge"])
    makes_first = floor(exact["maxUnavailable"]) == 0 and surge > 0
    if strategy.get("type", "RollingUpdate") != "RollingUpdate" or spec.get("paused") or not makes_first:
        raise NotModelledError(f"a rollout of {name} that ends pods before it makes new ones, or is paused")
    return surge


def _progressing(reason: str, at_s: float, *, is_true: bool = True) -> Json:
    """Return a Deployment's condition (kubernetes pkg/controller/deployment/progress.go)."""
    return {
        "type": "Progressing",
        "status": str(is_true),
        "reason": reason,
        "lastUpdateTime": timestamp(at_s),
        "message": reason,
    }


def _template_hash(deployment: Json) -> str:
    template = json.dumps(deployment["spec"]["template"], sort_keys=True)
    return blake2b(template.encode(), digest_size=5).hexdigest()


def _pod(deployment: Json, template: Json, template_hash: str) -> Json:
    name = deployment["metadata"]["name"]
    metadata = template["metadata"]
    return {
        "apiVersion": POD.api_version,
        "kind": POD.name,
        "metadata": {
            **metadata,
            "namespace": deployment["metadata"]["namespace"],
            "generateName": f"{name}-{template_hash}-",
            "labels": {**metadata["labels"], POD_TEMPLATE_HASH: template_hash},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": template["spec"],
    }
