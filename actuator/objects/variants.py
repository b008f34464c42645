"""Variants: copies of a user's Deployment, alike but for the shape that each replica asks for.

A variant's pods carry all labels of the base's pods, so that Services and PodDisruptionBudgets select
them, and one label more. It is owned by the base: it goes when the base goes, and never with a plan.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actuator.manifest import GROUP, MANAGED_BY, VARIANT_LABEL, Json, digest_of, dns_label, key_of, labels_of
from actuator.mechanisms import engine_memory
from actuator.mechanisms.device_plugin import Host, shape_asked, with_shape
from actuator.mechanisms.dra import Ask, ask_of, asks_gpu, claim_template
from actuator.mechanisms.engine_memory import fitted
from actuator.objects.granted import grant_of
from actuator.objects.holds import may_take_held, toleration
from actuator.objects.plugged import plugged
from actuator.objects.slices import publishing
from fleet.boards import Board
from fleet.cluster import Fleet
from fleet.errors import RefusedError
from fleet.ledgers.consumable import MEMORY, SharedDevice
from fleet.shape import Shape
from fleet.workload import WorkloadKey

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

TOGETHER: Json = {
    "weight": 100,
    "podAffinityTerm": {
        "labelSelector": {"matchExpressions": [{"key": VARIANT_LABEL, "operator": "Exists"}]},
        "namespaceSelector": {},
        "topologyKey": "kubernetes.io/hostname",
    },
}
"""A copy's pods prefer nodes on which pods of copies run: kube-scheduler spreads over nodes, which leaves
room on many cards. A preference only: it refuses no pod a place."""

BESIDE = {**TOGETHER, "weight": 1}
"""The same for copies that are to be spread over fault domains: a hundred pods of other workloads weigh less
than one of their own in the domain, so that they gather inside a domain and never into one."""

BASE_HASH = f"{GROUP}/base-template-hash"
"""Annotation of a variant: which pod template of the base it copies."""


@dataclass(frozen=True, slots=True)
class Spreading:
    """What fault domains are, and whose copies are spread over them.

    Attributes:
        label: Node label that names the domain, empty = there are none.
        workloads: Whose copies are spread.
    """

    label: str = ""
    workloads: frozenset[WorkloadKey] = frozenset()

    def of(self, workload: WorkloadKey) -> str:
        """Return the label over which copies of a workload are spread, empty = they are not."""
        return self.label if workload in self.workloads else ""


NOWHERE = Spreading()


def may_have_variants(base: Json) -> bool:
    """Return whether a copy of a workload serves as it does: pods of a StatefulSet have names and volumes."""
    return bool(base["kind"] == "Deployment")


def variant_name(base: str, home: Shape, shape: Shape) -> str:
    """Return the name of the copy of Deployment `base` whose replicas run on `shape`.

    The board is named only where it is another than that of the base's own shape, `home`.
    """
    board = "" if shape.board == home.board else f"{shape.board}-"
    return dns_label(f"{base}-{board}{shape.name}")


def gpu_claim(deployment: Json, templates: Mapping[str, Json]) -> tuple[str, Ask]:
    """Return the name of the pod claim that asks for a GPU, and what it asks for.

    Args:
        deployment: A Deployment, or another object with a pod template.
        templates: ResourceClaimTemplates of its namespace by name.

    Raises:
        RefusedError: Not exactly one claim made from a template asks for a GPU.
    """
    where = f"{deployment['kind']} {deployment['metadata']['name']}"
    found: list[tuple[str, Json]] = []
    claims: list[Json] = deployment["spec"]["template"]["spec"].get("resourceClaims") or []
    for claim in claims:
        template = templates.get(claim.get("resourceClaimTemplateName", ""))
        if template is not None and asks_gpu(template["spec"]["spec"]):
            found.append((claim["name"], template["spec"]["spec"]))
    if len(found) != 1:
        raise RefusedError(f"{where}: exactly one claim template must ask for a GPU, found {len(found)}")
    name, spec = found[0]
    try:
        return name, ask_of(spec)
    except RefusedError as error:
        raise RefusedError(f"{where}: {error}") from error


def refuse_shared(deployment: Json, claims: Mapping[WorkloadKey, Json]) -> None:
    """Raise `RefusedError` for pods that name a claim for a GPU, of whose devices all of them have one lot.

    Args:
        deployment: A Deployment, or another object with a pod template.
        claims: ResourceClaims by namespace and name.
    """
    namespace = deployment["metadata"]["namespace"]
    held: list[Json] = deployment["spec"]["template"]["spec"].get("resourceClaims") or []
    for name in (claim["resourceClaimName"] for claim in held if claim.get("resourceClaimName")):
        if asks_gpu(claims.get(WorkloadKey(namespace, name), {}).get("spec", {})):
            where = f"{deployment['kind']} {deployment['metadata']['name']}: its pods share claim {name}"
            why = "more replicas are more engines on the same devices, not more capacity"
            raise RefusedError(f"{where}: {why}; a claim of its own for each takes resourceClaimTemplateName")


def is_plugged(deployment: Json, templates: Mapping[str, Json]) -> bool:
    """Return whether the pods of a Deployment get their cards by the device plugin and nothing beside it."""
    grant = grant_of(deployment["spec"]["template"], templates)
    return grant is not None and grant.mechanism in {"device-plugin", "time-slicing"}


@dataclass(frozen=True, slots=True)
class Makings:
    """What copies of a workload are made with.

    Attributes:
        templates: ResourceClaimTemplates of its namespace by name.
        boards: Kinds of cards of the fleet.
        hosts: Kinds of nodes whose device plugin offers cards.
        shared: What claims may consume of a card, by board; of cards that differ, what the least has.
        spread_over: Node label over whose values their pods are spread, empty = they are not.
    """

    templates: Mapping[str, Json]
    boards: Sequence[Board]
    hosts: Sequence[Host] = ()
    shared: Mapping[str, SharedDevice] = field(default_factory=dict, hash=False)
    spread_over: str = ""


def makings_of(
    fleet: Fleet, templates: Iterable[Json], nodes: Iterable[Json], slices: Iterable[Json], spread_over: str
) -> Makings:
    """Return what copies of a workload are made with, by what is there.

    Args:
        fleet: The fleet as these objects show it.
        templates: ResourceClaimTemplates of the workload's namespace.
        nodes: Every Node.
        slices: Every ResourceSlice.
        spread_over: Node label over whose values the copies are spread, empty = they are not.
    """
    named = {body["metadata"]["name"]: body for body in templates}
    hosts = plugged(nodes, (), publishing(slices)).hosts
    return Makings(named, fleet.boards(), hosts, _shared(fleet), spread_over)


def _shared(fleet: Fleet) -> dict[str, SharedDevice]:
    boards = {gpu.uuid: gpu.board.id for gpu in fleet.gpus}
    found: dict[str, SharedDevice] = {}
    for device in (device for pool in fleet.pools for device in pool.devices):
        if device.shared is not None:
            least = found.setdefault(boards[device.gpu], device.shared)
            if device.shared.capacities[MEMORY].value < least.capacities[MEMORY].value:
                found[boards[device.gpu]] = device.shared
    return found


def variant_objects(base: Json, makings: Makings, name: str, shape: Shape) -> tuple[Json, ...]:
    """Return what makes a variant: a ResourceClaimTemplate where it takes one, the Deployment last.

    It has no replicas. Create them in this order, and take "already exists" for done.

    Raises:
        RefusedError: The base cannot be copied, or no board of the fleet has the shape.
    """
    if not may_have_variants(base):
        raise RefusedError(f"{base['kind']} {base['metadata']['name']}: only Deployments can have variants")
    where = f"Deployment {base['metadata']['name']}"
    board = next((board for board in makings.boards if board.id == shape.board), None)
    if board is None:
        raise RefusedError(f"{where}: no card of the fleet is a {shape.board}")
    pods = base["spec"]["template"]["spec"]
    if is_plugged(base, makings.templates):
        refuse_other_spread(where, shape, shape_asked(pods, makings.hosts).cards)
        return (_copy(base, name, with_shape(pods, shape, makings.hosts), makings.spread_over),)
    claim, ask = gpu_claim(base, makings.templates)
    refuse_other_spread(where, shape, ask.request.count)
    owner = key_of(base)
    if not may_take_held(ask.tolerations, owner):
        ask = replace(ask, tolerations=(*ask.tolerations, toleration(owner)))
    template = claim_template(owner.namespace, board, shape, ask, makings.shared.get(shape.board))
    template = _owned(template, name, base)
    own = {"name": claim, "resourceClaimTemplateName": template["metadata"]["name"]}
    claims = [own if held["name"] == claim else held for held in pods["resourceClaims"]]
    engines = [fitted(one, shape) if is_given(one, claim) else one for one in pods["containers"]]
    pods = {**pods, "containers": engines, "resourceClaims": claims}
    refuse_unkept(pods, claim, shape)
    return template, _copy(base, name, pods, makings.spread_over)


def refuse_unkept(pod_spec: Json, claim: str, shape: Shape) -> None:
    """Raise `RefusedError` for pods that may take memory of others, where a claim's shape has others."""
    given = [container for container in pod_spec["containers"] if is_given(container, claim)]
    if shape.hundredths and not given:
        raise RefusedError(f"no container is given claim {claim} (resources.claims)")
    for container in given:
        engine_memory.refuse_unkept(container, shape)


def is_given(container: Json, claim: str) -> bool:
    """Return whether a container gets the devices of the pod's claim of this name."""
    claims: list[Json] = (container.get("resources") or {}).get("claims") or []
    return any(one["name"] == claim for one in claims)


def refuse_other_spread(where: str, shape: Shape, cards: int) -> None:
    """Raise `RefusedError` for a shape of another number of cards than an engine is told to use."""
    if shape.cards != cards:
        spread = f"its engine's arguments spread it over {cards} cards, not over {shape.cards}"
        raise RefusedError(f"{where}: {spread}")


def _owned(template: Json, variant: str, base: Json) -> Json:
    """Return a template as one workload's own, so that it goes with that workload and serves no other."""
    named = {"name": dns_label(f"{variant}-{digest_of(template['spec'])}")}
    return {**template, "metadata": {**template["metadata"], **named, "ownerReferences": [owner_of(base)]}}


def base_hash(base: Json) -> str:
    """Return a hash of the pod template that variants copy."""
    return digest_of(base["spec"]["template"])


def _copy(base: Json, name: str, pod_spec: Json, spread_over: str) -> Json:
    meta = base["metadata"]
    spec = copy.deepcopy({key: value for key, value in base["spec"].items() if key != "replicas"})
    mark = {VARIANT_LABEL: name}
    pods = spec["template"]
    pods["metadata"] = {**pods.get("metadata", {}), "labels": {**labels_of(pods), **mark}}
    spec["selector"] = {
        **spec["selector"],
        "matchLabels": {**(spec["selector"].get("matchLabels") or {}), **mark},
    }
    pods["spec"] = copy.deepcopy(pod_spec)
    _prefer(pods["spec"], "podAffinity", BESIDE if spread_over else TOGETHER)
    if spread_over:
        _spread(pods["spec"], spread_over, base["spec"]["selector"])
    return {
        **_kind(base),
        # None of the base's own labels and annotations: a tool that manages the base by them would take
        # the copy for its own.
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": {**MANAGED_BY, **mark},
            "annotations": {BASE_HASH: base_hash(base)},
            "ownerReferences": [owner_of(base)],
        },
        "spec": {**spec, "replicas": 0},
    }


def _prefer(pod_spec: Json, kind: str, term: Json) -> None:
    """Add a term to those of the user's pod affinity, or anti-affinity."""
    affinity: Json = pod_spec.get("affinity") or {}
    of_pods: Json = affinity.get(kind) or {}
    preferred = [*(of_pods.get(PREFERRED) or ()), term]
    pod_spec["affinity"] = {**affinity, kind: {**of_pods, PREFERRED: preferred}}


def _spread(pod_spec: Json, label: str, selector: Json) -> None:
    """Have pods prefer fault domains in which fewest of the workload's are, those of all its Deployments.

    Said in both ways that kube-scheduler has, so that its other scores together do not outvote it:
    anti-affinity outweighs the copies' gathering inside one score, the constraint is a score of its own. No
    pod is refused a place: where one domain alone has room, all go there.
    """
    own = {"labelSelector": selector, "topologyKey": label}
    _prefer(pod_spec, "podAntiAffinity", {"weight": 100, "podAffinityTerm": own})
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **own}
    held = pod_spec.get("topologySpreadConstraints") or ()
    if not is_spread_over(pod_spec, label):
        pod_spec["topologySpreadConstraints"] = [*held, constraint]


def is_spread_over(pod_spec: Json, label: str) -> bool:
    """Return whether pods ask to be spread over the values of a node label, empty = over none."""
    constraints: list[Json] = pod_spec.get("topologySpreadConstraints") or []
    return any(one["topologyKey"] == label for one in constraints)


def owner_of(base: Json) -> Json:
    """Return what says that an object goes with a Deployment."""
    return {**_kind(base), "name": base["metadata"]["name"], "uid": base["metadata"]["uid"]}


def _kind(body: Json) -> Json:
    return {"apiVersion": body["apiVersion"], "kind": body["kind"]}


def is_variant_of(deployment: Json, base: Json) -> bool:
    """Return whether a Deployment is a variant of `base`: owned by it, and marked in label and selector."""
    mark = labels_of(deployment).get(VARIANT_LABEL)
    return (
        mark is not None
        and (deployment["spec"]["selector"].get("matchLabels") or {}).get(VARIANT_LABEL) == mark
        and _is_owned(deployment, base)
    )


def unused_templates(templates: Iterable[Json], makers: Iterable[Json], base: Json) -> tuple[str, ...]:
    """Return the names of templates that were made for `base` or copies of it, and that nothing names.

    Args:
        templates: ResourceClaimTemplates of its namespace.
        makers: Whatever there makes pods: Deployments, and ReplicaSets too, so that an undo of a rollout
            finds what it needs; and pods, whose claims may have yet to be made.
        base: The Deployment.
    """
    specs = (
        body["spec"]["template"]["spec"] if "template" in body["spec"] else body["spec"]
        for body in makers
        if "deletionTimestamp" not in body["metadata"]
    )
    used = {
        claim.get("resourceClaimTemplateName") for spec in specs for claim in spec.get("resourceClaims") or []
    }
    made = (
        body for body in templates if _is_owned(body, base) and labels_of(body).items() >= MANAGED_BY.items()
    )
    return tuple(sorted({str(body["metadata"]["name"]) for body in made} - used))


def _is_owned(body: Json, base: Json) -> bool:
    return any(
        (owner["kind"], owner["uid"]) == ("Deployment", base["metadata"]["uid"])
        for owner in body["metadata"].get("ownerReferences") or []
    )
