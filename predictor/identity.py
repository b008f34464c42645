"""Which series belong to which workload: proposed from what there is, and proved against what is live.

A match is labels with their values. It is good when what carries them is the demand of one model, counted by
one engine or router, of this workload's pods and of nobody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.engines import Engine, Role
from predictor.sources.matching import LabelValues, few, shown
from predictor.vocabulary import Vocabulary

DEMAND = (Signal.ARRIVALS, Signal.COMPLETIONS)
"""What says how much is asked, the most upstream of one engine or router first."""

_TELLING = (
    "service",
    "job",
    "app",
    "app_kubernetes_io_instance",
    "app_kubernetes_io_name",
    "deployment",
    "statefulset",
    "container",
)
"""Labels that tell workloads apart where namespace and model do not, and that outlive a pod. They come from
service discovery: the operator sets service, job and container, others are taken over by relabelling."""

_NAMELESS = "no label says which model it is, nor which service"

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """One live series of an engine or a router.

    Attributes:
        engine: Who exports it.
        signal: What it carries.
        labels: All its labels.
    """

    engine: Engine
    signal: Signal
    labels: Labels

    @property
    def model(self) -> str:
        """The served model, empty where no label says it."""
        return self.labels.get(self.model_label, "")

    @property
    def model_label(self) -> str:
        """The label that says it, empty where none does."""
        return _first(self.engine.labels.model, self.labels)

    @property
    def pod(self) -> WorkloadKey:
        """Namespace and name of the pod that is measured; empty where no label says them."""
        meanings = (self.engine.labels.namespace, self.engine.labels.pod)
        namespace, name = (self.labels.get(_first(names, self.labels), "") for names in meanings)
        return WorkloadKey(namespace, name)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Labels to know a workload's series by; none where `unsure` says why.

    Attributes:
        labels: The match.
        engine: Who exports the series, `None` where that is not one.
        model: The served model, as its label says.
        unsure: Why nobody should rely on it, empty = it may be relied on.
    """

    labels: Labels
    engine: Engine | None = None
    model: str = ""
    unsure: str = ""


def all_said_by(engines: Iterable[Engine]) -> Vocabulary:
    """Return the names of all that these say; of names that are anybody's they are taken last."""
    known = sorted(engines, key=lambda engine: bool(engine.needs_match))
    return Vocabulary(known, lambda engine: engine.series)


def seen(series: Iterable[Labels], vocabulary: Vocabulary) -> list[Seen]:
    """Return what series mean; those that no engine or router of the vocabulary exports are left out."""
    found = []
    for labels in series:
        meaning = vocabulary.meaning(labels["__name__"], labels)
        if meaning is not None:
            found.append(Seen(meaning.engine, meaning.signal, labels))
    return found


def proposed(ready: frozenset[WorkloadKey], others: frozenset[WorkloadKey], live: Sequence[Seen]) -> Proposal:
    """Return by which labels the series of a workload are known, and of nobody else's.

    Namespace and model are enough where no other workload shares both; else a label is added that tells them
    apart. Pods are never named: they come and go.

    Args:
        ready: The workload's ready pods.
        others: Pods of others; series of pods that are neither are nobody's, as of those that are gone.
        live: Every live series.
    """
    ours = [one for one in live if one.pod in ready]
    if not ours:
        return Proposal({}, unsure="no series of a known engine comes from its pods")
    engines = {one.engine.title: one.engine for one in ours}
    models = sorted({one.model for one in ours})
    if len(engines) > 1:
        return Proposal({}, unsure=f"its pods export series of {few(sorted(engines))}")
    first, constant = ours[0], _constant([one.labels for one in ours])
    if len(models) > 1:
        unsure = f"its pods serve {few(models)}; add those of them that are meant to match"
        return Proposal({}, first.engine, unsure=unsure)
    base = _base(first, constant)
    theirs = [one for one in live if one.pod in others]
    silent = sorted(key.name for key in ready - {one.pod for one in ours})
    unsure = f"nothing is scraped from {few(silent)}" if silent else ""
    for labels in _widening(base, constant, needs_more=not first.model):
        if not any(_carries(other.labels, labels) for other in theirs):
            return Proposal(labels, first.engine, first.model, unsure)
    shared = sorted({str(other.pod) for other in theirs if _carries(other.labels, base)})
    unsure = f"no label tells its series from those of {few(shared)}" if shared else _NAMELESS
    return Proposal({}, first.engine, first.model, unsure)


def routed(model: str, live: Sequence[Seen]) -> Labels:
    """Return by which labels a router's series of a model are known; none where no one router has some.

    Routers may write the model in lower case. Whether requests come through the router, no series says.
    """
    found = [
        one
        for one in live
        if one.engine.role is Role.ROUTER and one.model and one.model.lower() == model.lower()
    ]
    if len({one.engine.name for one in found}) != 1:
        return {}
    return _base(found[0], _constant([one.labels for one in found]))


def faults(
    match: LabelValues,
    live: Sequence[Seen],
    ready: frozenset[WorkloadKey] | None,
    others: frozenset[WorkloadKey],
) -> list[str]:
    """Return what is wrong with a match, one line each; nothing where it has one demand series and all pods.

    Args:
        match: Labels of a workload.
        live: Every live series that carries them.
        ready: Its ready pods, `None` where no cluster says.
        others: Pods of others.
    """
    wanted = shown(match)
    if not live:
        return [f"no live series of a known engine carries {wanted}"]
    demand = [one for one in live if one.signal in DEMAND]
    if not demand:
        engines = few(sorted({one.engine.title for one in live}))
        return [f"{wanted} has series of {engines}, but none of demand" + _lazy(live)]
    found = []
    sources = sorted({f"{one.labels['__name__']} of {one.engine.title}" for one in _upstream(demand)})
    models = sorted({one.model for one in demand if one.model_label not in match})
    if len(sources) > 1:
        found.append(f"{wanted} has {len(sources)} demand series, not one: {few(sources)}")
    if len(models) > 1:
        found.append(f"{wanted} has the demand of {len(models)} models, not of one: {few(models)}")
    covered = {one.pod for one in demand if one.engine.role is Role.ENGINE}
    if ready is not None and any(one.engine.role is Role.ENGINE for one in demand):
        if missed := sorted(key.name for key in ready - covered):
            found.append(f"{len(missed)} of {len(ready)} ready pods have no demand series: {few(missed)}")
        if not ready:
            found.append("no pod of it is ready, so that nothing proves whose series these are")
    if foreign := sorted(str(key) for key in covered & others):
        found.append(f"{wanted} has series of pods that are others': {few(foreign)}")
    return found


def _upstream(demand: Sequence[Seen]) -> list[Seen]:
    """Return what counts demand furthest upstream, one series for each who does."""
    routers = [one for one in demand if one.engine.role is Role.ROUTER] or demand
    signal = next(signal for signal in DEMAND if any(one.signal is signal for one in routers))
    return list({one.engine.name: one for one in routers if one.signal is signal}.values())


def _lazy(live: Sequence[Seen]) -> str:
    lazy = any(one.engine.is_lazy for one in live)
    return ": it has none before the first request" if lazy else ""


def _base(first: Seen, constant: Labels) -> dict[str, str]:
    wanted = (_first(first.engine.labels.namespace, first.labels), first.model_label)
    return {label: constant[label] for label in wanted if label in constant}


def _widening(base: Labels, constant: Labels, *, needs_more: bool) -> Iterator[dict[str, str]]:
    """Yield matches from the plainest on; where no label names the model, namespace alone is too wide."""
    if not needs_more and base:
        yield dict(base)
    for label in _TELLING:
        if label in constant and label not in base:
            yield {**base, label: constant[label]}


def _constant(labels: Sequence[Labels]) -> dict[str, str]:
    """Return the labels that all have with one value."""
    return dict(set(labels[0].items()).intersection(*(one.items() for one in labels)))


def _carries(labels: Labels, match: Labels) -> bool:
    return all(labels.get(label) == value for label, value in match.items())


def _first(names: Iterable[str], labels: Labels) -> str:
    return next((name for name in names if labels.get(name)), "")
