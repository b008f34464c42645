"""Free room on cards in use, searched by layout and not by card."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import count

from allocator.packing.cards import Card, Seat, fragmentation
from allocator.packing.problem import Stock
from fleet.mig import Layout, Placement, free_starts
from fleet.shape import SHARE_UNITS, Shape

Mix = tuple[tuple[str, float], ...]


def mix_of(cards: Sequence[Card], stock: int) -> Mix:
    """Return the chance of each MIG profile to be asked for next, as often as it is in use now."""
    asked: Counter[str] = Counter()
    for card in cards:
        if card.stock == stock:
            asked.update(seat.shape.profile for seat in card.held if seat.is_mig)
    return chances(asked)


def chances(asked: Mapping[str, int]) -> Mix:
    """Return the chance of each of what is asked for so many times to be asked for next."""
    total = sum(asked.values())
    return tuple((name, n / total) for name, n in sorted(asked.items()) if n)


class StockRoom:
    """Room on the cards of one stock. Trials change it; `fork` keeps the original.

    Args:
        stock: The cards' kind.
        cards: Cards of this stock.
        mix: Chance of each MIG profile to be asked for next.
    """

    def __init__(self, stock: Stock, cards: Sequence[Card], mix: Mix) -> None:
        self._stock, self._mix = stock, mix
        self._cut: dict[Layout, list[str]] = defaultdict(list)
        self._shared: dict[str, tuple[Seat, ...]] = {}
        self._unused: list[str] = []
        self._best: dict[tuple[Layout, str], tuple[float, int] | None] = {}
        for card in sorted(cards, key=lambda card: card.uuid, reverse=True):
            if not card.held:
                self._unused.append(card.uuid)
            elif card.layout is not None:
                self._cut[card.layout].append(card.uuid)
            elif not any(seat.shape.is_whole for seat in card.held):
                self._shared[card.uuid] = tuple(card.held)

    def fork(self, without: Collection[str] = ()) -> StockRoom:
        """Return room that can be changed without changing this, cards `without` left out."""
        twin = StockRoom(self._stock, (), self._mix)
        for layout, uuids in self._cut.items():
            twin._cut[layout] = [uuid for uuid in uuids if uuid not in without]
        twin._shared = {uuid: seats for uuid, seats in self._shared.items() if uuid not in without}
        twin._unused, twin._best = [uuid for uuid in self._unused if uuid not in without], self._best
        return twin

    def take(self, piece: Shape) -> tuple[str, Seat, bool] | None:
        """Take room for one replica; return the card, the seat and whether the card was unused before.

        Of the cards in use the one whose free room the next workloads lose least of; `None` if there is no
        room.
        """
        if piece.hundredths:
            return self._take_share(piece)
        if piece.cards > 1:
            return None  # which cards are joined is not known here
        if piece.is_whole:
            return (self._unused.pop(), Seat(piece), True) if self._unused else None
        return self._take_mig(piece)

    def _take_mig(self, shape: Shape) -> tuple[str, Seat, bool] | None:
        best: tuple[float, Layout, int] | None = None
        for layout, uuids in self._cut.items():
            found = self._start(layout, shape.profile) if uuids else None
            if found is not None and (best is None or (found[0], len(best[1])) < (best[0], len(layout))):
                best = (found[0], layout, found[1])
        if best is not None:
            _, layout, start = best
            uuid, is_new = self._cut[layout].pop(), False
        elif self._unused:
            layout, is_new = frozenset(), True
            found = self._start(layout, shape.profile)
            uuid, start = self._unused.pop(), found[1] if found is not None else 0
        else:
            return None
        self._cut[layout | {Placement(shape.profile, start)}].append(uuid)
        return uuid, Seat(shape, start), is_new

    def _start(self, layout: Layout, profile: str) -> tuple[float, int] | None:
        """Return by how much the expected fragmentation grows, and the start at which it grows least."""
        key = (layout, profile)
        if key not in self._best:
            board, mix = self._stock.board, self._mix
            before = fragmentation(board, layout, mix)
            grown = [
                (fragmentation(board, layout | {Placement(profile, start)}, mix) - before, nth, start)
                for nth, start in enumerate(free_starts(board, layout, profile))
            ]
            self._best[key] = (min(grown)[0], min(grown)[2]) if grown else None
        return self._best[key]

    def _take_share(self, piece: Shape) -> tuple[str, Seat, bool] | None:
        left = SHARE_UNITS - piece.hundredths
        is_slice = piece.hundredths in self._stock.slices
        fits = [
            (used, uuid)
            for uuid, seats in self._shared.items()
            if (used := sum(seat.shape.hundredths for seat in seats)) <= left
            and not (is_slice and any(seat.shape != piece for seat in seats))
        ]
        if not fits and not self._unused:
            return None
        uuid = max(fits)[1] if fits else self._unused.pop()
        seats = self._shared.get(uuid, ())
        start = next(start for start in count() if Seat(piece, start) not in seats)
        self._shared[uuid] = (*seats, Seat(piece, start))
        return uuid, Seat(piece, start), not fits
