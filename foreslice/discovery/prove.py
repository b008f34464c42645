"""`foreslice config check FILE --live`: whether each match gets one demand series, and the live pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from actuator.kube.survey import Survey, survey
from fleet.errors import InputError, RefusedError
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from foreslice.clock import WallClock
from foreslice.discovery.gather import RECENT_S, pods_of
from foreslice.doors import access_of, api_server_of
from foreslice.selection import settled
from foreslice.settings.check import Proof
from foreslice.settings.load import beside_of, matches_of
from foreslice.settings.schema import KubernetesCluster, Settings
from foreslice.settings.sources import PrometheusMetrics
from predictor.engines import Role
from predictor.identity import DEMAND, Seen, all_said_by, faults, seen
from predictor.sources.matching import Selection
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi


def prove(settings: Settings, folder: Path) -> dict[WorkloadKey, Proof]:
    """Return by workload what its match gets now; paths are relative to `folder`.

    Raises:
        InputError: Settings name nothing live, or the cluster may not be read.
        UnavailableError: Prometheus or the API server does not answer.
    """
    if not isinstance(settings.metrics, PrometheusMetrics):
        raise InputError(
            f"nothing is live about source {settings.metrics.source}",
            where="metrics.source",
            fix="check without --live, or read from Prometheus",
        )
    named = settled(settings, folder)
    metrics, matches, beside = settings.metrics, matches_of(named), beside_of(named)
    api = QueryApi(metrics.url, access_of(metrics, folder))
    held = _held(settings, folder, matches)
    at_s = WallClock().now_s()
    return {
        key: _joined(
            [_proof(key, beside.of(key), part, _live(api, part, at_s), held) for part in match.parts()]
        )
        for key, match in matches.items()
    }


def _held(settings: Settings, folder: Path, matches: Iterable[WorkloadKey]) -> Survey | None:
    """Return what is in the workloads' namespaces, `None` without a cluster."""
    if not isinstance(settings.cluster, KubernetesCluster):
        return None
    with closing(api_server_of(settings.cluster, folder)) as server:
        try:
            return survey(server, sorted({key.namespace for key in matches}))
        except RefusedError as error:
            raise InputError(str(error), where="cluster", fix="bind the role of observe.yaml") from error


def _live(api: QueryApi, part: Selection, at_s: float) -> list[Seen]:
    vocabulary = all_said_by(part.vocabulary.engines)
    spellings = {label: part.spellings(label) for label in part.labels}
    wanted = selector(vocabulary.names(Signal), spellings)
    return seen((series for series, _, _ in api.readings(wanted, RECENT_S, at_s).series), vocabulary)


def _proof(
    key: WorkloadKey, beside: Sequence[str], part: Selection, live: list[Seen], held: Survey | None
) -> Proof:
    """Return what one part gets; a router's series come from its own pods, which nothing is known of."""
    demand = [one for one in live if one.signal in DEMAND]
    series = sorted({f"{one.labels['__name__']} of {one.engine.title}" for one in demand})
    pods = sorted({one.pod.name for one in demand if one.engine.role is Role.ENGINE and one.pod.name})
    if held is None:
        return Proof(tuple(series), tuple(pods), tuple(faults(part.labels, live, None, frozenset())))
    served = {serving.key: serving for serving in held.servings}
    if key not in served:
        return Proof(tuple(series), tuple(pods), ("nothing of this name holds GPUs in its namespace",))
    servings, unfit = [served[key]], []
    for name in beside:
        serving = served.get(WorkloadKey(key.namespace, name))
        if serving is None:
            unfit.append(f"variants: nothing named {name} holds GPUs in its namespace")
        elif serving.kind != "Deployment":
            unfit.append(f"variants: {serving.kind} {name} is no Deployment")
        else:
            servings.append(serving)
    ready, ours = (
        frozenset[WorkloadKey]().union(*(pods_of(serving, getattr(serving, pods)) for serving in servings))
        for pods in ("ready", "pods")
    )
    found = faults(part.labels, live, ready, held.pods - ours)
    return Proof(tuple(series), tuple(pods), (*unfit, *found))


def _joined(parts: list[Proof]) -> Proof:
    """Return the proof of a workload from that of its engines and, first, of its router."""
    series, pods, found = (
        tuple(dict.fromkeys(one for part in reversed(parts) for one in getattr(part, name)))
        for name in ("series", "pods", "faults")
    )
    return Proof(series, pods, found)
