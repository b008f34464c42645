"""How a user describes an engine of their own: the words of the files in `predictor/data/engines`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    PositiveFloat,
    WithJsonSchema,
    model_validator,
)

from foreslice.settings.group import Group
from predictor.engines import Engine, Role, engine_of, shipped

AUTO = "auto"
"""In place of an engine's name: whichever the series show."""

Exported = Literal[
    "arrivals",
    "completions",
    "failures",
    "refusals",
    "prompt_tokens",
    "output_tokens",
    "waiting",
    "running",
    "in_flight",
    "request_limit",
    "kv_use",
    "kv_used",
    "kv_room",
    "ttft",
    "itl",
    "tpot",
    "e2e",
    "queue_time",
    "prefill_time",
    "prompt_length",
    "output_length",
]
"""Signals and distributions that an engine or a router may export."""


def several(value: Any) -> Any:  # noqa: ANN401 -- whatever a file holds
    """Take one of several as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _described(value: Any) -> Any:  # noqa: ANN401 -- whatever a file holds
    """Take a bare name as the description that has nothing else."""
    return [{"name": one} if isinstance(one, str) else one for one in several(value)]


def _values(value: Any) -> Any:  # noqa: ANN401 -- whatever a file holds
    """Take a text or a list of texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ValueError("must be a text, or a list of texts one of which it has")


LabelValues = Annotated[
    str | tuple[str, ...],
    PlainValidator(_values),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}, "minItems": 1}),
]
"""What a label may say: one value, or one of several (served names of one model)."""


class SeriesSettings(Group):
    """One name under which a signal is exported."""

    name: Annotated[str, Field(min_length=1, description="series, or histogram without _bucket")]
    scale: Annotated[PositiveFloat, Field(description="what a reading is multiplied with")] = 1.0
    where: Annotated[
        dict[str, LabelValues],
        Field(description="labels that it must have for the signal, with one or several values"),
    ] = Field(default_factory=dict)


Several = Annotated[
    tuple[str, ...],
    BeforeValidator(several),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
]
"""One text, or several."""

_ONE = [{"type": "string"}, SeriesSettings.model_json_schema()]

Names = Annotated[
    tuple[SeriesSettings, ...],
    BeforeValidator(_described),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [*_ONE, {"type": "array", "items": {"anyOf": _ONE}, "minItems": 1}]}),
]


class EngineLabels(Group):
    """What labels mean."""

    model: Annotated[Several, Field(description="the served model, newest name first")] = ()
    copies: Annotated[Several, Field(description="ranks that all show the same readings")] = ()
    lower_case: Annotated[Several, Field(description="labels whose values are written in lower case")] = ()


class EngineSettings(Group):
    """An engine or router that foreslice does not know, or a known one under other names."""

    like: Annotated[
        str | None, Field(description="a known one that it is like but for what is said here")
    ] = None
    title: Annotated[str | None, Field(description="what people call it")] = None
    role: Annotated[Literal["engine", "router"] | None, Field(description="who exports; default: engine")] = (
        None
    )
    labels: EngineLabels | None = None
    renamings: Annotated[
        dict[str, Several],
        Field(description="beginnings of names, and what relabelling makes of them"),
    ] = Field(default_factory=dict)
    series: Annotated[dict[Exported, Names], Field(description="names by signal, newest first")] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _says_enough(self) -> EngineSettings:
        if self.like is not None:
            known = shipped()
            if self.like not in known or known[self.like].role not in {Role.ENGINE, Role.ROUTER}:
                counting = [one.name for one in known.values() if one.role in {Role.ENGINE, Role.ROUTER}]
                raise ValueError(f"like must be one of {', '.join(counting)}")
        elif not {"arrivals", "completions"} & self.series.keys():
            raise ValueError("name arrivals or completions among its series: without them nothing is known")
        return self

    def engine(self, name: str) -> Engine:
        """Return the engine that is described."""
        return engine_of(name, self.model_dump(exclude_unset=True))


def misfit(engine: str, match: Mapping[str, object], known: Mapping[str, Engine]) -> str:
    """Return why a workload cannot run this engine with this match, empty when it can."""
    if engine == AUTO:
        return ""
    if engine not in known or known[engine].role is not Role.ENGINE:
        engines = [name for name, one in known.items() if one.role is Role.ENGINE]
        return f"must be one of {', '.join((AUTO, *engines))}"
    labels = known[engine].labels.model
    if not match and "model_name" not in labels:
        return f"needs a match: {known[engine].title} names the model by {' or '.join(labels) or 'no label'}"
    needed = known[engine].needs_match
    if match and needed and not match.keys() & set(needed):
        return f"needs a match with {' or '.join(needed)}: the names of its series are anybody's"
    return ""


def engines_of(described: Mapping[str, EngineSettings]) -> dict[str, Engine]:
    """Return the engines that are known: those that are shipped, and those of the settings before them."""
    return {**shipped(), **{name: one.engine(name) for name, one in described.items()}}
