"""What the operator's file may say. Unknown keys are refused: a typo must not become a default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fleet.boards import BOARDS
from fleet.mechanism import MECHANISMS
from foreslice.settings.boost import BoostSettings
from foreslice.settings.durations import written
from foreslice.settings.engines import EngineSettings, engines_of, misfit
from foreslice.settings.group import Group, misplaced
from foreslice.settings.http import HttpSettings
from foreslice.settings.layouts import LayoutSettings
from foreslice.settings.learning import LearningSettings, SharedModelSettings
from foreslice.settings.loop import HistorySettings, HoldingSettings, LoopSettings
from foreslice.settings.market import CardSettings, QueueSettings
from foreslice.settings.model import one_of
from foreslice.settings.restraint import BudgetSettings, FreezeSettings, ShrinkSettings
from foreslice.settings.slo import ClassSettings
from foreslice.settings.sources import EmbeddedMetrics, FileMetrics, PrometheusMetrics
from foreslice.settings.standby import StandbySettings
from foreslice.settings.workload import LabelName, Name, WorkloadSettings, in_class, told_apart

APART = 2
"""Replicas that stand in different fault domains at least."""

COLUMNS = {"timestamp", "series", "value"}
"""Columns of a recorded file that are no labels of a series."""


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
    # Not `min_length`: pydantic counts the items that are good, and would call a list of bad ones empty.
    workloads: Annotated[tuple[WorkloadSettings, ...], Field(json_schema_extra={"minItems": 1})]

    @field_validator("workloads")
    @classmethod
    def _of_their_classes(
        cls, workloads: tuple[WorkloadSettings, ...], info: ValidationInfo
    ) -> tuple[WorkloadSettings, ...]:
        classes: dict[str, ClassSettings] | None = info.data.get("classes")
        if classes is None:  # which has findings of its own
            return workloads
        return tuple(in_class(workload, classes, index) for index, workload in enumerate(workloads))

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
            raise misplaced(message, "metrics", "source")
        if self.metrics.source == "prometheus" and self.cluster.kind == "embedded":
            message = "prometheus needs cluster.kind kubernetes or none: a simulated world has its own time"
            raise misplaced(message, "metrics", "source")
        return self

    @model_validator(mode="after")
    def _selects_in_a_cluster(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            if workload.selector and self.cluster.kind != "kubernetes":
                message = f"selects Deployments, and cluster.kind is {self.cluster.kind}"
                raise misplaced(message, "workloads", index, "selector")
            if workload.variants and self.cluster.kind != "kubernetes":
                message = f"are Deployments of a cluster, and cluster.kind is {self.cluster.kind}"
                raise misplaced(message, "workloads", index, "variants")
        return self

    @model_validator(mode="after")
    def _has_nodes_to_cut(self) -> Settings:
        if self.layouts is not None and self.cluster.kind != "kubernetes":
            raise misplaced(f"are those of Nodes, and cluster.kind is {self.cluster.kind}", "layouts")
        if self.layouts is not None:
            served = ("device-plugin", "dra") if self.layouts.manager else ("time-slicing",)
            if all(w.mechanism not in served for w in self.workloads):
                named = " or ".join(served)
                raise misplaced(f"serve workloads with mechanism: {named}, and there is none", "layouts")
        return self

    @model_validator(mode="after")
    def _has_a_past_to_keep(self) -> Settings:
        if self.history is not None and self.metrics.source != "prometheus":
            message = f"keeps what comes from Prometheus, and metrics.source is {self.metrics.source}"
            raise misplaced(message, "history")
        return self

    @model_validator(mode="after")
    def _boosts_are_of_workloads(self) -> Settings:
        known = [f"{workload.namespace}/{workload.name}" for workload in self.workloads]
        is_known = all(workload.name for workload in self.workloads)
        for index, boost in enumerate(self.boosts):
            if not (boost.workload in known if is_known else "/" in boost.workload):
                message = f"must be one of {', '.join(known)}" if is_known else "must be namespace/name"
                raise misplaced(message, "boosts", index, "workload")
        return self

    @field_validator("cards")
    @classmethod
    def _known_boards(cls, cards: dict[str, CardSettings]) -> dict[str, CardSettings]:
        for board in cards.keys() - BOARDS.keys():
            raise misplaced(f"must be one of {', '.join(BOARDS)}", board)
        return cards

    @model_validator(mode="after")
    def _queues_are_there(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            if workload.queue is not None and workload.queue not in self.queues:
                known = ", ".join(self.queues) or "none is described"
                raise misplaced(f"is no queue of queues ({known})", "workloads", index, "queue")
        return self

    @model_validator(mode="after")
    def _domains_are_known(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            if workload.spread and self.fault_domain is None:
                message = "needs fault_domain, the node label to spread over"
                raise misplaced(message, "workloads", index, "spread")
            if workload.spread and workload.replicas.min < APART:
                message = f"needs replicas.min of {APART}: one replica stands in one fault domain"
                raise misplaced(message, "workloads", index, "spread")
        return self

    @model_validator(mode="after")
    def _engines_are_known(self) -> Settings:
        known = engines_of(self.engines)
        for index, workload in enumerate(self.workloads):
            if problem := misfit(workload.engine, workload.match, known):
                raise misplaced(problem, "workloads", index, "engine")
        return self

    @model_validator(mode="after")
    def _isolation_is_kept(self) -> Settings:
        for index, workload in enumerate(self.workloads):
            kept = MECHANISMS[workload.mechanism]
            if not kept.satisfies(workload.isolation):
                message = f"must be {kept.isolation}, all that {kept.name} keeps (is {workload.isolation})"
                raise misplaced(message, "workloads", index, "isolation")
        return self

    @model_validator(mode="after")
    def _fits_a_recording(self) -> Settings:
        if self.metrics.source != "file":
            return self
        if self.acting and self.cluster.kind == "kubernetes":
            message = "a recorded file cannot be acted on in a cluster: its time stands at its newest row"
            raise misplaced(message, "acting")
        for index, workload in enumerate(self.workloads):
            for match in ("match", "router_match"):
                for label in COLUMNS & getattr(workload, match).keys():
                    message = "is a column of every recorded file, not a label"
                    raise misplaced(message, "workloads", index, match, label)
        return self


def json_schema_text() -> str:
    """Return the JSON schema of the operator's file, the text of `config/schema.json`."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Settings.model_json_schema()}
    for group in schema["$defs"].values():
        for field in group.get("properties", {}).values():
            if field.get("type") == "string" and isinstance(field.get("default"), float):
                field["default"] = written(field["default"])
    return json.dumps(schema, indent=2) + "\n"
