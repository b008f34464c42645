"""Durations as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)\s*$"


def seconds(text: object) -> float:
    """Return the seconds that `text` ("500ms", "1.5s", "10m", "2h", "7d") says; `ValueError` otherwise."""
    match = re.match(_PATTERN, text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("a duration needs a number and a unit: ms, s, m, h or d, e.g. 500ms")
    unit = match.group(2)
    return float(str(text).strip().removesuffix(unit)) * _UNITS_S[unit]


def written(duration_s: float) -> str:
    """Return a duration the way people write it, the opposite of `seconds`."""
    for unit, unit_s in reversed(_UNITS_S.items()):
        if duration_s >= unit_s:
            return f"{duration_s / unit_s:g}{unit}"
    return f"{duration_s / 0.001:g}ms"


def _plausible(low: str, high: str) -> Any:  # noqa: ANN401 -- an annotation is not a type that can be written
    def check(text: object) -> float:
        value_s = seconds(text)
        if not seconds(low) <= value_s <= seconds(high):
            raise ValueError(f"expected between {low} and {high}; is the unit right?")
        return value_s

    description = f"a duration between {low} and {high}, e.g. {low}"
    schema = {"type": "string", "pattern": _PATTERN, "description": description}
    return Annotated[float, BeforeValidator(check), WithJsonSchema(schema)]


FirstToken = _plausible("10ms", "120s")
"""Plausible limits on time to first token; outside, someone mistook the unit."""

InterToken = _plausible("1ms", "5s")
"""Plausible limits on inter-token latency."""

Pause = _plausible("1s", "1d")
"""Plausible waiting times of the loop."""

History = _plausible("1h", "90d")
"""Plausible lengths of history to learn from."""
