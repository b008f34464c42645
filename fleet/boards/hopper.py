"""Boards of the Hopper generation: a 1g of two memory slices holds 26 SM, 3g and 4g are nearly alike."""

from __future__ import annotations

from dataclasses import replace

from fleet.boards.eighths import board_in_eighths

_SM = (16, 26, 32, 60, 64, 132)

# Four `-lgip` and one `-lgipp` capture; the same in ResourceSlices of NVIDIA's DRA driver.
H100_80GB = board_in_eighths(
    "h100-80gb",
    ("NVIDIA H100 80GB HBM3", "NVIDIA H800"),
    "Hopper",
    sm=132,
    memory_gib=81559 / 1024,
    names_gb=(10, 20, 40, 80),
    slices_sm=_SM,
    slices_gib=(9.75, 19.625, 39.5, 79.25),
)

# The whole card: 114 multiprocessors and 81152 MiB in 7g.80gb in a log of
# kubernetes-sigs/dra-driver-nvidia-gpu (pull request 1018). Multiprocessors of the smaller slices are not
# verified.
H100_80GB_PCIE = board_in_eighths(
    "h100-80gb-pcie",
    ("NVIDIA H100 PCIe", "NVIDIA H800 PCIe"),
    "Hopper",
    sm=114,
    memory_gib=81559 / 1024,
    names_gb=(10, 20, 40, 80),
    slices_sm=(14, 14, 30, 46, 62, 114),
    slices_gib=(9.75, 19.625, 39.5, 79.25),
    seen=0,
)

# `-lgip` in harvester's test data, `-lgipp` of an H100 NVL in a technical article of Lenovo's. Another driver
# prints 10.75, 21.62 and 46.38 GiB (NVIDIA/mig-parted, pull request 101).
H100_94GB = board_in_eighths(
    "h100-94gb",
    ("NVIDIA H100 NVL", "NVIDIA H800 NVL"),
    "Hopper",
    sm=132,
    memory_gib=95830 / 1024,
    names_gb=(12, 24, 47, 94),
    slices_sm=_SM,
    slices_gib=(10.625, 21.5, 46.125, 92.625),
)

H100_94GB_SXM = replace(H100_94GB, id="h100-94gb-sxm", product_names=("NVIDIA H100 SXM5 94GB",))

# `-lgip` of a GH200 96 GB.
GH200_96GB = board_in_eighths(
    "h100-96gb-gh200",
    ("NVIDIA GH200 480GB", "NVIDIA GH200 120GB", "NVIDIA H100 96GB"),
    "Hopper",
    sm=132,
    memory_gib=97871 / 1024,
    names_gb=(12, 24, 48, 96),
    slices_sm=_SM,
    slices_gib=(11.0, 23.0, 46.5, 93.0),
)

# Names and memory of the GH200, but 78 multiprocessors in all; no capture shows those of a slice.
H20_96GB = board_in_eighths(
    "h20-96gb",
    ("NVIDIA H20",),
    "Hopper",
    sm=78,
    memory_gib=97871 / 1024,
    names_gb=(12, 24, 48, 96),
    slices_sm=(8, 8, 16, 24, 32, 78),
    slices_gib=(11.0, 23.0, 46.5, 93.0),
    seen=0,
)

# `-lgip` up to 2g in NVIDIA/mig-parted, pull request 139.
GH200_144GB = board_in_eighths(
    "gh200-144gb",
    ("NVIDIA GH200 144G HBM3e",),
    "Hopper",
    sm=132,
    memory_gib=144.0,
    names_gb=(18, 36, 72, 144),
    slices_sm=_SM,
    slices_gib=(17.5, 35.25, 70.5, 141.0),
    seen=4,
)

# `-lgip` in NVIDIA/mig-parted, issue 120; another driver prints 32.50 and 140.00 GiB.
H200_141GB = board_in_eighths(
    "h200-141gb",
    ("NVIDIA H200",),
    "Hopper",
    sm=132,
    memory_gib=143771 / 1024,
    names_gb=(18, 35, 71, 141),
    slices_sm=_SM,
    slices_gib=(16.0, 32.25, 69.5, 139.75),
)
H200_141GB_NVL = replace(H200_141GB, id="h200-141gb-nvl", product_names=("NVIDIA H200 NVL",))
