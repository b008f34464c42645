"""Reads a cluster and a Prometheus once, and says of each workload what is sure and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actuator.kube.survey import Survey
from actuator.objects.servings import Serving
from capacity.catalogue import MODELS
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from foreslice.discovery.models import known_as
from foreslice.discovery.variants import variants_among
from predictor.engines import Role, shipped
from predictor.identity import Labels, Proposal, Seen, all_said_by, proposed, routed, seen
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from predictor.vocabulary import Vocabulary

RECENT_S = 150
"""A series that has not been scraped for so long is not live: two scrapes a minute apart may be missed."""


@dataclass(frozen=True, slots=True)
class Found:
    """One workload with what was found of it.

    Attributes:
        serving: The object in the cluster.
        proposal: By which labels its series are known.
        model: Its name in the capacity catalogue, empty where none is sure.
        router: Labels of what a router says of its model, empty where none does.
        unsure: What has to be settled before it can be a workload of the settings, one line each.
        variants: Deployments that serve the same beside it on other shapes, by name.
        variant_of: Of which workload it is such a Deployment itself, empty = of none.
    """

    serving: Serving
    proposal: Proposal
    model: str
    router: Labels
    unsure: tuple[str, ...]
    variants: tuple[str, ...] = ()
    variant_of: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether it can be a workload of the settings as it is."""
        return not (self.unsure or self.variant_of)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What there is.

    Attributes:
        url: Address of the Prometheus.
        workloads: What holds GPUs, by namespace and name.
        survey: What was read of the cluster.
        cards: Exporters and sharing systems that say something of cards, with the number of cards each.
        unclaimed: Models whose series come from no pod that holds a GPU, routers' among them.
        notes: What could not be read.
    """

    url: str
    workloads: tuple[Found, ...]
    survey: Survey
    cards: dict[str, int]
    unclaimed: tuple[str, ...]
    notes: tuple[str, ...]


def speaking(*roles: Role) -> Vocabulary:
    """Return the names of all that shipped engines, routers or exporters of these roles say."""
    return all_said_by(engine for engine in shipped().values() if engine.role in roles)


def live_series(api: QueryApi, vocabulary: Vocabulary, at_s: float) -> tuple[list[Seen], bool]:
    """Return every live series of these engines, and whether the server says that there may be more."""
    answer = api.readings(selector(vocabulary.names(Signal), {}), RECENT_S, at_s)
    return seen((labels for labels, _, _ in answer.series), vocabulary), answer.is_partial


def discover(found: Survey, api: QueryApi, url: str, at_s: float) -> Discovery:
    """Return the workloads of a cluster with the series that are theirs.

    Raises:
        UnavailableError: Prometheus does not answer.
    """
    live, is_partial = live_series(api, speaking(Role.ENGINE, Role.ROUTER), at_s)
    about_cards, _ = live_series(api, speaking(Role.CARD, Role.TENANT), at_s)
    pods = {serving: pods_of(serving, serving.pods) for serving in found.servings}
    with_gpu = frozenset[WorkloadKey]().union(*pods.values())
    bases = variants_among(found.servings, lambda serving: _models(serving, live))
    notes = list(found.notes)
    if is_partial:
        notes.append(f"{url}: says that its answer is partial; some series may be missing")
    return Discovery(
        url=url,
        workloads=tuple(_found(serving, bases, found.pods, live) for serving in found.servings),
        survey=found,
        cards=_cards(about_cards),
        unclaimed=_unclaimed(live, with_gpu),
        notes=tuple(notes),
    )


def pods_of(serving: Serving, names: frozenset[str]) -> frozenset[WorkloadKey]:
    """Return these pods of a workload with its namespace."""
    return frozenset(WorkloadKey(serving.key.namespace, name) for name in names)


def _models(serving: Serving, live: Sequence[Seen]) -> frozenset[str]:
    """Return the models that its ready pods say they serve."""
    ready = pods_of(serving, serving.ready)
    return frozenset(one.model for one in live if one.model and one.pod in ready)


def _found(
    serving: Serving,
    bases: Mapping[Serving, Serving],
    pods: frozenset[WorkloadKey],
    live: Sequence[Seen],
) -> Found:
    beside = [one for one, base in bases.items() if base is serving]
    ready, ours = (
        frozenset[WorkloadKey]().union(*(pods_of(one, getattr(one, names)) for one in (serving, *beside)))
        for names in ("ready", "pods")
    )
    proposal = proposed(ready, pods - ours, live) if ready else Proposal({}, unsure="no pod of it is ready")
    model = known_as(proposal.model, MODELS) if proposal.model else None
    unsure = [proposal.unsure] if proposal.unsure else []
    if proposal.labels and model is None:
        served = f"serves {proposal.model}" if proposal.model else "does not say which model it serves"
        unsure.append(f"{served}; name the one of the {len(MODELS)} models in the capacity catalogue")
    router = routed(proposal.model, live) if proposal.model else {}
    if (base := bases.get(serving)) is not None:
        return Found(serving, proposal, model or "", router, (), variant_of=base.key.name)
    variants = tuple(one.key.name for one in beside)
    return Found(serving, proposal, model or "", router, tuple(unsure), variants)


def _cards(live: Sequence[Seen]) -> dict[str, int]:
    cards: dict[str, set[str]] = {}
    for one in live:
        uuid = next((one.labels[label] for label in one.engine.labels.card if one.labels.get(label)), "")
        if uuid:
            cards.setdefault(one.engine.title, set()).add(uuid)
    return {title: len(uuids) for title, uuids in sorted(cards.items())}


def _unclaimed(live: Sequence[Seen], with_gpu: frozenset[WorkloadKey]) -> tuple[str, ...]:
    found = {
        f"{one.engine.title} in {one.pod.namespace or 'no namespace'} serves {one.model}"
        for one in live
        if one.model and one.pod not in with_gpu
    }
    return tuple(sorted(found))
