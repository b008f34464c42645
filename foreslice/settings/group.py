"""A group of keys in the operator's file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """Keys that belong together. Unknown ones are refused: a typo must not become a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
