"""Boards of the Blackwell generation.

Rows above 2g have not been seen on a real card: a larger slice is taken to hold the multiprocessors of as
many 1g as its name has, and the memory of its quarters. On every board that was seen it holds at least that.
"""

from __future__ import annotations

from fleet.boards.eighths import board_in_eighths
from fleet.boards.geometry import Board, Engines, Profile

# `-lgip` up to 2g in NVIDIA/mig-parted, pull requests 166 and 187; that 3g covers four memory slices, in
# kubernetes-sigs/dra-driver-nvidia-gpu. Another driver prints 20.50 GiB for the 1g.
B200_180GB = board_in_eighths(
    "b200-180gb",
    ("NVIDIA B200",),
    "Blackwell",
    sm=148,
    memory_gib=183359 / 1024,
    names_gb=(23, 45, 90, 180),
    slices_sm=(18, 30, 36, 54, 72, 148),
    slices_gib=(22.0, 44.25, 88.5, 177.0),
    seen=4,
)

# `-lgip` up to 2g in NVIDIA/mig-parted, issue 227. Boards from before production named their slices
# otherwise.
GB200_186GB = board_in_eighths(
    "gb200-186gb",
    ("NVIDIA GB200",),
    "Blackwell",
    sm=152,
    memory_gib=186.0,
    names_gb=(23, 47, 93, 186),
    slices_sm=(18, 32, 38, 54, 72, 152),
    slices_gib=(22.0, 45.5, 91.0, 182.0),
    seen=4,
)

# Only names and counts are public (NVIDIA/gpu-operator, default MIG configuration): multiprocessors as on
# B200 and GB200, memory their share of the nominal size.
B300_269GB = board_in_eighths(
    "b300-269gb",
    ("NVIDIA B300",),
    "Blackwell Ultra",
    sm=148,
    memory_gib=269.0,
    names_gb=(34, 67, 135, 269),
    slices_sm=(18, 30, 36, 54, 72, 148),
    slices_gib=(32.75, 66.0, 132.0, 264.0),
    seen=0,
)
GB300_278GB = board_in_eighths(
    "gb300-278gb",
    ("NVIDIA GB300",),
    "Blackwell Ultra",
    sm=152,
    memory_gib=278.0,
    names_gb=(35, 70, 139, 278),
    slices_sm=(18, 32, 38, 54, 72, 152),
    slices_gib=(34.0, 68.25, 136.5, 273.0),
    seen=0,
)

_QUARTERS = (0, 3, 6, 9)
_HALVES = (0, 6)

# `-lgip` and `-lgipp` of a Server Edition in a public walkthrough; engines in the MIG user guide. Three grid
# units make a quarter; one driver printed it so, an earlier one may print a grid of 4. A +me.all takes all
# four decoders, so that only -me instances fit beside it: the one board on which the grid does not settle
# that.
RTX_PRO_6000_96GB = Board(
    id="rtx-pro-6000-96gb",
    product_names=(
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    ),
    architecture="Blackwell (GB202)",
    grid=12,
    compute_slices=4,
    sm=188,
    memory_gib=97887 / 1024,
    profiles=(
        Profile("1g.24gb", 1, 3, _QUARTERS, 46, 23.625, 14, Engines(1, 1, 1, 1, 0)),
        Profile("1g.24gb+me", 1, 3, _QUARTERS, 46, 23.625, 21, Engines(1, 1, 1, 1, 1), media_extension=True),
        Profile("1g.24gb+gfx", 1, 3, _QUARTERS, 46, 23.625, 47, Engines(1, 1, 1, 1, 0)),
        Profile(
            "1g.24gb+me.all", 1, 3, _QUARTERS, 46, 23.625, 65, Engines(1, 4, 4, 4, 1), media_extension=True
        ),
        Profile("1g.24gb-me", 1, 3, _QUARTERS, 46, 23.625, 67, Engines(1, 0, 0, 0, 0)),
        Profile("2g.48gb", 2, 6, _HALVES, 94, 47.375, 5, Engines(2, 2, 2, 2, 0)),
        Profile("2g.48gb+gfx", 2, 6, _HALVES, 94, 47.375, 35, Engines(2, 2, 2, 2, 0)),
        Profile(
            "2g.48gb+me.all", 2, 6, _HALVES, 94, 47.375, 64, Engines(2, 4, 4, 4, 1), media_extension=True
        ),
        Profile("2g.48gb-me", 2, 6, _HALVES, 94, 47.375, 66, Engines(2, 0, 0, 0, 0)),
        Profile("4g.96gb", 4, 12, (0,), 188, 95.125, 0, Engines(4, 4, 4, 4, 1)),
        Profile("4g.96gb+gfx", 4, 12, (0,), 188, 95.125, 32, Engines(4, 4, 4, 4, 1)),
    ),
    resetless_mig_toggle=True,
    decoders=4,
)
