"""Which version serves: a row of numbered files, of which the last one counts and none is ever changed.

To promote is to create the next number, which only one of two can do: the atomic pointer with a precondition
on its generation that stores can offer without a lock (Delta Lake's log of versions works alike: Armbrust et
al., VLDB 2020).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fleet.codec import decode, encode
from fleet.errors import ConflictError
from predictor.registry.files import Files

FOLDER = "promotions"
NOBODY = 0
"""Generation before anything was promoted."""

_MOST_BYTES = 10_000
_NUMBERED = re.compile(r"(\d{6,})\.json")


@dataclass(frozen=True, slots=True)
class Promotion:
    """One generation.

    Attributes:
        generation: Its number.
        version: Which version serves from here on, `None` = none.
        manifest_sha256: SHA-256 of its manifest, empty for none.
        before: The generation that a rollback returns to.
        at_s: When, seconds since the epoch.
    """

    generation: int
    version: str | None
    manifest_sha256: str
    before: int
    at_s: int


UNPROMOTED = Promotion(NOBODY, None, "", NOBODY, 0)


class Pointer:
    """The generations of one model, newest last."""

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._folder = f"{name}/{FOLDER}"
        self._where = f"model {name}"

    def newest_number(self) -> int:
        """Return the number of the newest generation, `NOBODY` before any."""
        found = (_NUMBERED.fullmatch(name) for name in self._files.names(self._folder))
        return max((int(match[1]) for match in found if match), default=NOBODY)

    def now(self) -> Promotion:
        """Return the generation that counts: the newest one that can be read."""
        for number in range(self.newest_number(), NOBODY, -1):
            if (read := self.read(number)) is not None:
                return read
        return UNPROMOTED

    def back(self, start: Promotion) -> Iterator[Promotion]:
        """Yield what rollbacks return to one after the other, `UNPROMOTED` last."""
        while start.generation != NOBODY:
            start = self.read(start.before) or UNPROMOTED
            yield start

    def read(self, number: int) -> Promotion | None:
        """Return a generation, `None` where it is not there or is not what was written."""
        data = self._files.read(self._path(number), _MOST_BYTES)
        if data is None:
            return None
        try:
            found: Any = decode(Promotion, json.loads(data))
        except (ValueError, TypeError, RecursionError):
            return None
        is_sound = found.generation == number and NOBODY <= found.before < number
        return found if is_sound else None

    def append(self, promotion: Promotion) -> None:
        """Make a generation count; `ConflictError` if another one has its number by now."""
        data = json.dumps(encode(promotion)).encode()
        if not self._files.create(self._path(promotion.generation), data):
            other = self.read(promotion.generation)
            version = other.version if other is not None and other.version is not None else "no version"
            raise ConflictError(
                f"{self._where}: {version} was made champion meanwhile (generation {promotion.generation}); "
                "look at it and promote again"
            )

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number:06d}.json"
