"""The geometry that most boards share: eight memory slices, seven compute slices."""

from __future__ import annotations

from fleet.boards.geometry import Engines, Profile

# Starts: `nvidia-smi mig -lgipp` on A100 and H100, several independent captures. Unit 7 can only be covered
# by an instance that begins at 4, 6 or 0: seven 1g leave it idle. Columns: compute slices, suffix, memory
# slices, starts, id that `nvidia-smi mig -lgip` prints.
_ROWS = (
    (1, "", 1, (0, 1, 2, 3, 4, 5, 6), 19),
    (1, "+me", 1, (0, 1, 2, 3, 4, 5, 6), 20),
    (1, "", 2, (0, 2, 4, 6), 15),
    (2, "", 2, (0, 2, 4), 14),
    (3, "", 4, (0, 4), 9),
    (4, "", 4, (0,), 5),
    (7, "", 8, (0,), 0),
)

_MEMORY_COLUMN = {1: 0, 2: 1, 4: 2, 8: 3}

AMPERE = (
    Engines(1, 0, 0, 0, 0),
    Engines(1, 1, 0, 1, 1),
    Engines(1, 1, 0, 0, 0),
    Engines(2, 1, 0, 0, 0),
    Engines(3, 2, 0, 0, 0),
    Engines(4, 2, 0, 0, 0),
    Engines(7, 5, 0, 1, 1),
)
HOPPER = (
    Engines(1, 1, 0, 1, 0),
    Engines(1, 1, 0, 1, 1),
    Engines(1, 1, 0, 1, 0),
    Engines(2, 2, 0, 2, 0),
    Engines(3, 3, 0, 3, 0),
    Engines(4, 4, 0, 4, 0),
    Engines(8, 7, 0, 7, 1),
)
BLACKWELL = (
    Engines(2, 1, 0, 1, 0),
    Engines(2, 1, 0, 1, 1),
    Engines(2, 1, 0, 1, 0),
    Engines(4, 2, 0, 2, 0),
    Engines(6, 3, 0, 3, 0),
    Engines(8, 4, 0, 4, 0),
    Engines(16, 7, 0, 7, 1),
)


def eighths(
    names_gb: tuple[int, int, int, int],
    sm: tuple[int, int, int, int, int, int],
    memory_gib: tuple[float, float, float, float],
    engines: tuple[Engines, ...],
    *,
    seen: int = len(_ROWS),
) -> tuple[Profile, ...]:
    """Return the profiles of a board of this geometry, smallest first.

    Args:
        names_gb: Memory in the names of one, two, four and eight memory slices.
        sm: Multiprocessors of 1g, 1g of double memory, 2g, 3g, 4g and 7g.
        memory_gib: What one, two, four and eight memory slices hold.
        engines: Fixed-function engines of the seven profiles.
        seen: How many profiles a real card was seen to print; figures of the larger ones are inferred.
    """
    profiles = []
    with_me = (sm[0], *sm)
    for row, (g, suffix, memory_slices, starts, gi_profile_id) in enumerate(_ROWS):
        column = _MEMORY_COLUMN[memory_slices]
        profiles.append(
            Profile(
                f"{g}g.{names_gb[column]}gb{suffix}",
                g,
                memory_slices,
                starts,
                with_me[row],
                memory_gib[column],
                gi_profile_id,
                engines[row],
                media_extension=bool(suffix),
                is_inferred=row >= seen,
            )
        )
    return tuple(profiles)
