"""Rises in demand that somebody knows of, as settings say them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AwareDatetime, Field, model_validator

from fleet.workload import WorkloadKey
from foreslice.boosts import Boost
from foreslice.settings.group import Group

LONGEST = timedelta(hours=23)
"""So that at each of its hours the day before was still usual."""


class BoostSettings(Group):
    """A rise in demand that somebody knows of: capacity for it is ready when it begins."""

    workload: Annotated[str, Field(description="namespace/name of one of workloads")]
    factor: Annotated[
        float, Field(ge=1, le=10, description="times what was asked a day before, or in the hour before")
    ]
    begin: Annotated[AwareDatetime, Field(alias="from", description="when it begins, with an offset")]
    end: Annotated[AwareDatetime, Field(alias="to", description="when it is over, at most 23h later")]
    because: Annotated[str, Field(min_length=1, max_length=200, description="what it is for")]

    @model_validator(mode="after")
    def _lasts(self) -> BoostSettings:
        if not self.begin < self.end <= self.begin + LONGEST:
            raise ValueError("from must be before to, and at most 23h before: give several for longer")
        return self

    def boost(self) -> Boost:
        """Return this rise as the loop takes it."""
        key = WorkloadKey(*self.workload.split("/", 1))
        return Boost(key, self.factor, self.begin.timestamp(), self.end.timestamp(), self.because)
