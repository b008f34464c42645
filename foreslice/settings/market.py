"""Prices of cards, and queues of teams."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from fleet.ledgers.queues import UNLIMITED, Queue
from foreslice.settings.group import Group


class CardSettings(Group):
    """What one kind of card costs."""

    price: Annotated[
        float, Field(ge=0.001, le=1000, description="of one card, in what all prices share; not named = 1")
    ] = 1.0


class QueueSettings(Group):
    """How many GPUs a team may use, as KAI's queues count them."""

    quota: Annotated[
        float | None,
        Field(
            ge=0,
            le=100_000,
            description="what it is guaranteed: its strict workloads stay within; default: no bound",
        ),
    ] = None
    limit: Annotated[
        float | None, Field(ge=0, le=100_000, description="what it may use at most; default: no bound")
    ] = None
    priority: Annotated[
        int, Field(ge=0, le=1_000_000, description="of one tier, the lower is short first")
    ] = 100

    @model_validator(mode="after")
    def _ordered(self) -> QueueSettings:
        if self.quota is not None and self.limit is not None and self.quota > self.limit:
            raise ValueError(f"quota ({self.quota:g}) is above limit ({self.limit:g})")
        return self

    def queue(self, name: str) -> Queue:
        """Return this queue as ledgers keep it."""
        quota, limit = (UNLIMITED if gpus is None else gpus for gpus in (self.quota, self.limit))
        return Queue(name, quota=quota, limit=limit, priority=self.priority)
