"""Boards that can be cut with MIG, as data: what each profile holds and where it may start.

A live board is read from its ResourceSlices into the same types. Profile names are only ever
compared: they follow the memory that a driver reports and change between boards and drivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fleet.errors import InputError


@dataclass(frozen=True, slots=True)
class Engines:
    """Fixed-function engines of an instance, in units."""

    copy: int
    decoder: int
    encoder: int
    jpeg: int
    ofa: int


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of GPU instance that a board offers.

    Attributes:
        name: As the device prints it, e.g. `"3g.40gb"`; never read for meaning.
        compute_slices: Compute slices held (the "g").
        memory_slices: Grid units covered, side by side.
        starts: Grid units at which an instance may begin.
        sm: Streaming multiprocessors; not always in proportion to the compute slices.
        memory_gib: Memory in GiB.
        gi_profile_id: Id that `nvidia-smi mig -lgip` prints; part of DRA device names.
        media_extension: Holds the media extension, of which a board has one.
        engines: Fixed-function engines.
    """

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    sm: int
    memory_gib: float
    gi_profile_id: int
    media_extension: bool = field(default=False, kw_only=True)
    engines: Engines


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU product and its MIG geometry; `InputError` if a profile cannot lie on the grid.

    Attributes:
        id: Name used in config and reports.
        product_names: Names that the driver reports for it.
        architecture: GPU generation.
        grid: Width of the placement grid in memory slices.
        compute_slices: Compute slices that instances share.
        sm: Streaming multiprocessors of the whole card; MIG may reach fewer.
        memory_gib: Memory of the whole card in GiB.
        profiles: What it can be cut into, smallest first.
        resetless_mig_toggle: MIG mode can be switched without a GPU reset.
    """

    id: str
    product_names: tuple[str, ...]
    architecture: str
    grid: int
    compute_slices: int
    sm: int
    memory_gib: float
    profiles: tuple[Profile, ...]
    resetless_mig_toggle: bool

    def __post_init__(self) -> None:
        names = [profile.name for profile in self.profiles]
        for profile in self.profiles:
            last_start = self.grid - profile.memory_slices
            if names.count(profile.name) > 1:
                problem = f"profile {profile.name} is given twice"
            elif profile.memory_slices < 1 or profile.compute_slices < 0:
                problem = f"profile {profile.name} covers no memory slice or a negative compute slice"
            elif not all(0 <= start <= last_start for start in profile.starts):
                problem = f"profile {profile.name} may start outside 0..{last_start}"
            else:
                continue
            raise InputError(problem, where=f"board {self.id}", fix="correct the geometry")

    def __hash__(self) -> int:
        # Layouts are cached by board; hashing every profile at each look-up would cost more than it saves.
        return hash(self.id)

    def profile(self, name: str) -> Profile:
        """Return the profile called `name`; `InputError` naming those that exist if there is none."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        offered = ", ".join(profile.name for profile in self.profiles)
        raise InputError(f"no MIG profile {name}", where=f"board {self.id}", fix=f"use one of {offered}")


# Columns of the tables: name, compute slices, memory slices, starts, SM, GiB, nvidia-smi id,
# Engines(copy, decoder, encoder, jpeg, ofa). GiB are the multiples of 64 MiB behind the two decimals
# that nvidia-smi prints; newer drivers report up to 0.25 GiB more or less.
#
# Starts on 8-wide boards: `nvidia-smi mig -lgipp` on A100 and H100, several independent captures.
# Unit 7 can only be covered by an instance that begins at 4, 6 or 0: seven 1g leave it idle.
_SINGLE = (0, 1, 2, 3, 4, 5, 6)
_DOUBLE = (0, 2, 4, 6)
_2G = (0, 2, 4)
_3G = (0, 4)
_FIRST = (0,)
_QUARTERS = (0, 1, 2, 3)

# Confidence: verified (printed by a real card: `-lgip`, `-lgipp` in Summer-Lo/Docker_configuration),
# engines and 2g.12gb+me from the MIG user guide; the id of 2g.12gb+me is not verified. One old driver
# printed this card with a grid of 8.
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
        Profile("4g.24gb", 4, 4, _FIRST, 56, 23.5, 0, Engines(4, 4, 0, 1, 1)),
    ),
    resetless_mig_toggle=False,
)

# Confidence: verified (MiB, SM, engines, starts: NVIDIA/go-nvml pkg/nvml/mock A100_SXM4_40GB; ids: `-lgip`
# captures in harvester's test data). In MIG mode an A100 reaches 98 of its 108 SM.
A100_40GB = Board(
    id="a100-40gb",
    product_names=(
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA A800-SXM4-40GB",
        "NVIDIA A800 40GB PCIe",
    ),
    architecture="Ampere",
    grid=8,
    compute_slices=7,
    sm=108,
    memory_gib=40.0,
    profiles=(
        Profile("1g.5gb", 1, 1, _SINGLE, 14, 4.75, 19, Engines(1, 0, 0, 0, 0)),
        Profile("1g.5gb+me", 1, 1, _SINGLE, 14, 4.75, 20, Engines(1, 1, 0, 1, 1), media_extension=True),
        Profile("1g.10gb", 1, 2, _DOUBLE, 14, 9.625, 15, Engines(1, 1, 0, 0, 0)),
        Profile("2g.10gb", 2, 2, _2G, 28, 9.625, 14, Engines(2, 1, 0, 0, 0)),
        Profile("3g.20gb", 3, 4, _3G, 42, 19.5, 9, Engines(3, 2, 0, 0, 0)),
        Profile("4g.20gb", 4, 4, _FIRST, 56, 19.5, 5, Engines(4, 2, 0, 0, 0)),
        Profile("7g.40gb", 7, 8, _FIRST, 98, 39.25, 0, Engines(7, 5, 0, 1, 1)),
    ),
    resetless_mig_toggle=False,
)

# Confidence: verified (three `-lgip` captures; starts: go-nvml mock A100_SXM4_80GB), except the decoder of
# 1g.20gb: the mock has one, captures print none.
A100_80GB = Board(
    id="a100-80gb",
    product_names=(
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA A100-PCIE-80GB",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA A800-SXM4-80GB",
        "NVIDIA A800 80GB PCIe",
    ),
    architecture="Ampere",
    grid=8,
    compute_slices=7,
    sm=108,
    memory_gib=80.0,
    profiles=(
        Profile("1g.10gb", 1, 1, _SINGLE, 14, 9.5, 19, Engines(1, 0, 0, 0, 0)),
        Profile("1g.10gb+me", 1, 1, _SINGLE, 14, 9.5, 20, Engines(1, 1, 0, 1, 1), media_extension=True),
        Profile("1g.20gb", 1, 2, _DOUBLE, 14, 19.5, 15, Engines(1, 1, 0, 0, 0)),
        Profile("2g.20gb", 2, 2, _2G, 28, 19.5, 14, Engines(2, 1, 0, 0, 0)),
        Profile("3g.40gb", 3, 4, _3G, 42, 39.25, 9, Engines(3, 2, 0, 0, 0)),
        Profile("4g.40gb", 4, 4, _FIRST, 56, 39.25, 5, Engines(4, 2, 0, 0, 0)),
        Profile("7g.80gb", 7, 8, _FIRST, 98, 79.0, 0, Engines(7, 5, 0, 1, 1)),
    ),
    resetless_mig_toggle=False,
)

# Confidence: verified (four `-lgip` and one `-lgipp` capture; the same in ResourceSlices of NVIDIA's DRA
# driver). These are the SXM5 figures. The PCIe card has 114 SM and other SM per slice, so its product
# names are left out. A 1g.20gb holds 26 SM, not 16; 3g and 4g are nearly alike.
H100_80GB = Board(
    id="h100-80gb",
    product_names=("NVIDIA H100 80GB HBM3",),
    architecture="Hopper",
    grid=8,
    compute_slices=7,
    sm=132,
    memory_gib=81559 / 1024,
    profiles=(
        Profile("1g.10gb", 1, 1, _SINGLE, 16, 9.75, 19, Engines(1, 1, 0, 1, 0)),
        Profile("1g.10gb+me", 1, 1, _SINGLE, 16, 9.75, 20, Engines(1, 1, 0, 1, 1), media_extension=True),
        Profile("1g.20gb", 1, 2, _DOUBLE, 26, 19.625, 15, Engines(1, 1, 0, 1, 0)),
        Profile("2g.20gb", 2, 2, _2G, 32, 19.625, 14, Engines(2, 2, 0, 2, 0)),
        Profile("3g.40gb", 3, 4, _3G, 60, 39.5, 9, Engines(3, 3, 0, 3, 0)),
        Profile("4g.40gb", 4, 4, _FIRST, 64, 39.5, 5, Engines(4, 4, 0, 4, 0)),
        Profile("7g.80gb", 7, 8, _FIRST, 132, 79.25, 0, Engines(8, 7, 0, 7, 1)),
    ),
    resetless_mig_toggle=True,
)

BOARDS: Mapping[str, Board] = MappingProxyType(
    {board.id: board for board in (A30_24GB, A100_40GB, A100_80GB, H100_80GB)}
)
