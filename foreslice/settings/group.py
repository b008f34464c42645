"""A group of keys in the operator's file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Group(BaseModel):
    """Keys that belong together. Unknown ones are refused: a typo must not become a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def misplaced(message: str, *at: str | int) -> PydanticCustomError:
    """Return an error that belongs further down than where it is noticed."""
    return PydanticCustomError("misplaced", "{message}", {"message": message, "at": at})
