"""Boards that a fleet may hold, as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fleet.boards.ampere import A30_24GB, A100_40GB, A100_80GB, A100_96GB_PG506
from fleet.boards.blackwell import B200_180GB, B300_269GB, GB200_186GB, GB300_278GB, RTX_PRO_6000_96GB
from fleet.boards.geometry import Board, Engines, Profile
from fleet.boards.hopper import (
    GH200_96GB,
    GH200_144GB,
    H20_96GB,
    H100_80GB,
    H100_80GB_PCIE,
    H100_94GB,
    H100_94GB_SXM,
    H200_141GB,
    H200_141GB_NVL,
)
from fleet.boards.uncut import (
    A10_24GB,
    A10G_24GB,
    A40_48GB,
    L4_24GB,
    L40_48GB,
    L40S_48GB,
    T4_16GB,
    V100_16GB,
    V100_32GB,
)

__all__ = ["A30_24GB", "A100_40GB", "A100_80GB", "BOARDS", "H100_80GB", "Board", "Engines", "Profile"]

BOARDS: Mapping[str, Board] = MappingProxyType(
    {
        board.id: board
        for board in (
            *(A30_24GB, A100_40GB, A100_80GB, A100_96GB_PG506),
            *(H20_96GB, H100_80GB, H100_80GB_PCIE, H100_94GB, H100_94GB_SXM),
            *(GH200_96GB, GH200_144GB, H200_141GB, H200_141GB_NVL),
            *(B200_180GB, GB200_186GB, B300_269GB, GB300_278GB, RTX_PRO_6000_96GB),
            *(A10_24GB, A10G_24GB, A40_48GB, L4_24GB, L40_48GB, L40S_48GB, T4_16GB, V100_16GB, V100_32GB),
        )
    }
)
