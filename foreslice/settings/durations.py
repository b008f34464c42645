"""Durations as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PATTERN = r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)\s*$"


def seconds(text: object) -> float:
    """Return the seconds that `text` ("500ms", "1.5s", "10m", "2h", "7d") says; `ValueError` otherwise."""
    match = re.match(_PATTERN, text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("a duration needs a number and a unit: ms, s, m, h or d, e.g. 500ms")
    unit = match.group(2)
    return float(match.string.strip().removesuffix(unit)) * _UNITS_MS[unit] / 1000


def written(duration_s: float) -> str:
    """Return whole milliseconds as people write them ("90s", "2h", "500ms"), the opposite of `seconds`."""
    duration_ms = round(duration_s * 1000)
    unit = next(unit for unit, ms in reversed(_UNITS_MS.items()) if duration_ms % ms == 0)
    return f"{duration_ms // _UNITS_MS[unit]}{unit}"


def plausible(low: str, high: str) -> Any:  # noqa: ANN401 -- an annotation is not a type that can be written
    """Return the annotation of a duration between two, in seconds."""

    def check(text: object) -> float:
        value_s = seconds(text)
        if not seconds(low) <= value_s <= seconds(high):
            raise ValueError(f"expected between {low} and {high}; is the unit right?")
        return value_s

    description = f"a duration between {low} and {high}, e.g. {low}"
    schema = {"type": "string", "pattern": _PATTERN, "description": description}
    return Annotated[float, BeforeValidator(check), WithJsonSchema(schema)]


PLAUSIBLE = {"ttft": ("10ms", "120s"), "itl": ("1ms", "5s"), "e2e": ("10ms", "1h")}
"""Plausible limits on time to first token, on inter-token latency, and on the time from a request to its last
token; outside, someone mistook the unit."""

FirstToken = plausible(*PLAUSIBLE["ttft"])
InterToken = plausible(*PLAUSIBLE["itl"])
EndToEnd = plausible(*PLAUSIBLE["e2e"])

Pause = plausible("1s", "1d")
"""Plausible waiting times of the loop."""

Lead = plausible("1s", "5h")
"""Plausible times from decided to ready; with its age added, a forecast's 6 h still reach beyond them."""

Span = plausible("1m", "30d")
"""Plausible lengths of a time in which nothing is touched."""

History = plausible("1h", "90d")
"""Plausible lengths of history to learn from."""

Window = plausible("1m", "1d")
"""Plausible windows ahead."""

Memory = plausible("6h", "60d")
"""Plausible times over which errors are remembered."""

Apart = plausible("0s", "1h")
"""Plausible distances between moments that are learnt from."""
