"""From a file to settings, with errors that name file, line, key and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from actuator.objects.beside import Beside
from actuator.objects.variants import Spreading
from allocator.market import Market
from capacity.catalogue import MODELS, ModelSpec
from fleet.errors import InputError
from fleet.workload import LatencyTarget, Limits, Mode, Slo, Workload, WorkloadKey
from foreslice.rules import Rules
from foreslice.settings.engines import AUTO
from foreslice.settings.recipe_file import served, shipped
from foreslice.settings.schema import Settings
from foreslice.settings.slo import EndToEndTarget, FirstTokenTarget, InterTokenTarget, SloSettings
from foreslice.settings.sources import FileMetrics
from foreslice.settings.workload import WorkloadSettings
from foreslice.settings.yaml_file import YamlFile
from predictor.engines import Role
from predictor.engines import shipped as shipped_engines
from predictor.recipe import Guest, Recipe
from predictor.sources.matching import Match
from predictor.vocabulary import Vocabulary, any_engine, any_router

_UNIONS = frozenset({"metrics", "cluster"})
"""Groups with several forms."""


def load(path: Path) -> Settings:
    """Return the settings in a YAML file; `InputError` with one line for each thing that is wrong.

    Beyond the format, a metrics file that it names must be there.
    """
    file = YamlFile(path, "settings", "config/default.yaml")
    settings = file.group(Settings, unions=_UNIONS)
    for index, workload in enumerate(settings.workloads):
        try:
            workload.model.spec(path.parent)
        except InputError as error:
            keys = ("workloads", index, "model", "config")
            problem = f"{error.what}; {error.fix}"
            raise file.refusal(keys, problem, str(workload.model.config)) from error
    try:
        rung_of(settings, path.parent)
    except InputError as error:
        raise file.refusal(("learning", "recipe"), str(error), str(settings.learning.recipe)) from error
    metrics = settings.metrics
    if isinstance(metrics, FileMetrics) and (problem := _problem(path.parent / metrics.path)):
        raise file.refusal(("metrics", "path"), problem, str(metrics.path))
    return settings


def rung_of(settings: Settings, folder: Path) -> Recipe | Guest:
    """Return how each workload's own model is learnt; relative paths are relative to `folder`.

    `InputError` if the recipe cannot be used, or names what is not allowed.
    """
    learning = settings.learning
    return shipped("own") if learning.recipe is None else served(folder / learning.recipe, learning.allowed)


def rules_of(settings: Settings) -> Rules:
    """Return what the settings let the loop do, and when."""
    freezes = tuple(freeze.freeze() for freeze in settings.freezes)
    boosts = tuple(boost.boost() for boost in settings.boosts)
    return Rules(
        acting=settings.acting,
        limits=settings.shrink.limits(),
        freezes=freezes,
        boosts=boosts,
        market=market_of(settings),
        budgets=tuple(budget.budget() for budget in settings.budgets),
        at_once=settings.shrink.at_once,
        starts_per_node=settings.loop.starts_per_node,
        hold_s=settings.holding.longest if settings.holding is not None else None,
    )


def market_of(settings: Settings) -> Market:
    """Return what the settings say of cards and teams."""
    return Market(
        prices={board: cards.price for board, cards in settings.cards.items()},
        queues={name: queue.queue(name) for name, queue in settings.queues.items()},
        queue_of={
            WorkloadKey(w.namespace, w.name): w.queue for w in settings.workloads if w.queue is not None
        },
    )


def spreading_of(settings: Settings) -> Spreading:
    """Return what fault domains are, and whose copies are spread over them."""
    spread = frozenset(WorkloadKey(w.namespace, w.name) for w in settings.workloads if w.spread)
    return Spreading(settings.fault_domain or "", spread)


def beside_of(settings: Settings) -> Beside:
    """Return which Deployments stand beside the workloads' own."""
    return Beside({WorkloadKey(w.namespace, w.name): w.variants for w in settings.workloads if w.variants})


def workloads_of(settings: Settings) -> tuple[Workload, ...]:
    """Return the described workloads in the vocabulary of `fleet`."""
    return tuple(_workload(w) for w in settings.workloads)


def models_of(settings: Settings, folder: Path) -> Mapping[str, ModelSpec]:
    """Return the models of the catalogue and those that the workloads serve, by what workloads call them.

    Relative paths are relative to `folder`; `InputError` if a config.json cannot be used.
    """
    described = {w.model.key: w.model.spec(folder) for w in settings.workloads}
    return {**MODELS, **described}


def matches_of(settings: Settings) -> dict[WorkloadKey, Match]:
    """Return how each workload's series are known: their labels, and the engines that may export them."""
    own = [described.engine(name) for name, described in settings.engines.items()]
    engines = [*any_engine().engines, *(one for one in own if one.role is Role.ENGINE)]
    routers = Vocabulary([*any_router().engines, *(one for one in own if one.role is Role.ROUTER)])
    named = {engine.name: engine for engine in (*shipped_engines().values(), *own)}
    return {
        WorkloadKey(w.namespace, w.name): Match(
            w.labels,
            router=w.router_match,
            engines=Vocabulary(engines if w.engine == AUTO else [named[w.engine]]),
            routers=routers,
        )
        for w in settings.workloads
    }


def _problem(recording: Path) -> str:
    try:
        return "" if recording.is_file() else "no such file"
    except OSError as error:  # a name that is too long, a folder that may not be entered
        return f"cannot be read ({error.strerror})"


def _workload(w: WorkloadSettings) -> Workload:
    return Workload(
        key=WorkloadKey(w.namespace, w.name),
        model=w.model.key,
        slo=slo_of(w.slo),
        tier=w.tier,
        mode=Mode[w.mode.replace("-", "_").upper()],
        router=w.router,
        isolation=w.isolation,
        limits=Limits(w.replicas.min, w.replicas.max),
        mechanism=w.mechanism,
        scheduler=w.scheduler,
        way=w.way,
        reshape=w.reshape,
        is_spread=w.spread,
    )


def slo_of(slo: SloSettings | None) -> Slo:
    """Return the objectives that a file names."""
    if slo is None:
        raise AssertionError("settings let no workload without an objective pass")
    return Slo(ttft=_target(slo.ttft), itl=_target(slo.itl), e2e=_target(slo.e2e))


def _target(target: FirstTokenTarget | InterTokenTarget | EndToEndTarget | None) -> LatencyTarget | None:
    if target is None:
        return None
    [(name, limit_s)] = [(name, limit_s) for name, limit_s in target if limit_s is not None]
    return LatencyTarget(int(name.removeprefix("p")) / 100, limit_s)
