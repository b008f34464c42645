"""Which board a card is: a known one where what the driver publishes agrees with it, else as published."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fleet.boards import BOARDS, Board, Engines, Profile

_GIB = 1 << 30
_MEMORY_TOLERANCE = 0.02
# The driver prints it in no attribute, and nothing here needs it.
_NO_ID = -1


@dataclass(frozen=True, slots=True)
class Offer:
    """What the driver publishes of one device, as far as it tells geometry.

    Attributes:
        profile: MIG profile, `None` for the whole card.
        memory_slices: Memory slices that it occupies, empty if the driver does not say.
        memory: Bytes.
        sm: Streaming multiprocessors, 0 if the driver does not say.
        engines: Fixed-function engines.
        product: Product name of the card.
        architecture: GPU generation.
        leaves_room: Whoever has it may not be the only one: other claims are given parts of it.
    """

    profile: str | None
    memory_slices: frozenset[int]
    memory: int
    sm: int
    engines: Engines
    product: str
    architecture: str
    leaves_room: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """All that the driver publishes of one card.

    Attributes:
        uuid: UUID of the card.
        offers: Its devices, in published order.
        sm: Multiprocessors that its devices share (the counter), 0 without counters.
        memory: Bytes that its devices share, 0 without counters.
    """

    uuid: str
    offers: tuple[Offer, ...]
    sm: int
    memory: int

    @property
    def product(self) -> str:
        """Product name of the card."""
        return self.offers[0].product

    def whole(self) -> Offer | None:
        """Return the uncut card as a device, `None` where it is not on offer."""
        return next((offer for offer in self.offers if offer.profile is None), None)

    def totals(self) -> tuple[int, int]:
        """Return multiprocessors and bytes of the card; of a static layout, what it is cut into."""
        whole = self.whole()
        if self.sm:
            return self.sm, self.memory
        if whole is not None:
            return whole.sm, whole.memory
        return sum(offer.sm for offer in self.offers), sum(offer.memory for offer in self.offers)


def known_board(card: Card) -> Board | None:
    """Return the board of this product name, `None` if there is none or what is published contradicts it."""
    board = next((board for board in BOARDS.values() if card.product in board.product_names), None)
    if board is not None and all(_agrees(board, offer) for offer in card.offers):
        return board
    return None


def published_board(cards: Sequence[Card]) -> Board:
    """Return the board that cards of one product show; static layouts show only what was cut so far."""
    offers = [offer for card in cards for offer in card.offers]
    instances = [offer for offer in offers if offer.profile is not None]
    totals = [card.totals() for card in cards]
    sm = max(sm for sm, _ in totals)
    profiles = [
        _profile([offer for offer in instances if offer.profile == name], instances)
        for name in dict.fromkeys(offer.profile for offer in instances)
    ]
    product = cards[0].product
    return Board(
        id=re.sub(r"[^a-z0-9]+", "-", product.lower()).strip("-"),
        product_names=(product,),
        architecture=offers[0].architecture,
        grid=1 + max((index for offer in offers for index in offer.memory_slices), default=0),
        # Compute is counted in multiprocessors, as the driver's counters do; the "g" of a name is not read.
        compute_slices=sm,
        sm=sm,
        memory_gib=max(memory for _, memory in totals) / _GIB,
        profiles=tuple(sorted(profiles, key=lambda p: (p.memory_slices, p.sm, p.name))),
        # Only a driver that can switch by itself offers a card both whole and cut.
        resetless_mig_toggle=any(card.whole() and len(card.offers) > 1 for card in cards),
    )


def _agrees(board: Board, offer: Offer) -> bool:
    if offer.profile is None:
        # With dynamic MIG the driver says what the largest instance holds.
        totals = (board.memory_gib, *(profile.memory_gib for profile in board.profiles[-1:]))
        return any(_is_near(offer.memory, total) for total in totals) and offer.sm in {0, board.sm}
    profile = next((p for p in board.profiles if p.name == offer.profile), None)
    if profile is None or profile.sm != offer.sm or not _is_near(offer.memory, profile.memory_gib):
        return False
    starts = {frozenset(range(start, start + profile.memory_slices)) for start in profile.starts}
    # Where the API server dropped the counters nothing tells the place; sizes are contradiction enough.
    return not offer.memory_slices or offer.memory_slices in starts


def _is_near(memory: int, gib: float) -> bool:
    # Drivers differ in what they keep for themselves: up to 0.25 GiB of a small instance, 1 % of a card.
    return abs(memory / _GIB - gib) <= max(_MEMORY_TOLERANCE * gib, 0.25)


def _profile(offers: Sequence[Offer], instances: Sequence[Offer]) -> Profile:
    first = offers[0]
    return Profile(
        name=first.profile or "",
        compute_slices=first.sm,
        memory_slices=max(len(first.memory_slices), 1),
        starts=tuple(sorted({min(offer.memory_slices, default=0) for offer in offers})),
        sm=first.sm,
        memory_gib=first.memory / _GIB,
        gi_profile_id=_NO_ID,
        # As large as another profile, and with an engine that the other lacks.
        media_extension=any(
            (len(other.memory_slices), other.sm) == (len(first.memory_slices), first.sm)
            and other.engines.ofa < first.engines.ofa
            for other in instances
        ),
        engines=first.engines,
    )
