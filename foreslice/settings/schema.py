"""What the operator's file may say. Unknown keys are refused: a typo must not become a default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from fleet.boards import BOARDS
from fleet.mechanism import MECHANISMS
from fleet.workload import Isolation, Router, Tier, Way
from foreslice.settings.boost import BoostSettings
from foreslice.settings.calendar import CalendarSettings
from foreslice.settings.durations import written
from foreslice.settings.engines import AUTO, EngineSettings, LabelValues, engines_of, misfit
from foreslice.settings.group import Group
from foreslice.settings.http import HttpSettings
from foreslice.settings.layouts import LayoutSettings
from foreslice.settings.learning import LearningSettings, SharedModelSettings
from foreslice.settings.loop import HistorySettings, HoldingSettings, LoopSettings
from foreslice.settings.market import CardSettings, QueueSettings
from foreslice.settings.model import ModelSettings, one_of, or_a_name
from foreslice.settings.restraint import BudgetSettings, FreezeSettings, ShrinkSettings
from foreslice.settings.slo import ClassSettings, ModeName, ReplicaSettings, SloSettings
from foreslice.settings.sources import EmbeddedMetrics, FileMetrics, PrometheusMetrics
from foreslice.settings.standby import StandbySettings

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
DottedName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", max_length=253)
]
"""A Deployment's name may have dots, a namespace's not (concepts/overview/working-with-objects/names.md)."""

LabelName = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]
LabelText = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", max_length=63)]
"""Labels of objects as Kubernetes has them (concepts/overview/working-with-objects/labels.md)."""

APART = 2
"""Replicas that stand in different fault domains at least."""

COLUMNS = {"timestamp", "series", "value"}
"""Columns of a recorded file that are no labels of a series."""


class WorkloadSettings(Group):
    """One served model."""

    name: Annotated[DottedName, Field(description="name of its Deployment")] = ""
    selector: Annotated[
        dict[LabelName, LabelText],
        Field(description="in place of name: labels; every Deployment of the namespace that has them is one"),
    ] = Field(default_factory=dict)
    namespace: Annotated[Name, Field(description="namespace of its Deployment")] = "default"
    model: Annotated[ModelSettings, Field(json_schema_extra=or_a_name)]
    match: Annotated[
        dict[str, LabelValues],
        Field(
            description="labels that its series carry; default: namespace and model_name = its name; "
            "{name} stands for that of a selected one"
        ),
    ] = Field(default_factory=dict)
    router_match: Annotated[
        dict[str, LabelValues],
        Field(description="labels of what a router in front says of it; default: none is read"),
    ] = Field(default_factory=dict)
    engine: Annotated[
        str, Field(description="what its pods run: auto = as their series show, or the name of an engine")
    ] = AUTO
    class_name: Annotated[
        Name | None, Field(alias="class", description="one of classes, whose keys count where it has none")
    ] = None
    calendar: Annotated[
        CalendarSettings | None, Field(description="that its users live by; default: the recipe's")
    ] = None
    slo: SloSettings | None = None
    tier: Annotated[Tier, Field(description="certainty bought: demand quantile .90, .95 or .99")] = (
        Tier.BALANCED
    )
    mode: Annotated[ModeName, Field(description="how far foreslice may go")] = "forecast-only"
    router: Annotated[Router, Field(description="how requests are spread over replicas")] = Router.EQUAL
    isolation: Annotated[Isolation, Field(description="what neighbours on the card must not take")] = (
        Isolation.HARD
    )
    replicas: ReplicaSettings = ReplicaSettings()
    mechanism: Annotated[
        Literal["dra", "device-plugin", "time-slicing"],
        Field(description="how its shapes are made real: claims, the device plugin, or its time slices too"),
    ] = "dra"
    scheduler: Annotated[str, Field(description="scheduler that places its pods")] = "default-scheduler"
    way: Annotated[
        Way,
        Field(
            description="own = its replicas are written; floor = the fewest replicas of what scales it; "
            "publish = nothing, only where it should be"
        ),
    ] = Way.OWN
    queue: Annotated[
        Name | None, Field(description="queue whose limits nothing of it goes beyond; default: none")
    ] = None
    spread: Annotated[
        bool,
        Field(description="its replicas stand in two fault domains at least; needs replicas.min of 2"),
    ] = False

    @model_validator(mode="after")
    def _is_meant(self) -> WorkloadSettings:
        if not self.name and not self.selector:
            raise _misplaced("is missing", "name")
        if self.name and self.selector:
            raise _misplaced("give either name or selector", "selector")
        return self

    @model_validator(mode="after")
    def _has_an_objective(self) -> WorkloadSettings:
        if self.slo is None and self.class_name is None:
            raise _misplaced("is missing", "slo")
        return self

    def named(self, name: str) -> WorkloadSettings:
        """Return these settings for one of the Deployments that they select."""
        matches = {key: _filled(getattr(self, key), name) for key in ("match", "router_match")}
        return self.model_copy(update={"name": name, "selector": {}, **matches})

    def in_class(self, of: ClassSettings) -> WorkloadSettings:
        """Return these settings with those of a class where they say nothing themselves."""
        more = {key: getattr(of, key) for key in of.model_fields_set - self.model_fields_set}
        return self.model_copy(update=more)

    @property
    def labels(self) -> dict[str, str | tuple[str, ...]]:
        """Labels by which its series are known."""
        return self.match or {"namespace": self.namespace, "model_name": self.name}


class NoCluster(Group):
    """No cluster: observe, forecast and report."""

    kind: Literal["none"] = "none"
    board: Annotated[str, *one_of(BOARDS), Field(description="card that work is reckoned in")] = "h100-80gb"


class EmbeddedCluster(Group):
    """The embedded world: a simulated fleet of H100 cards with dynamic MIG."""

    kind: Literal["embedded"]
    nodes: Annotated[int, Field(ge=1, le=100, description="nodes")] = 2
    cards_per_node: Annotated[int, Field(ge=1, le=8, description="H100 cards in each node")] = 8


class KubernetesCluster(Group):
    """A Kubernetes cluster whose cards NVIDIA's DRA driver publishes, or its device plugin offers."""

    kind: Literal["kubernetes"]
    kubeconfig: Annotated[
        Path | None,
        Field(
            description="relative to this file; default: our service account in a pod, else the user's own"
        ),
    ] = None
    context: Annotated[
        str | None, Field(description="context of the kubeconfig; default: its current one")
    ] = None
    lease_namespace: Annotated[Name, Field(description="where the Lease is that says who acts")] = "foreslice"


class Settings(Group):
    """The operator's file."""

    version: Annotated[Literal["v1"], Field(description="version of this format")]
    metrics: Annotated[FileMetrics | PrometheusMetrics | EmbeddedMetrics, Field(discriminator="source")]
    cluster: Annotated[NoCluster | EmbeddedCluster | KubernetesCluster, Field(discriminator="kind")] = (
        NoCluster()
    )
    acting: Annotated[bool, Field(description="false: decide and say, write nothing")] = False
    loop: LoopSettings = LoopSettings()
    history: HistorySettings | None = None
    learning: LearningSettings = LearningSettings()
    models: SharedModelSettings = SharedModelSettings()
    shrink: ShrinkSettings = ShrinkSettings()
    freezes: Annotated[
        tuple[FreezeSettings, ...], Field(description="times in which nothing is moved or removed")
    ] = ()
    boosts: Annotated[tuple[BoostSettings, ...], Field(description="rises that are announced")] = ()
    budgets: Annotated[
        tuple[BudgetSettings, ...], Field(description="how many changes that give replicas up may be made")
    ] = ()
    holding: Annotated[
        HoldingSettings | None, Field(description="room is held for replicas to come; without it none is")
    ] = None
    standby: Annotated[
        StandbySettings | None, Field(description="pool of engines that sleep; default: there is none")
    ] = None
    layouts: LayoutSettings | None = None
    http: HttpSettings = HttpSettings()
    # Not `min_length`: pydantic counts the items that are good, and would call a list of bad ones empty.
    engines: Annotated[
        dict[Name, EngineSettings],
        Field(description="engines and routers that foreslice does not know, by name"),
    ] = Field(default_factory=dict)
    classes: Annotated[
        dict[Name, ClassSettings], Field(description="what several workloads have in common, by name")
    ] = Field(default_factory=dict)
    cards: Annotated[
        dict[str, CardSettings],
        Field(description="kinds of cards, by what `foreslice capacity` calls them"),
    ] = Field(default_factory=dict)
    fault_domain: Annotated[
        LabelName | None,
        Field(
            description="node label whose values are fault domains, e.g. topology.kubernetes.io/zone; "
            "default: none"
        ),
    ] = None
    queues: Annotated[dict[Name, QueueSettings], Field(description="queues of teams, by name")] = Field(
        default_factory=dict
    )
    workloads: Annotated[tuple[WorkloadSettings, ...], Field(json_schema_extra={"minItems": 1})]

    @field_validator("workloads")
    @classmethod
    def _of_their_classes(
        cls, workloads: tuple[WorkloadSettings, ...], info: ValidationInfo
    ) -> tuple[WorkloadSettings, ...]:
        classes: dict[str, ClassSettings] | None = info.data.get("classes")
        if classes is None:  # which has findings of its own
            return workloads
        return tuple(_in_class(workload, classes, index) for index, workload in enumerate(workloads))

    @field_validator("workloads")
    @classmethod
    def _described_once(cls, workloads: tuple[WorkloadSettings, ...]) -> tuple[WorkloadSettings, ...]:
        if not workloads:
            raise ValueError("must not be empty")
        for index, workload in enumerate(workloads):
            for other in workloads[:index]:
                if workload.name and other.name:
                    told_apart(workload, other, index)
        return workloads

    @model_validator(mode="after")
    def _engines_are_there(self) -> Settings:
        if self.metrics.source == "embedded" and self.cluster.kind != "embedded":
            message = "embedded needs cluster.kind embedded: the simulated engines run there"
            raise _misplaced(message, "metrics", "source")
        if self.metrics.source == "prometheus" and self.cluster.kind == "embedded":
            message = "prometheus needs cluster.kind kubernetes or none: a simulated world has its own time"
            raise _misplaced(message, "metrics", "source")
        return self

    @model_validator(mode="after")
    def _selects_and_sleeps_in_a_cluster(self) -> Settings:
        if self.standby is not None and self.cluster.kind == "none":
            raise _misplaced("needs a cluster, and cluster.kind is none", "standby")
        for index, workload in enumerate(self.workloads):
            if workload.selector and self.cluster.kind != "kubernetes":
                message = f"selects Deployments, and cluster.kind is {self.cluster.kind}"
                raise _misplaced(message, "workloads", index, "selector")
        return self

    @model_validator(mode="after")
    def _has_nodes_to_cut(self) -> Settings:
        if self.layouts is not None and self.cluster.kind != "kubernetes":
            raise _misplaced(f"are those of Nodes, and cluster.kind is {self.cluster.kind}", "layouts")
        if self.layouts is not None:
            served = "device-plugin" if self.layouts.manager else "time-slicing"
            if all(w.mechanism != served for w in self.workloads):
                raise _misplaced(f"serve workloads with mechanism: {served}, and there is none", "layouts")
        return self

    @model_validator(mode="after")
    def _has_a_past_to_keep(self) -> Settings:
        if self.history is not None and self.metrics.source != "prometheus":
            message = f"keeps what comes from Prometheus, and metrics.source is {self.metrics.source}"
            raise _misplaced(message, "history")
        return self

    @model_validator(mode="after")
    def _boosts_are_of_workloads(self) -> Settings:
        known = [f"{workload.namespace}/{workload.name}" for workload in self.workloads]
        is_known = all(workload.name for workload in self.workloads)
        for index, boost in enumerate(self.boosts):
            if not (boost.workload in known if is_known else "/" in boost.workload):
                message = f"must be one of {', '.join(known)}" if is_known else "must be namespace/name"
                raise _misplaced(message, "boosts", index, "workload")
        return self

    @field_validator("cards")
    @classmethod
    def _known_boards(cls, cards: dict[str, CardSettings]) -> dict[str, CardSettings]:
        for board in cards.keys() - BOARDS.keys():
            raise _misplaced(f"must be one of {', '.join(BOARDS)}", board)
        return cards

    @model_validator(mode="after")
    def _queues_are_there(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            if workload.queue is not None and workload.queue not in self.queues:
                known = ", ".join(self.queues) or "none is described"
                raise _misplaced(f"is no queue of queues ({known})", "workloads", index, "queue")
        return self

    @model_validator(mode="after")
    def _domains_are_known(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            if workload.spread and self.fault_domain is None:
                message = "needs fault_domain, the node label to spread over"
                raise _misplaced(message, "workloads", index, "spread")
            if workload.spread and workload.replicas.min < APART:
                message = f"needs replicas.min of {APART}: one replica stands in one fault domain"
                raise _misplaced(message, "workloads", index, "spread")
        return self

    @model_validator(mode="after")
    def _engine_and_mechanism_fit(self) -> Settings:
        known = engines_of(self.engines)
        for index, workload in enumerate(self.workloads):
            if problem := misfit(workload.engine, workload.match, known):
                raise _misplaced(problem, "workloads", index, "engine")
            kept = MECHANISMS[workload.mechanism]
            if not kept.satisfies(workload.isolation):
                message = f"must be {kept.isolation}, all that {kept.name} keeps (is {workload.isolation})"
                raise _misplaced(message, "workloads", index, "isolation")
        return self

    @model_validator(mode="after")
    def _fits_a_recording(self) -> Settings:
        if self.metrics.source != "file":
            return self
        if self.acting and self.cluster.kind == "kubernetes":
            message = "a recorded file cannot be acted on in a cluster: its time stands at its newest row"
            raise _misplaced(message, "acting")
        for index, workload in enumerate(self.workloads):
            for match in ("match", "router_match"):
                for label in COLUMNS & getattr(workload, match).keys():
                    message = "is a column of every recorded file, not a label"
                    raise _misplaced(message, "workloads", index, match, label)
        return self


def _in_class(
    workload: WorkloadSettings, classes: Mapping[str, ClassSettings], index: int
) -> WorkloadSettings:
    """Return a workload with what its class says; raise where there is no such class, or no objective."""
    name = workload.class_name
    if name is None:
        return workload
    if name not in classes:
        raise _misplaced(f"must be one of classes: {', '.join(classes) or 'there are none'}", index, "class")
    described = workload.in_class(classes[name])
    if described.slo is None:
        raise _misplaced(f"is missing, and in class {name}", index, "slo")
    return described


def _filled(match: Mapping[str, LabelValues], name: str) -> dict[str, LabelValues]:
    """Return a match with a Deployment's name where `{name}` stands."""
    return {
        label: value.replace("{name}", name)
        if isinstance(value, str)
        else tuple(one.replace("{name}", name) for one in value)
        for label, value in match.items()
    }


def told_apart(workload: WorkloadSettings, other: WorkloadSettings, index: int) -> None:
    """Raise where two workloads are one Deployment, name their variants alike, or share their series."""
    name = f"{workload.namespace}/{workload.name}"
    other_name = f"{other.namespace}/{other.name}"
    if name == other_name:
        raise _misplaced(f"{name} is described twice", index, "name")
    if name.replace(".", "-") == other_name.replace(".", "-"):
        raise _misplaced(f"{name} and {other_name} would name their variants alike", index, "name")
    if workload.labels == other.labels:
        message = f"has the same labels as {other_name}: both would get the whole demand"
        raise _misplaced(message, index, "match")
    if workload.router_match and workload.router_match == other.router_match:
        message = f"has the same labels as {other_name}: both would get the whole demand"
        raise _misplaced(message, index, "router_match")


def _misplaced(message: str, *at: str | int) -> PydanticCustomError:
    """Return an error that belongs further down than where it is noticed."""
    return PydanticCustomError("misplaced", "{message}", {"message": message, "at": at})


def json_schema_text() -> str:
    """Return the JSON schema of the operator's file, the text of `config/schema.json`."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Settings.model_json_schema()}
    for group in schema["$defs"].values():
        for field in group.get("properties", {}).values():
            if field.get("type") == "string" and isinstance(field.get("default"), float):
                field["default"] = written(field["default"])
    return json.dumps(schema, indent=2) + "\n"
