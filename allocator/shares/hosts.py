"""Hosts with cards that are shared: what is left of each, and what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allocator.shares.mix import WHOLE_MILLI, Ask

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Host:
    """One empty host.

    Attributes:
        gpus: Number of cards, all of one product.
        product: Card product.
        cpu_milli: Thousandths of a CPU core.
        memory_mib: Memory in MiB.
    """

    gpus: int
    product: str
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a replica goes: the index of the host, and those of its cards."""

    host: int
    gpus: tuple[int, ...]


class Hosts:
    """What is left of many hosts, as arrays.

    Attributes:
        idle: Thousandths left of each card, one row a host; a host with fewer cards has zeros at its end.
        cpu_milli: Thousandths of a CPU core left, by host.
        memory_mib: Memory left, by host.
        product: Index into `products`, by host.
        products: Card products that occur, sorted.
        version: Number of changes, by host: what was worked out of a host holds until it grows.
    """

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.products = tuple(sorted({host.product for host in hosts}))
        widest = max((host.gpus for host in hosts), default=0)
        self.idle: Ints = np.array(
            [[WHOLE_MILLI * (card < host.gpus) for card in range(widest)] for host in hosts], dtype=np.int64
        ).reshape(len(hosts), widest)
        self.cpu_milli: Ints = np.array([host.cpu_milli for host in hosts], dtype=np.int64)
        self.memory_mib: Ints = np.array([host.memory_mib for host in hosts], dtype=np.int64)
        self.product: Ints = np.array([self.products.index(host.product) for host in hosts], dtype=np.int64)
        self.version: Ints = np.zeros(len(hosts), dtype=np.int64)

    def fits(self, ask: Ask, rows: Ints | slice = slice(None)) -> Flags:
        """Return, for the hosts `rows`, whether a replica fits."""
        enough = (self.cpu_milli[rows] >= ask.cpu_milli) & (self.memory_mib[rows] >= ask.memory_mib)
        if ask.gpus:
            enough &= (self.idle[rows] >= ask.milli).sum(axis=1) >= ask.gpus
            if ask.products:
                allowed = np.array([product in ask.products for product in self.products])
                enough &= allowed[self.product[rows]]
        return enough

    def cards_for(self, host: int, ask: Ask) -> tuple[int, ...]:
        """Return the first cards of a host on which a replica fits; it has to fit."""
        return tuple(int(card) for card in np.flatnonzero(self.idle[host] >= ask.milli)[: ask.gpus])

    def take(self, spot: Spot, ask: Ask) -> None:
        """Put a replica where it fits; `ValueError` where it does not."""
        left = self.idle[spot.host, list(spot.gpus)] - ask.milli
        if (
            len(set(spot.gpus)) != ask.gpus
            or (left < 0).any()
            or not self.fits(ask, np.array([spot.host])).all()
        ):
            raise ValueError(f"{ask} does not fit on cards {spot.gpus} of host {spot.host}")
        self._change(spot, ask, -1)

    def give_back(self, spot: Spot, ask: Ask) -> None:
        """Take a replica away from where it was put."""
        self._change(spot, ask, 1)

    def _change(self, spot: Spot, ask: Ask, sign: int) -> None:
        self.idle[spot.host, list(spot.gpus)] += sign * ask.milli
        self.cpu_milli[spot.host] += sign * ask.cpu_milli
        self.memory_mib[spot.host] += sign * ask.memory_mib
        self.version[spot.host] += 1
