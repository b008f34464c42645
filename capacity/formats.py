"""Number formats of weights, and what they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

TABLE_BYTES = 2.0
"""Bytes of an element of the token tables (embedding and output head), which no recipe quantises."""

KV_BYTES: Mapping[str, float] = MappingProxyType({"bf16": 2.0, "fp8": 1.0})
"""Bytes of an element of the KV cache, by the engine's name for its format."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the weights of a model are stored and multiplied.

    Attributes:
        name: Ending of the names of models in config.
        bytes_per_weight: Bytes of a weight outside the token tables, scales included.
        is_fp8: Whether activations are brought to 8-bit floats too, so that such units multiply them.
    """

    name: str
    bytes_per_weight: float
    is_fp8: bool = False


def grouped(name: str, bits: int, group: int) -> Format:
    """Return a format of few bits, where each group of weights shares a 16-bit scale and a zero point."""
    return Format(name, (bits + (16 + bits) / group) / 8)


# AWQ and GPTQ: groups of 128, the default of both. Their weights are unpacked to 16 bits before they
# multiply.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        each.name: each
        for each in (
            Format("bf16", 2.0),
            Format("fp16", 2.0),
            Format("fp8", 1.0, is_fp8=True),
            grouped("awq", 4, 128),
            grouped("gptq", 4, 128),
        )
    }
)
