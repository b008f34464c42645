"""How a workload stands: its Deployments, their pods, and what the scheduler allocated to each."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from actuator.manifest import (
    VARIANT_LABEL,
    Json,
    by_namespace,
    labels_of,
    seconds_of,
    version_of,
)
from actuator.mechanisms import device_plugin as plugin
from actuator.mechanisms.dra import Ask, ask_of, shape_asked
from actuator.objects.allocations import allocated_ids, granted, results_of
from actuator.objects.beside import ALONE, chosen, last_by_hand_s, writers_beside
from actuator.objects.groups import (
    group_of,
    grouped,
    grouped_shape,
    may_stand_apart,
    size_of,
    workers_of,
)
from actuator.objects.holds import may_take_held
from actuator.objects.hosts import host_amount
from actuator.objects.indexed import Indexed, boards
from actuator.objects.places import Places
from actuator.objects.plugged import Plugged
from actuator.objects.pods import grace_s, true_condition
from actuator.objects.restraints import (
    RESERVATIONS,
    approval,
    budgets_of,
    changes_per_day,
    held_until_s,
    permitted,
    spared_by,
)
from actuator.objects.rollouts import is_of_another, rollout_of
from actuator.objects.slices import Inventory
from actuator.objects.variants import (
    gpu_claim,
    is_plugged,
    is_spread_over,
    is_variant_of,
    may_have_variants,
    refuse_shared,
    refuse_unkept,
)
from actuator.objects.writers import Scalings, writers_of
from fleet.cluster import Replica, Standing, Variant
from fleet.devices import Device
from fleet.errors import RefusedError
from fleet.restraints import DisruptionBudget
from fleet.rollout import NONE
from fleet.shape import WHOLE, Shape
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class _Got:
    """What a pod was given: the first of its devices, for which alternative, and what all are together."""

    device: Device | None = None
    taken: str = ""
    shape: Shape | None = None


class Observer:
    """Reads workloads from one consistent set of objects, indexed once; of the last set what is the same.

    Attributes:
        plugs: What device plugins offer, and who holds what of it.
        fault_domain: Node label that names the fault domain, empty = there are none.
        places: Nodes with cards, as far as they let pods in.
        beside: Deployments that settings name beside the workloads' own.
    """

    def __init__(
        self,
        inventory: Inventory,
        deployments: Sequence[Json],
        templates: Iterable[Json],
        pods: Iterable[Json],
        claims: Iterable[Json],
        budgets: Iterable[Json] = (),
        scalings: Scalings | None = None,
        indexed: Indexed | None = None,
    ) -> None:
        indexed = indexed or Indexed()
        indexed.follow(deployments, templates, pods, claims)
        self.plugs, self.fault_domain, self.places, self.beside = Plugged(), "", Places(), ALONE
        self._inventory = inventory
        self._boards = boards(inventory)
        self._gpus = inventory.gpu_by_uuid()
        self._indexed = indexed
        self._deployments, self._claims, self._pods = indexed.deployments, indexed.claims, indexed.pods
        self._budgets = by_namespace(budgets)
        self._scalings = scalings or Scalings()
        self._parts: dict[WorkloadKey, tuple[object, ...]] = {}

    def parts(self, key: WorkloadKey) -> tuple[object, ...]:
        """Return all that `standing` reads of a workload, beside inventory, plugs and fault domains."""
        if key not in self._parts:
            self._parts[key] = self._read_by(key)
        return self._parts[key]

    def _read_by(self, key: WorkloadKey) -> tuple[object, ...]:
        base = self._deployments.get(key)
        if base is None:
            return ()
        beside, left_out = chosen(self.beside.of(key), self._deployments, base)
        own = (base, *beside, *self._copies(base))
        pods = [pod for body in own for pod in self._pods.selected(key.namespace, body["spec"]["selector"])]
        if size_of(base) > 1:
            pods += [pod for leader in pods for pod in self._pods.selected(key.namespace, group_of(leader))]
        claims = [
            self._claims.get(WorkloadKey(key.namespace, status.get("resourceClaimName") or ""))
            for pod in pods
            for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        ]
        claims += [
            self._claims.get(WorkloadKey(key.namespace, claim.get("resourceClaimName") or ""))
            for body in own
            for claim in body["spec"]["template"]["spec"].get("resourceClaims") or ()
        ]
        templates = self._indexed.templates_of(key.namespace)
        named = [templates.get(name) for body in own for name in _templates_named(body)]
        scalers = tuple(map(self._scalings.of, own))
        return (own, pods, claims, named, self._budgeted(own), scalers, tuple(left_out))

    def standing(self, key: WorkloadKey) -> Standing | None:
        """Return how a workload stands, `None` if it has no Deployment.

        Raises:
            RefusedError: It is there but cannot be handled, with the reason.
        """
        base = self._deployments.get(key)
        if base is None:
            return None
        if key.namespace == RESERVATIONS:
            raise RefusedError(
                f"{base['kind']} {key}: pods of {RESERVATIONS} are KAI's, and never ended by others"
            )
        copies = self._copies(base)
        named = {labels_of(body)[VARIANT_LABEL]: body for body in copies}
        find = partial(self._found, key.namespace, named)
        own = self._variant(base, partial(find, ""), key, is_base=True)
        others, left_out = chosen(self.beside.of(key), self._deployments, base)
        beside = []
        for body in others:
            try:
                variant = self._variant(body, partial(find, ""), key)
                beside.append((body, replace(variant, is_beside=True)))
            except RefusedError as error:
                left_out.append(f"variants: {error}")
        owners = [base, *(body for body, _ in beside)]
        made = (self._variant(body, partial(find, mark), key) for mark, body in named.items())
        return Standing(
            key,
            (own, *(variant for _, variant in beside), *made),
            budgets=_of_groups(self._budgeted((*owners, *copies)), size_of(base)),
            permits=min(map(permitted, owners)),
            held_until_s=max(map(held_until_s, owners)),
            approval=approval(base),
            may_have_variants=may_have_variants(base) and not self.beside.of(key),
            changes_per_day=min((n for n in map(changes_per_day, owners) if n is not None), default=None),
            scalers=self._scalings.of(base),
            writers=(*writers_of(base), *writers_beside(owners[1:], self._scalings)),
            written_by_hand_at_s=last_by_hand_s([(base, own), *beside]),
            left_out=tuple(left_out),
        )

    def _copies(self, base: Json) -> list[Json]:
        """Return the copies of a Deployment, by name."""
        return [body for body in self._indexed.owned_by(base) if is_variant_of(body, base)]

    def _budgeted(self, bodies: Sequence[Json]) -> tuple[DisruptionBudget, ...]:
        """Return the budgets of the pods of a Deployment and its copies, in pods."""
        made = [labels_of(body["spec"]["template"]) for body in bodies]
        return tuple(budgets_of(self._budgets.get(bodies[0]["metadata"]["namespace"], ()), made))

    def _found(self, namespace: str, marks: Container[str], mark: str, selector: Json) -> list[Json]:
        """Return the pods that a selector picks of those with a variant's mark; the base has what is left."""
        return [
            pod
            for pod in self._pods.selected(namespace, selector)
            if (own if (own := labels_of(pod).get(VARIANT_LABEL, "")) in marks else "") == mark
        ]

    def _variant(
        self,
        deployment: Json,
        find: Callable[[Json], list[Json]],
        base: WorkloadKey,
        *,
        is_base: bool = False,
    ) -> Variant:
        meta = deployment["metadata"]
        refuse_shared(deployment, self._claims)
        templates = self._indexed.templates_of(meta["namespace"])
        got: Callable[[Json], _Got] = self._plugged
        claim, ask = ("", None) if is_plugged(deployment, templates) else gpu_claim(deployment, templates)
        rollout = NONE
        if ask is not None:
            rollout = rollout_of(deployment, claim, templates)
            got = partial(self._claimed, claim=claim)
        is_old = partial(is_of_another, claim=claim, template=rollout.template)
        try:
            if ask is None:
                asked = {"": plugin.shape_asked(deployment["spec"]["template"]["spec"], self.plugs.hosts)}
            else:
                asked = self._asked(ask)
                for each in asked.values():
                    refuse_unkept(deployment["spec"]["template"]["spec"], claim, each)
        except RefusedError as error:
            raise RefusedError(f"{deployment['kind']} {meta['name']}: {error}") from error
        shape, *others = asked.values()
        pod_spec = deployment["spec"]["template"]["spec"]
        size = self._size(deployment, templates, shape)
        members = size if may_stand_apart(deployment) else 1
        ours = find(deployment["spec"]["selector"])
        # Of a rollout that is under way, each pod is judged by what its own claim asks.
        older = {pod["metadata"]["name"]: self._asked_by(pod, claim, asked) for pod in ours if is_old(pod)}
        replicas = (
            self._group(pod, find, size, meta["name"], got, older.get(pod["metadata"]["name"], asked))
            for pod in ours
        )
        return Variant(
            name=meta["name"],
            shape=grouped_shape(shape, size),
            wanted=deployment["spec"].get("replicas", 1),
            version=version_of(deployment),
            is_base=is_base,
            replicas=tuple(replace(one, is_old=one.pod in older) for one in replicas),
            rollout=rollout,
            grace_s=grace_s(pod_spec),
            alternatives=tuple(dict.fromkeys(other for other in others if other != shape)),
            is_spread=is_spread_over(pod_spec, self.fault_domain),
            host=host_amount(pod_spec) * (size // members),
            members=members,
            closed=self.places.closed_to(
                _as_admitted(pod_spec, ours), besides=plugin.LABELS if ask is None else ()
            ),
            may_take_held=ask is not None and may_take_held(ask.tolerations, base),
        )

    def _asked(self, ask: Ask) -> dict[str, Shape]:
        """Return the shapes that a claim may get, by the name that an allocation gives them."""
        kinds = self._inventory.kinds()
        return {n: shape_asked(each, self._boards, kinds) for n, each in ask.alternatives}

    def _asked_by(self, pod: Json, claim: str, newest: Mapping[str, Shape]) -> Mapping[str, Shape]:
        """Return likewise what a pod's own claim may get; as the newest while that cannot be told."""
        body = self._claim(pod, claim)
        with suppress(RefusedError):
            return self._asked(ask_of(body["spec"])) if body else newest
        return newest

    def _size(self, deployment: Json, templates: Mapping[str, Json], shape: Shape) -> int:
        """Return how many pods one replica has; `RefusedError` for groups that cannot be told from shapes."""
        size = size_of(deployment)
        if size == 1:
            return size
        where = f"{deployment['kind']} {deployment['metadata']['name']}"
        if is_plugged(deployment, templates):
            raise RefusedError(f"{where}: groups of pods are handled where they have claims")
        if gpu_claim(deployment, templates)[1] != gpu_claim(workers_of(deployment), templates)[1]:
            raise RefusedError(f"{where}: leader and workers of a group ask for different devices")
        try:
            grouped_shape(shape, size)
        except RefusedError as error:
            raise RefusedError(f"{where}: {error}") from error
        return size

    def _group(
        self,
        leader: Json,
        find: Callable[[Json], list[Json]],
        size: int,
        variant: str,
        got: Callable[[Json], _Got],
        asked: Mapping[str, Shape],
    ) -> Replica:
        """Return a pod, or the group that it leads, as a replica."""
        others = [pod for pod in find(group_of(leader)) if pod is not leader] if size > 1 else []
        found = [_replica(pod, variant, got(pod), asked) for pod in (leader, *others)]
        return grouped(found, size)

    def _claimed(self, pod: Json, claim: str) -> _Got:
        """Return what the scheduler allocated to the claim that a pod calls by this name."""
        device, taken = self._device(pod, claim)
        return _Got(device, taken, None if device is None else self._shape(pod, claim))

    def _plugged(self, pod: Json) -> _Got:
        """Return what a pod has of its node's device plugin."""
        devices = self.plugs.held.get(pod["metadata"]["uid"], ())
        if not devices:
            return _Got()
        first, board = devices[0], self.plugs.boards[devices[0].gpu]
        cards = len(devices) if first.profile is None else 1
        return _Got(first, "", Shape(board.id, first.profile or WHOLE, cards))

    def _claim(self, pod: Json, claim: str) -> Json:
        """Return the claim that a pod calls by this name, empty while there is none."""
        statuses: list[Json] = (pod.get("status") or {}).get("resourceClaimStatuses") or []
        name = next((status.get("resourceClaimName") for status in statuses if status["name"] == claim), None)
        return self._claims.get(WorkloadKey(pod["metadata"]["namespace"], name or ""), {})

    def _device(self, pod: Json, claim: str) -> tuple[Device | None, str]:
        """Return what the scheduler allocated, of several the first, and for which request or alternative.

        A device that nobody publishes (any more) has no card.
        """
        body = self._claim(pod, claim)
        held = granted(body)
        if not held:
            return None, ""
        first, taken = held[0], results_of(body)[0]["request"]
        return self._inventory.held(first) or Device("", *allocated_ids(body)[0], "", "", None, {}), taken

    def _shape(self, pod: Json, claim: str) -> Shape | None:
        """Return what a pod runs on, `None` for devices that are not published, or no shape together."""
        devices = [self._inventory.held(result) for result in granted(self._claim(pod, claim))]
        gpus = [self._gpus.get(device.gpu) for device in devices if device is not None]
        boards = {gpu.board.id for gpu in gpus if gpu is not None}
        profiles = {device.profile for device in devices if device is not None}
        if None in devices or None in gpus or len(boards) != 1 or len(profiles) != 1:
            return None
        profile = profiles.pop() or WHOLE
        if profile != WHOLE and len(devices) > 1:
            return None
        return Shape(boards.pop(), profile, len(devices))


def _templates_named(body: Json) -> Iterator[str]:
    """Yield the claim templates from which the pods of an object get claims, of a group all its pods."""
    for made in (body, workers_of(body)) if size_of(body) > 1 else (body,):
        for claim in made["spec"]["template"]["spec"].get("resourceClaims") or ():
            yield claim.get("resourceClaimTemplateName") or ""


def _of_groups(budgets: Iterable[DisruptionBudget], size: int) -> tuple[DisruptionBudget, ...]:
    """Return budgets in replicas of so many pods: those count pods."""
    return tuple(DisruptionBudget(budget.name, budget.allowed // size) for budget in budgets)


def _replica(pod: Json, variant: str, got: _Got, asked: Mapping[str, Shape]) -> Replica:
    """Return a pod as a replica; `asked` has the shapes that it may get, as an allocation names them."""
    ready, first = true_condition(pod, "Ready"), next(iter(asked.values()))
    return Replica(
        pod=pod["metadata"]["name"],
        variant=variant,
        shape=got.shape or first,
        device=got.device,
        is_ready=ready is not None and got.device is not None and got.shape == asked.get(got.taken, first),
        is_leaving="deletionTimestamp" in pod["metadata"],
        created_at_s=seconds_of(pod["metadata"]["creationTimestamp"]),
        scheduled_at_s=_since_s(true_condition(pod, "PodScheduled")),
        ready_at_s=_since_s(ready),
        prepared_at_s=_since_s(true_condition(pod, "PodReadyToStartContainers")),
        spared_by=spared_by(pod),
    )


def _since_s(condition: Json | None) -> float | None:
    """Return since when a condition holds, seconds since the epoch; `None` where that is not said."""
    since = condition.get("lastTransitionTime") if condition is not None else None
    return None if since is None else seconds_of(since)


def _as_admitted(pod_spec: Json, pods: Sequence[Json]) -> Json:
    """Return a spec with what its newest pod tolerates, too: admission adds to it what nobody wrote.

    ExtendedResourceToleration does where nodes with GPUs are tainted by the resource's name.
    """
    newest = max(pods, default={}, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    added: list[Json] = (newest.get("spec") or {}).get("tolerations") or []
    return {**pod_spec, "tolerations": [*(pod_spec.get("tolerations") or []), *added]}
