"""What a series means, given the engines that may have exported it: the look-up over `predictor.engines`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from fleet.signal import Signal
from predictor.engines import Engine, Named, Role, shipped

Exported = Mapping[Signal, tuple[Named, ...]]
"""Names by signal, newest first."""

_AT_ROUTER = {
    Signal.ARRIVALS: Signal.ROUTER_ARRIVALS,
    Signal.REFUSALS: Signal.ROUTER_REFUSALS,
    Signal.WAITING: Signal.ROUTER_WAITING,
}
"""What is read of a router: the rest is read where the work is done."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one series carries.

    Attributes:
        engine: Which of the vocabulary's engines exports it.
        signal: What it carries.
        rank: Place of its name among the signal's names, 0 = newest.
        scale: What a reading is multiplied with to be in the signal's unit.
    """

    engine: Engine
    signal: Signal
    rank: int
    scale: float


class Vocabulary:
    """Names of the series of some engines and routers, a workload's own or all that it might run.

    Attributes:
        engines: Who exports.
        lower_case: Labels whose values some of them write in lower case whatever the user wrote.
    """

    def __init__(
        self, engines: Iterable[Engine], read_of: Callable[[Engine], Exported] | None = None
    ) -> None:
        read_of = read_of or _for_demand
        self.engines = tuple(engines)
        self.lower_case = frozenset(label for one in self.engines for label in one.labels.lower_case)
        self._names: dict[Signal, list[str]] = {}
        self._meanings: dict[str, list[tuple[Named, Meaning]]] = {}
        for engine in self.engines:
            for signal, names in read_of(engine).items():
                known = self._names.setdefault(signal, [])
                for named in names:
                    meaning = Meaning(engine, signal, len(known), named.scale)
                    known.append(named.name)
                    self._meanings.setdefault(named.name, []).append((named, meaning))
        for meanings in self._meanings.values():
            meanings.sort(key=lambda told: not told[0].where)  # what has conditions comes first

    @classmethod
    def of(cls, engine: Engine) -> Vocabulary:
        """Return all that one engine, router or exporter says, each signal under its own name."""
        return cls([engine], lambda one: one.series)

    def names(self, signals: Iterable[Signal]) -> list[str]:
        """Return the series that these signals are read from; a cache's share may have to be reckoned."""
        wanted = set(signals)
        if Signal.KV_USE in wanted:
            wanted |= {Signal.KV_USED, Signal.KV_ROOM}
        return sorted({name for signal in wanted for name in self._names.get(signal, ())})

    def meanings(self) -> list[tuple[str, str, float, dict[str, tuple[str, ...]]]]:
        """Return all that is read, in the order of look-up: signal, name, scale, conditions."""
        return [
            (meaning.signal, named.name, meaning.scale, dict(named.where))
            for told in self._meanings.values()
            for named, meaning in told
        ]

    def meaning(self, name: str, labels: Mapping[str, str]) -> Meaning | None:
        """Return what the series carries, `None` for one that is not read."""
        return next((meaning for named, meaning in self._meanings.get(name, ()) if named.fits(labels)), None)


def _for_demand(engine: Engine) -> Exported:
    if engine.role is Role.ENGINE:
        return engine.series
    return {_AT_ROUTER[signal]: names for signal, names in engine.series.items() if signal in _AT_ROUTER}


@cache
def any_engine() -> Vocabulary:
    """Return the names of every shipped engine whose series nobody else's can be taken for."""
    return Vocabulary(_unmistakable(Role.ENGINE))


@cache
def any_router() -> Vocabulary:
    """Return the names of every shipped router."""
    return Vocabulary(_unmistakable(Role.ROUTER))


def _unmistakable(role: Role) -> list[Engine]:
    return [engine for engine in shipped().values() if engine.role is role and not engine.needs_match]
