"""What is told of a board: its multiprocessors, its memory, and how MIG may cut it.

A live board is read from its ResourceSlices into the same types. Profile names are only ever
compared: they follow the memory that a driver reports and change between boards and drivers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
        is_inferred: Multiprocessors or memory were not seen on a real card: the least that the other rows
            allow, or what its board's comment says.
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
    is_inferred: bool = field(default=False, kw_only=True)
    engines: Engines


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU product and its MIG geometry, if it has one; `InputError` if a profile cannot lie on the grid.

    Attributes:
        id: Name used in config and reports.
        product_names: Names that the driver reports for it.
        architecture: GPU generation.
        grid: Width of the placement grid in memory slices.
        compute_slices: Compute slices that instances share.
        sm: Streaming multiprocessors of the whole card; MIG may reach fewer.
        memory_gib: Memory of the whole card in GiB.
        profiles: What it can be cut into, smallest first; none on a board without MIG.
        resetless_mig_toggle: MIG mode can be switched without a GPU reset.
        decoders: Decoders that instances share, `None` where the grid runs out before they do.
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
    decoders: int | None = None

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
        if not self.profiles:
            raise InputError(
                f"no MIG profile {name}", where=f"board {self.id}", fix="use it whole: it has no MIG"
            )
        offered = ", ".join(profile.name for profile in self.profiles)
        raise InputError(f"no MIG profile {name}", where=f"board {self.id}", fix=f"use one of {offered}")
