"""Boards of the Ampere generation that MIG can cut.

GiB are the multiples of 64 MiB behind the two decimals that nvidia-smi prints; newer drivers report up to
0.25 GiB more or less. In MIG mode an A100 reaches 98 of its 108 multiprocessors.
"""

from __future__ import annotations

from fleet.boards.eighths import board_in_eighths
from fleet.boards.geometry import Board, Engines, Profile

_A100_SM = (14, 14, 28, 42, 56, 98)
_QUARTERS = (0, 1, 2, 3)

# Printed by a real card: `-lgip`, `-lgipp` in Summer-Lo/Docker_configuration; engines and 2g.12gb+me from the
# MIG user guide; the id of 2g.12gb+me is not verified. One old driver printed this card with a grid of 8.
A30_24GB = Board(
    id="a30-24gb",
    product_names=("NVIDIA A30",),
    architecture="Ampere",
    grid=4,
    compute_slices=4,
    sm=56,
    memory_gib=24.0,
    profiles=(
        Profile("1g.6gb", 1, 1, _QUARTERS, 14, 5.8125, 14, Engines(1, 0, 0, 0, 0)),
        Profile("1g.6gb+me", 1, 1, _QUARTERS, 14, 5.8125, 21, Engines(1, 1, 0, 1, 1), media_extension=True),
        Profile("2g.12gb", 2, 2, (0, 2), 28, 11.6875, 5, Engines(2, 2, 0, 0, 0)),
        Profile("2g.12gb+me", 2, 2, (0, 2), 28, 11.6875, 6, Engines(2, 2, 0, 1, 1), media_extension=True),
        Profile("4g.24gb", 4, 4, (0,), 56, 23.5, 0, Engines(4, 4, 0, 1, 1)),
    ),
    resetless_mig_toggle=False,
)

# MiB, multiprocessors, engines, starts: NVIDIA/go-nvml pkg/nvml/mock A100_SXM4_40GB; ids: `-lgip` captures in
# harvester's test data.
A100_40GB = board_in_eighths(
    "a100-40gb",
    (
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA A800-SXM4-40GB",
        "NVIDIA A800 40GB PCIe",
    ),
    "Ampere",
    sm=108,
    memory_gib=40.0,
    names_gb=(5, 10, 20, 40),
    slices_sm=_A100_SM,
    slices_gib=(4.75, 9.625, 19.5, 39.25),
)

# Three `-lgip` captures; starts: go-nvml mock A100_SXM4_80GB. The mock gives 1g.20gb a decoder, captures
# print none.
A100_80GB = board_in_eighths(
    "a100-80gb",
    (
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA A100-PCIE-80GB",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA A800-SXM4-80GB",
        "NVIDIA A800 80GB PCIe",
    ),
    "Ampere",
    sm=108,
    memory_gib=80.0,
    names_gb=(10, 20, 40, 80),
    slices_sm=_A100_SM,
    slices_gib=(9.5, 19.5, 39.25, 79.0),
)

# Only names and counts are public (NVIDIA/gpu-operator, default MIG configuration): multiprocessors are
# those of an A100, memory is the nominal size less what an A100-80GB keeps for itself.
A100_96GB_PG506 = board_in_eighths(
    "a100-96gb-pg506",
    ("PG506-232 (96GB)",),
    "Ampere",
    sm=108,
    memory_gib=96.0,
    names_gb=(12, 24, 48, 96),
    slices_sm=_A100_SM,
    slices_gib=(11.375, 23.375, 47.0, 94.75),
    seen=0,
)
