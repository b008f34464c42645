"""Tables of numbers: arrays that have a row for each thing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose fields are arrays with as many rows as there are things."""

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Self:
        """Return some of them."""
        return type(self)(*(getattr(self, each.name)[rows] for each in fields(self)))


Table = TypeVar("Table", bound=Rows)


def joined(first: Table, *others: Table) -> Table:
    """Return tables of one kind one below the other."""
    parts = (first, *others)
    return type(first)(
        *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(first))
    )
