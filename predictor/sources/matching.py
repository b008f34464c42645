"""Which series belong to a workload: labels that its engines' carry, and those that a router gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from predictor.vocabulary import Vocabulary, any_engine, any_router

LabelValues = Mapping[str, str | tuple[str, ...]]
"""Labels, each with the value that it has, or with several of which it has one."""


@dataclass(frozen=True, slots=True)
class Match:
    """How one workload's series are known.

    Attributes:
        labels: Labels of its engines' series, each with its value or with several, one of which it has.
        router: Likewise of what a router in front of them says of it; empty = none is read.
        engines: Engines that its pods may run.
        routers: Routers that may stand in front.
    """

    labels: LabelValues
    router: LabelValues = field(default_factory=dict)
    engines: Vocabulary = field(default_factory=any_engine)
    routers: Vocabulary = field(default_factory=any_router)

    def parts(self) -> Iterator[Selection]:
        """Yield what has to be read: of the engines, and of the router if there is one."""
        yield Selection(self.labels, self.engines)
        if self.router:
            yield Selection(self.router, self.routers)

    def vocabulary(self) -> Vocabulary:
        """Return what series mean, whoever of the two exports them."""
        return Vocabulary((*self.engines.engines, *(self.routers.engines if self.router else ())))


@dataclass(frozen=True, slots=True)
class Selection:
    """Series of one vocabulary with given labels."""

    labels: LabelValues
    vocabulary: Vocabulary

    def spellings(self, label: str) -> set[str]:
        """Return the values of a label that count: as it was written, and in lower case if so exported."""
        told = self.labels[label]
        values = {told} if isinstance(told, str) else set(told)
        return values | (
            {value.lower() for value in values} if label in self.vocabulary.lower_case else set()
        )


def shown(labels: LabelValues) -> str:
    """Return labels as people write them."""
    told = ((label, (value,) if isinstance(value, str) else value) for label, value in labels.items())
    return ", ".join(f"{label}={' or '.join(values)}" for label, values in told)


def few(values: Sequence[object]) -> str:
    """Return a few values as people list them, and how many more there are."""
    listed = [str(value) or '""' for value in values[:5]]
    return ", ".join(listed) + (f" and {len(values) - len(listed)} more" if len(values) > len(listed) else "")


def match_of(labels: LabelValues | Match) -> Match:
    """Return the match that labels alone stand for: any engine, no router."""
    return labels if isinstance(labels, Match) else Match(labels)
