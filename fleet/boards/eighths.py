"""The geometry that most boards share: eight memory slices, seven compute slices."""

from __future__ import annotations

from fleet.boards.geometry import Board, Engines, Profile

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

_AMPERE = (
    Engines(1, 0, 0, 0, 0),
    Engines(1, 1, 0, 1, 1),
    Engines(1, 1, 0, 0, 0),
    Engines(2, 1, 0, 0, 0),
    Engines(3, 2, 0, 0, 0),
    Engines(4, 2, 0, 0, 0),
    Engines(7, 5, 0, 1, 1),
)
_HOPPER = (
    Engines(1, 1, 0, 1, 0),
    Engines(1, 1, 0, 1, 1),
    Engines(1, 1, 0, 1, 0),
    Engines(2, 2, 0, 2, 0),
    Engines(3, 3, 0, 3, 0),
    Engines(4, 4, 0, 4, 0),
    Engines(8, 7, 0, 7, 1),
)
_BLACKWELL = (
    Engines(2, 1, 0, 1, 0),
    Engines(2, 1, 0, 1, 1),
    Engines(2, 1, 0, 1, 0),
    Engines(4, 2, 0, 2, 0),
    Engines(6, 3, 0, 3, 0),
    Engines(8, 4, 0, 4, 0),
    Engines(16, 7, 0, 7, 1),
)
_ENGINES = {
    "Ampere": _AMPERE,
    "Hopper": _HOPPER,
    "Blackwell": _BLACKWELL,
    "Blackwell Ultra": _BLACKWELL,
}


def board_in_eighths(  # noqa: PLR0913 -- a row of a table
    board_id: str,
    product_names: tuple[str, ...],
    architecture: str,
    *,
    sm: int,
    memory_gib: float,
    names_gb: tuple[int, int, int, int],
    slices_sm: tuple[int, int, int, int, int, int],
    slices_gib: tuple[float, float, float, float],
    seen: int = len(_ROWS),
) -> Board:
    """Return a board of this geometry.

    Args:
        board_id: Name used in config and reports.
        product_names: Names that the driver reports for it.
        architecture: GPU generation; it settles the engines, and whether MIG mode toggles without a reset.
        sm: Multiprocessors of the whole card.
        memory_gib: Memory of the whole card.
        names_gb: Memory in the names of one, two, four and eight memory slices.
        slices_sm: Multiprocessors of 1g, 1g of double memory, 2g, 3g, 4g and 7g.
        slices_gib: What one, two, four and eight memory slices hold.
        seen: How many profiles a real card was seen to print; figures of the larger ones are inferred.
    """
    engines, with_me = _ENGINES[architecture], (slices_sm[0], *slices_sm)
    profiles = []
    for row, (g, suffix, memory_slices, starts, gi_profile_id) in enumerate(_ROWS):
        column = _MEMORY_COLUMN[memory_slices]
        profiles.append(
            Profile(
                f"{g}g.{names_gb[column]}gb{suffix}",
                g,
                memory_slices,
                starts,
                with_me[row],
                slices_gib[column],
                gi_profile_id,
                engines[row],
                media_extension=bool(suffix),
                is_inferred=row >= seen,
            )
        )
    return Board(
        id=board_id,
        product_names=product_names,
        architecture=architecture,
        grid=8,
        compute_slices=7,
        sm=sm,
        memory_gib=memory_gib,
        profiles=tuple(profiles),
        resetless_mig_toggle=architecture != "Ampere",
    )
