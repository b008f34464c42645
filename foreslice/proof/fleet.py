"""What a replay assumes of the fleet: cards, delays, objectives and who serves what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from capacity.catalogue import MODELS, ModelSpec
from fleet.boards import BOARDS, Board
from fleet.shape import Shape
from fleet.workload import Tier, Workload, WorkloadKey
from foreslice.settings.durations import Lead, Pause, Span
from foreslice.settings.group import Group
from foreslice.settings.load import slo_of
from foreslice.settings.model import ModelSettings, one_of
from foreslice.settings.slo import SloSettings
from foreslice.settings.standby import StandbySettings
from foreslice.settings.yaml_file import YamlFile


class Served(Group):
    """What a workload of the trace serves."""

    match: Annotated[str, Field(description="name in the trace; * and ? stand for any")] = "*"
    model: ModelSettings
    slo: SloSettings
    tier: Tier = Tier.BALANCED
    boards: Annotated[
        tuple[Annotated[str, *one_of(BOARDS)], ...] | None,
        Field(min_length=1, description="kinds of cards that it runs on; default: those of the fleet"),
    ] = None


class Sizes(Group):
    """Range of the 99.9 % quantile of a workload's work, in whole GPUs; drawn log-uniformly by the seed."""

    least: Annotated[float, Field(gt=0, le=1000)]
    largest: Annotated[float, Field(gt=0, le=1000)]

    @model_validator(mode="after")
    def _ordered(self) -> Sizes:
        if self.least > self.largest:
            raise ValueError(f"least ({self.least:g}) is above largest ({self.largest:g})")
        return self


@dataclass(frozen=True, slots=True)
class Terms:
    """What a trace is set on.

    Attributes:
        boards: Kinds of cards.
        workload: Given a name of the trace, what serves it; `None` = nothing is known of that.
        scored_s: End of the trace that is scored.
        reading: How demand moves inside a step: jump or glide.
        sizes: What sizes are drawn from, `None` = as the trace says.
        models: Models by what workloads call them.
        pool: Given a workload, the slices of a standby pool that it may join; `None` = there is none for it.
        kept_to: Given a name of the trace, those of `boards` that it is kept to; empty = all.
    """

    boards: tuple[Board, ...]
    workload: Callable[[str], Workload | None]
    scored_s: float
    reading: str = "jump"
    sizes: Sizes | None = None
    models: Mapping[str, ModelSpec] = field(default_factory=lambda: MODELS)
    pool: Callable[[Workload], Shape | None] = lambda _: None
    kept_to: Callable[[str], tuple[Board, ...]] = lambda _: ()


class ReplayFleet(Group):
    """The fleet file of `foreslice replay`."""

    boards: Annotated[
        tuple[Annotated[str, *one_of(BOARDS)], ...], Field(min_length=1, description="kinds of cards")
    ] = ("h100-80gb",)
    lags: Annotated[
        tuple[Lead, ...], Field(min_length=1, description="from an order to a replica that serves")
    ]
    unserved: Annotated[float, Field(gt=0, lt=0.5, description="share of the work that may go unserved")]
    scored: Annotated[Span, Field(description="end of the trace that is scored; what is before trains")]
    quiet: Annotated[Pause, Field(description="a need must have been lower for so long")] = 600.0
    reading: Annotated[
        Literal["jump", "glide"], Field(description="how demand moves inside a step longer than a minute")
    ] = "jump"
    sizes: Annotated[Sizes | None, Field(description="scale each workload; default: as the trace says")] = (
        None
    )
    nodes: Annotated[int, Field(ge=1, le=64, description="nodes of eight cards, at the fine level")] = 8
    standby: Annotated[
        StandbySettings | None,
        Field(description="as in settings: the pool of policies that have one, at the fine level"),
    ] = None
    workloads: Annotated[
        tuple[Served, ...],
        Field(description="first match counts; of others a rate is work, and a seventh of a card a seventh"),
    ] = ()

    @model_validator(mode="after")
    def _of_the_fleet(self) -> ReplayFleet:
        for served in self.workloads:
            foreign = [name for name in served.boards or () if name not in self.boards]
            if foreign:
                raise ValueError(f"{served.match} is kept to {foreign[0]}, of which the fleet has none")
        return self

    def terms(self) -> Terms:
        """Return what a trace is set on."""
        boards = tuple(BOARDS[name] for name in self.boards)
        return Terms(boards, self.workload, self.scored, self.reading, self.sizes, kept_to=self._kept_to)

    def _kept_to(self, name: str) -> tuple[Board, ...]:
        served = self._served(name)
        return tuple(BOARDS[board] for board in (served and served.boards) or ())

    def _served(self, name: str) -> Served | None:
        return next((one for one in self.workloads if fnmatchcase(name, one.match)), None)

    def workload(self, name: str) -> Workload | None:
        """Return what serves a workload of the trace, `None` where nothing is said of it."""
        served = self._served(name)
        if served is None:
            return None
        return Workload(WorkloadKey("replay", name), served.model.key, slo_of(served.slo), served.tier)


def read_fleet(path: Path) -> ReplayFleet:
    """Return what a fleet file says; `InputError` with one line for each thing that is wrong."""
    return YamlFile(path, "fleet", "config/replay/tenants.yaml").group(ReplayFleet)
