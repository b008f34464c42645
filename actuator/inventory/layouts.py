"""MIG layouts as mig-parted's configuration names them, checked against the geometry of the board.

NVIDIA/mig-parted api/spec/v1/spec.go. `--valid-config` of the tool itself checks the syntax only, so that
this is the only check before a card is cleared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from actuator.manifest import Json
from fleet.boards import Board
from fleet.errors import InputError
from fleet.mig import realise


@dataclass(frozen=True, slots=True)
class CardLayout:
    """What a configuration cuts one card into.

    Attributes:
        index: Index of the card in its node.
        counts: Instances by profile; empty where the card stays whole.
        is_whole: MIG mode is off.
        placements: Where the instances may lie; `None` if they cannot all exist at once.
        free_compute_slices: Compute slices that no instance holds, 0 on a whole card.
    """

    index: int
    counts: Mapping[str, int]
    is_whole: bool
    placements: tuple[str, ...] | None
    free_compute_slices: int

    @property
    def is_legal(self) -> bool:
        """Whether the instances can all exist at once."""
        return self.placements is not None


def card_layouts(entries: list[Json], gpus: int, board: Board) -> tuple[CardLayout, ...]:
    """Return what a named configuration makes of a node with so many cards; later entries win.

    Args:
        entries: The list under the configuration's name in `mig-configs`.
        gpus: Number of cards of the node.
        board: What they are.
    """
    found: dict[int, CardLayout] = {}
    for entry in entries:
        for index in _indices(entry["devices"], gpus):
            found[index] = _layout(index, entry, board)
    return tuple(found[index] for index in sorted(found))


def _indices(devices: object, gpus: int) -> range | list[int]:
    if devices == "all":
        return range(gpus)
    return devices if isinstance(devices, list) else []


def _layout(index: int, entry: Json, board: Board) -> CardLayout:
    if not entry["mig-enabled"]:
        return CardLayout(index, {}, is_whole=True, placements=(), free_compute_slices=0)
    counts: dict[str, int] = entry.get("mig-devices") or {}
    try:
        layout = realise(board, counts)
    except InputError:  # a profile that the board does not have
        layout = None
    if layout is None:
        return CardLayout(index, counts, is_whole=False, placements=None, free_compute_slices=0)
    held = sum(board.profile(name).compute_slices * count for name, count in counts.items())
    return CardLayout(
        index,
        counts,
        is_whole=False,
        placements=tuple(str(placement) for placement in sorted(layout, key=lambda p: p.start)),
        free_compute_slices=board.compute_slices - held,
    )


def advertised(layouts: tuple[CardLayout, ...]) -> tuple[int, dict[str, int]]:
    """Return how many whole cards and which instances layouts come to, as allocatable should show them."""
    counts: Counter[str] = Counter()
    for layout in layouts:
        counts.update(layout.counts)
    return sum(layout.is_whole for layout in layouts), dict(sorted(counts.items()))
