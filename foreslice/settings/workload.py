"""What the operator's file may say of one workload, and how two are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from fleet.workload import Isolation, Reshaping, Router, Tier, Way
from foreslice.settings.calendar import CalendarSettings
from foreslice.settings.engines import AUTO, LabelValues, several
from foreslice.settings.group import Group, misplaced
from foreslice.settings.model import ModelSettings, or_a_name
from foreslice.settings.slo import ClassSettings, ModeName, ReplicaSettings, SloSettings

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
        Literal["dra", "dra-shares", "device-plugin", "time-slicing"],
        Field(
            description="how its shapes are made real: claims, claims for shares of cards too, the device "
            "plugin, or its time slices too"
        ),
    ] = "dra"
    scheduler: Annotated[str, Field(description="scheduler that places its pods")] = "default-scheduler"
    way: Annotated[
        Way,
        Field(
            description="own = its replicas are written; floor = the fewest replicas of what scales it; "
            "publish = nothing, only where it should be"
        ),
    ] = Way.OWN
    reshape: Annotated[
        Reshaping,
        Field(
            description="how it comes to other shapes: copies = Deployments beside its own; switch = its own "
            "names another claim template; mechanism dra alone"
        ),
    ] = Reshaping.COPIES
    queue: Annotated[
        Name | None, Field(description="queue whose limits nothing of it goes beyond; default: none")
    ] = None
    variants: Annotated[
        tuple[DottedName, ...],
        BeforeValidator(several),
        Field(
            json_schema_extra={"type": ["string", "array"]},
            description="further Deployments of its namespace that serve the same model on other shapes: "
            "their replicas are written too, and no copies are made",
        ),
    ] = ()
    spread: Annotated[
        bool,
        Field(description="its replicas stand in two fault domains at least; needs replicas.min of 2"),
    ] = False

    @model_validator(mode="after")
    def _is_meant(self) -> WorkloadSettings:
        if not self.name and not self.selector:
            raise misplaced("is missing", "name")
        if self.name and self.selector:
            raise misplaced("give either name or selector", "selector")
        return self

    @field_validator("variants", mode="before")
    @classmethod
    def _of_its_namespace(cls, names: object) -> object:
        for index, name in enumerate(several(names)):
            if isinstance(name, str) and "/" in name:
                raise misplaced("must be of the workload's own namespace, and is named without it", index)
        return names

    @model_validator(mode="after")
    def _has_variants_of_its_own(self) -> WorkloadSettings:
        if self.variants and not self.name:
            raise misplaced("are of one Deployment, and need name in place of selector", "variants")
        if self.variants and self.way is not Way.OWN:
            message = f"need way: own: {self.way} writes what scales one Deployment, or nothing"
            raise misplaced(message, "variants")
        for index, name in enumerate(self.variants):
            if name == self.name:
                raise misplaced("is the workload's own Deployment", "variants", index)
            if name in self.variants[:index]:
                raise misplaced(f"{name} is there twice", "variants", index)
        return self

    @model_validator(mode="after")
    def _can_be_switched(self) -> WorkloadSettings:
        if self.reshape is Reshaping.SWITCH and self.mechanism != "dra":
            raise misplaced(f"switch takes mechanism dra, not {self.mechanism}", "reshape")
        if self.reshape is Reshaping.SWITCH and self.variants:
            raise misplaced("switch changes the workload's own Deployment, and uses no variants", "reshape")
        if self.reshape is Reshaping.SWITCH and self.way is Way.PUBLISH:
            raise misplaced("switch writes the Deployment, and way: publish writes nothing", "reshape")
        return self

    @model_validator(mode="after")
    def _has_an_objective(self) -> WorkloadSettings:
        if self.slo is None and self.class_name is None:
            raise misplaced("is missing", "slo")
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


def in_class(
    workload: WorkloadSettings, classes: Mapping[str, ClassSettings], index: int
) -> WorkloadSettings:
    """Return a workload with what its class says; raise where there is no such class, or no objective."""
    name = workload.class_name
    if name is None:
        return workload
    if name not in classes:
        raise misplaced(f"must be one of classes: {', '.join(classes) or 'there are none'}", index, "class")
    described = workload.in_class(classes[name])
    if described.slo is None:
        raise misplaced(f"is missing, and in class {name}", index, "slo")
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
        raise misplaced(f"{name} is described twice", index, "name")
    if name.replace(".", "-") == other_name.replace(".", "-"):
        raise misplaced(f"{name} and {other_name} would name their variants alike", index, "name")
    if workload.namespace == other.namespace:
        _share_no_deployment(workload, other, index)
    if workload.labels == other.labels:
        message = f"has the same labels as {other_name}: both would get the whole demand"
        raise misplaced(message, index, "match")
    if workload.router_match and workload.router_match == other.router_match:
        message = f"has the same labels as {other_name}: both would get the whole demand"
        raise misplaced(message, index, "router_match")


def _share_no_deployment(workload: WorkloadSettings, other: WorkloadSettings, index: int) -> None:
    """Raise where a Deployment of one workload of a namespace is one of another's, too."""
    if workload.name in other.variants:
        raise misplaced(f"{workload.name} is among the variants of {other.name}", index, "name")
    for at, name in enumerate(workload.variants):
        if name == other.name:
            raise misplaced(f"{name} is a workload of its own", index, "variants", at)
        if name in other.variants:
            raise misplaced(f"{name} is among the variants of {other.name}, too", index, "variants", at)
