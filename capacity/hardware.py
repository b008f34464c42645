"""How fast a whole card reads memory and multiplies, as data sheets say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fleet.errors import InputError


@dataclass(frozen=True, slots=True)
class Speed:
    """Peak figures of a whole card.

    Attributes:
        bandwidth_tb_per_s: Memory bandwidth, 10^12 bytes/s.
        bf16_tflops: Dense bf16 tensor throughput, 10^12 operations/s.
    """

    bandwidth_tb_per_s: float
    bf16_tflops: float


# Data sheets of the vendor; A100 and H100 agree with the system files of ai-dynamo/aiconfigurator
# (aic-core/src/aiconfigurator_core/systems). The id a100-80gb stands for the SXM card (2.039 TB/s) and
# the PCIe card (1.935 TB/s): the slower one is meant, so that neither is overrated.
SPEEDS: Mapping[str, Speed] = MappingProxyType(
    {
        "a30-24gb": Speed(0.933, 165.0),
        "a100-40gb": Speed(1.555, 312.0),
        "a100-80gb": Speed(1.935, 312.0),
        "h100-80gb": Speed(3.35, 989.0),
    }
)


def speed_of(board: str) -> Speed:
    """Return the figures of the board with this id; `InputError` naming those known if it is not."""
    if board not in SPEEDS:
        raise InputError(
            f"nothing is known about the speed of board {board}",
            where="capacity hardware table",
            fix=f"use one of {', '.join(sorted(SPEEDS))}",
        )
    return SPEEDS[board]
