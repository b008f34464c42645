"""The standby pool, as settings say it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from actuator.standby.engines import sleeping_engines
from fleet.boards import BOARDS
from fleet.ledgers.beds import CONTEXT_GIB, share_for_one_awake
from fleet.shape import WHOLE, Shape, slice_of
from fleet.workload import Tier
from foreslice.settings.durations import Pause
from foreslice.settings.group import Group
from foreslice.settings.model import one_of
from foreslice.standby.terms import PoolTerms

LEAST_SHARE = 0.5
"""Part of a slice's memory that the engine awake must have: sleepers are not all that a slice is for."""


class StandbySettings(Group):
    """Spare slices that engines of several workloads share: one is awake, the others sleep in host memory."""

    board: Annotated[str, *one_of(BOARDS), Field(description="card of its slices")] = "h100-80gb"
    profile: Annotated[str, Field(description="MIG profile of its slices, or whole")] = WHOLE
    slices: Annotated[
        int, Field(ge=0, le=500, description="slices in each namespace at most; 0 empties the pool")
    ]
    sleepers: Annotated[int, Field(ge=2, le=64, description="engines that share a slice at most")] = 8
    host_memory_gib: Annotated[
        float, Field(ge=1, le=65536, description="memory of each node that sleeping weights may take")
    ]
    tiers: Annotated[
        tuple[Literal["economy", "balanced", "strict"], ...],
        Field(json_schema_extra={"minItems": 1}, description="tiers that it insures"),
    ] = ("economy", "balanced", "strict")
    quantile: Annotated[
        float, Field(ge=0.5, le=0.999, description="share of the time in which it is to be enough")
    ] = 0.98
    level: Annotated[
        float, Field(ge=0.5, le=1, description="part of what is asked that workloads keep of their own")
    ] = 1.0
    lasts: Annotated[
        Pause, Field(description="what is asked for longer than this is carried by own capacity")
    ] = 120.0
    engine: Annotated[
        str, *one_of(sleeping_engines()), Field(description="engine whose sleep mode is used")
    ] = "vllm"
    token_file: Annotated[
        Path | None,
        Field(description="file with the bearer token that engines want; default: they want none"),
    ] = None

    @field_validator("tiers")
    @classmethod
    def _insures_some(cls, tiers: tuple[str, ...]) -> tuple[str, ...]:
        if not tiers:  # not `min_length`, which takes a list of bad ones for an empty one
            raise ValueError("must not be empty")
        return tiers

    @field_validator("profile")
    @classmethod
    def _is_a_shape(cls, profile: str, info: ValidationInfo) -> str:
        board = BOARDS.get(info.data.get("board", ""))
        if board is not None and profile not in {WHOLE, *(each.name for each in board.profiles)}:
            names = ", ".join([WHOLE, *(each.name for each in board.profiles)])
            raise ValueError(f"must be one of {names} on {board.id}")
        return profile

    @model_validator(mode="after")
    def _leaves_memory(self) -> StandbySettings:
        memory_gib = self.terms().memory_gib
        if share_for_one_awake(memory_gib, self.sleepers) < LEAST_SHARE:
            contexts = f"{self.sleepers - 1} contexts of {CONTEXT_GIB:g} GiB"
            raise ValueError(f"{contexts} leave less than half of {self.profile}: give fewer sleepers")
        return self

    def terms(self) -> PoolTerms:
        """Return what the loop keeps to."""
        shape = Shape(self.board, self.profile)
        return PoolTerms(
            shape=shape,
            slices=self.slices,
            sleepers=self.sleepers,
            host_gib=self.host_memory_gib,
            memory_gib=slice_of(BOARDS[self.board], shape).memory_gib,
            quantile=self.quantile,
            level=self.level,
            lasts_s=self.lasts,
            tiers=frozenset(map(Tier, self.tiers)),
        )
