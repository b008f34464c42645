"""The fleet, read from one consistent set of Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from actuator.manifest import Json
from actuator.objects.beside import ALONE, Beside
from actuator.objects.breaches import breaches
from actuator.objects.history import NONE, with_history
from actuator.objects.holds import holds_of
from actuator.objects.places import places_of
from actuator.objects.plugged import plugged
from actuator.objects.queued import in_queues, queued
from actuator.objects.readers import Readers
from actuator.objects.slices import publishing
from actuator.objects.standings import Observer
from actuator.objects.writers import Scalings
from fleet.cluster import Fleet, Standing
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects of a cluster as of one version, as plain JSON; kinds are those of their names.

    Attributes:
        version: Token that changes whenever any of the objects does.
        slices: Every ResourceSlice; foreign drivers are skipped.
        claims: Every ResourceClaim of every namespace: foreign ones hold devices too.
        deployments: At least those of the workloads' namespaces, as are templates, pods and plans.
        templates: ResourceClaimTemplates.
        pods: Pods of all namespaces: foreign ones take CPU and memory of nodes, and of queues.
        plans: FractionPlans.
        budgets: PodDisruptionBudgets.
        autoscalers: HorizontalPodAutoscalers.
        scaled_objects: KEDA's ScaledObjects.
        nodes: Nodes, as far as they may be read.
        taint_rules: DeviceTaintRules.
    """

    version: str
    slices: Sequence[Json]
    claims: Sequence[Json]
    deployments: Sequence[Json]
    templates: Sequence[Json]
    pods: Sequence[Json]
    plans: Sequence[Json] = ()
    budgets: Sequence[Json] = ()
    autoscalers: Sequence[Json] = ()
    scaled_objects: Sequence[Json] = ()
    nodes: Sequence[Json] = ()
    taint_rules: Sequence[Json] = ()


def fleet_of(
    snapshot: Snapshot,
    workloads: Iterable[WorkloadKey],
    readers: Readers,
    fault_domain: str = "",
    beside: Beside = ALONE,
) -> Fleet:
    """Return the fleet that the objects show; why a workload cannot be handled is in `refused`.

    Args:
        snapshot: The objects.
        workloads: Those that are opted in; nothing else becomes a standing.
        readers: Kept by the caller from one call to the next.
        fault_domain: Node label that names the fault domain, empty = there are none.
        beside: Deployments beside the workloads' own, the same with every call.
    """
    with readers.reading():
        return _fleet(snapshot, workloads, readers, fault_domain, beside)


def _fleet(
    snapshot: Snapshot, workloads: Iterable[WorkloadKey], readers: Readers, fault_domain: str, beside: Beside
) -> Fleet:
    kept = readers.kept
    inventory = readers.slices.read(snapshot.slices)
    plugs = kept.of(plugged, snapshot.nodes, snapshot.pods, kept.of(publishing, snapshot.slices))
    observer = kept.of(
        Observer,
        inventory,
        snapshot.deployments,
        snapshot.templates,
        snapshot.pods,
        snapshot.claims,
        snapshot.budgets,
        kept.of(Scalings, snapshot.autoscalers, snapshot.scaled_objects),
        readers.indexed,
    )
    held = {pool.node for pool in inventory.pools + plugs.pools}
    with_cards = [node for node in snapshot.nodes if node["metadata"]["name"] in held]
    observer.plugs, observer.fault_domain, observer.places = (
        plugs,
        fault_domain,
        kept.of(places_of, with_cards),
    )
    observer.beside = beside
    readers.standings.turn((inventory, plugs, observer.places, fault_domain))
    histories = kept.of(readers.plans.read, snapshot.plans)
    readers.dated.turn(())
    standings, refused = [], {}
    for key in workloads:
        try:
            found = readers.standings.read(key, observer.parts(key), partial(observer.standing, key))
        except RefusedError as error:
            refused[key] = str(error)
            continue
        if found is not None:
            # Trials are noted in plans each minute, while nothing else of a workload changes.
            history = histories.get(key, NONE)
            standings.append(readers.dated.read(key, (found, history), partial(with_history, found, history)))
    return Fleet(
        version=snapshot.version,
        gpus=inventory.gpus + plugs.gpus,
        pools=inventory.pools + plugs.pools,
        allocated=(
            *readers.holdings.read(snapshot.claims, inventory),
            *chain.from_iterable(plugs.held.values()),
        ),
        standings=tuple(standings),
        refused=refused,
        barred=inventory.barred,
        hosts=readers.hosts.read(with_cards, snapshot.pods, fault_domain),
        holds=holds_of(snapshot.taint_rules),
        breaches=breaches(snapshot.taint_rules, snapshot.claims),
        queued=kept.of(_queued, kept.of(in_queues, snapshot.pods), snapshot.nodes, tuple(standings)),
    )


def _queued(
    pods: Sequence[Json], nodes: Sequence[Json], standings: Sequence[Standing]
) -> Mapping[str, float]:
    if not pods:
        return {}
    ours = {
        WorkloadKey(standing.key.namespace, replica.pod)
        for standing in standings
        for variant in standing.variants
        for replica in variant.replicas
    }
    return queued(pods, nodes, ours)
