"""How fast a whole card reads memory, multiplies and talks to its neighbours, as data sheets say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fleet.boards import BOARDS, Board
from fleet.errors import InputError


@dataclass(frozen=True, slots=True)
class Speed:
    """Peak figures of a whole card.

    Attributes:
        bandwidth_tb_per_s: Memory bandwidth, 10^12 bytes/s.
        bf16_tflops: Dense 16-bit tensor throughput, 10^12 operations/s (fp16 where a card has no bf16).
        fp8_tflops: The same at 8-bit floats; that of 16 bit on cards that do not multiply them.
        nvlink_gb_per_s: NVLink bandwidth in one direction, 10^9 bytes/s, 0 without.
        nvlink_cards: Cards of one NVLink domain inside a node, 1 without.
    """

    bandwidth_tb_per_s: float
    bf16_tflops: float
    fp8_tflops: float
    nvlink_gb_per_s: float
    nvlink_cards: int


# Data sheets of the vendor (dense, without sparsity); A100, H100, H200 and B200 agree with the system files
# of ai-dynamo/aiconfigurator (aic-core/src/aiconfigurator_core/systems). Where one id stands for several
# cards, the slowest is meant, so that none is overrated: a100-80gb 1.935 of 2.039 TB/s, h100-96gb-gh200 3.35
# of 4.0 TB/s, RTX PRO 6000 1.597 of 1.792 TB/s (Server Edition) and 438 of 504 TFLOPS (Max-Q), v100 112 of
# 125 TFLOPS. NVLink domains are those of the HGX board: a PCIe card of the same id reaches the one that a
# bridge joins it to.
SPEEDS: Mapping[str, Speed] = MappingProxyType(
    {
        "a30-24gb": Speed(0.933, 165, 165, 100, 2),
        "a100-40gb": Speed(1.555, 312, 312, 300, 8),
        "a100-80gb": Speed(1.935, 312, 312, 300, 8),
        "a100-96gb-pg506": Speed(1.935, 312, 312, 300, 8),
        "h20-96gb": Speed(4.0, 148, 296, 450, 8),
        "h100-80gb": Speed(3.35, 989, 1979, 450, 8),
        "h100-80gb-pcie": Speed(2.0, 756, 1513, 300, 2),
        "h100-94gb": Speed(3.9, 835, 1670, 300, 2),
        "h100-94gb-sxm": Speed(2.4, 989, 1979, 450, 8),
        "h100-96gb-gh200": Speed(3.35, 989, 1979, 450, 1),
        "gh200-144gb": Speed(4.9, 989, 1979, 450, 1),
        "h200-141gb": Speed(4.8, 989, 1979, 450, 8),
        "h200-141gb-nvl": Speed(4.8, 835, 1670, 450, 4),
        "b200-180gb": Speed(7.7, 2250, 4500, 900, 8),
        "gb200-186gb": Speed(8.0, 2500, 5000, 900, 4),
        "b300-269gb": Speed(7.7, 2250, 4500, 900, 8),
        "gb300-278gb": Speed(8.0, 2500, 5000, 900, 4),
        "rtx-pro-6000-96gb": Speed(1.597, 438, 877, 0, 1),
        "a10-24gb": Speed(0.600, 125, 125, 0, 1),
        "a10g-24gb": Speed(0.600, 70, 70, 0, 1),
        "a40-48gb": Speed(0.696, 149.7, 149.7, 56.25, 2),
        "l4-24gb": Speed(0.300, 121, 242, 0, 1),
        "l40-48gb": Speed(0.864, 181, 362, 0, 1),
        "l40s-48gb": Speed(0.864, 362, 733, 0, 1),
        "t4-16gb": Speed(0.320, 65, 65, 0, 1),
        "v100-16gb": Speed(0.900, 112, 112, 150, 8),
        "v100-32gb": Speed(0.900, 112, 112, 150, 8),
    }
)

_BY_PRODUCT = {name: SPEEDS[board.id] for board in BOARDS.values() for name in board.product_names}


def is_known(board: Board) -> bool:
    """Return whether the figures of a board are known."""
    return board.id in SPEEDS or any(name in _BY_PRODUCT for name in board.product_names)


def speed_of(board: Board) -> Speed:
    """Return the figures of a board, known by its id or a product name.

    A board as a driver published it may have another id and geometry than the known one of its product; it is
    as fast. `InputError` naming the boards that are known if neither is.
    """
    speed = SPEEDS.get(board.id)
    products = (_BY_PRODUCT[name] for name in board.product_names if name in _BY_PRODUCT)
    speed = speed or next(products, None)
    if speed is None:
        raise InputError(
            f"nothing is known about the speed of board {board.id}",
            where="capacity hardware table",
            fix=f"use one of {', '.join(sorted(SPEEDS))}",
        )
    return speed
