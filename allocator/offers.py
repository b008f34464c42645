"""Which shapes could carry a workload, how much work each replica takes and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from operator import itemgetter

from capacity.belief import Source
from capacity.estimate import CapacityModel
from capacity.routing import carried
from fleet.boards import Board
from fleet.cluster import Standing
from fleet.demand import Mix
from fleet.mechanism import MECHANISMS
from fleet.shape import SHARE_SIZES, Configuration, Shape, shapes_of, share_of, slice_of
from fleet.workload import Limits, Router, Workload

SPANS = (2, 4, 8)
"""Cards over which a model that fits on none alone is spread."""

ROUNDING = 1e-9
"""Work that is not worth a replica: sums of floats that are equal on paper."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One shape for one workload.

    Attributes:
        shape: What a replica would run on.
        work: Work that one replica carries, lower bound, in full reference replicas.
        gpu_share: Share of a card that it takes.
        source: What the work rests on.
    """

    shape: Shape
    work: float
    gpu_share: float
    source: Source = Source.PRIOR


@dataclass(frozen=True)
class Offers:
    """Every shape that may carry one workload, with the arithmetic of its router.

    Attributes:
        given_up: Shapes of which no replica is to be added, because their trials failed; those that stand
            still carry what they carry.
    """

    router: Router
    by_shape: dict[Shape, Offer]
    given_up: frozenset[Shape] = frozenset()

    def for_standing(self, standing: Standing | None, at_s: float) -> Offers:
        """Return the offers that a workload can take up: where no copies can be made, of what it has.

        Over how many cards a model is spread is said in its engine's arguments, which are not ours to write.
        """
        if standing is None:
            return self
        cards = standing.own.shape.cards if standing.may_have_variants or standing.switches else None
        given_up = standing.given_up(at_s)
        if self._cards == {cards} and not given_up:
            return self
        held = {variant.shape for variant in standing.variants}
        offers = self.by_shape.items()
        fitting = {shape: offer for shape, offer in offers if shape in held or shape.cards == cards}
        is_all = len(fitting) == len(self.by_shape) and not given_up
        return self if is_all else Offers(self.router, fitting, given_up)

    def addable(self) -> Iterator[Shape]:
        """Yield the shapes of which replicas may be added."""
        return (shape for shape in self.by_shape if shape not in self.given_up)

    @cached_property
    def _cards(self) -> frozenset[int]:
        """Over how many cards replicas of its shapes are spread."""
        return frozenset(shape.cards for shape in self.by_shape)

    @cached_property
    def works(self) -> Mapping[Shape, float]:
        """Work that one replica of each shape carries."""
        return {shape: offer.work for shape, offer in self.by_shape.items()}

    def carried(self, configuration: Configuration) -> float:
        """Return the work that a configuration carries; replicas of shapes not offered carry nothing."""
        return carried(configuration, self.works, self.router)

    def price(self, configuration: Configuration) -> float:
        """Return the cards that a configuration takes; a shape not offered counts as a whole card."""
        return sum(
            n * (self.by_shape[shape].gpu_share if shape in self.by_shape else 1.0)
            for shape, n in configuration.counts.items()
        )

    def short(self, configuration: Configuration, work: float) -> float:
        """Return how much of `work` a configuration leaves uncarried, 0 where only rounding is missing."""
        short = work - self.carried(configuration)
        return short if short > ROUNDING else 0.0

    def replicas_for(self, shape: Shape, work: float) -> int:
        """Return how many replicas of one shape alone carry `work`, at least one."""
        return max(1, ceil((work - ROUNDING) / self._work(shape)))

    def of_one_shape(self, work: float, limits: Limits) -> Iterator[Configuration]:
        """Yield what carries `work` with one shape, cheapest first, of equals the one that carries more."""
        goals = []
        for shape in self.addable():
            offer, replicas = self.by_shape[shape], max(self.replicas_for(shape, work), limits.min_replicas)
            if replicas <= limits.max_replicas:
                goal = Configuration({shape: replicas})
                goals.append((replicas * offer.gpu_share, -replicas * offer.work, str(goal), goal))
        yield from (goal for *_, goal in sorted(goals, key=itemgetter(0, 1, 2)))

    def missing(self, configuration: Configuration, shape: Shape, work: float) -> int:
        """Return how many replicas of `shape` must join so that the configuration carries `work`.

        0 where no number of them would do: behind equal shares a replica that carries nothing stops all.
        """
        per_replica = self._work(shape)
        if self.router is Router.EQUAL and configuration.replicas:
            smallest = min(per_replica, *(self._work(s) for s in configuration))
            if smallest == 0:
                return 0
            return max(0, ceil((work - ROUNDING) / smallest) - configuration.replicas)
        return max(0, ceil((work - ROUNDING - self.carried(configuration)) / per_replica))

    def _work(self, shape: Shape) -> float:
        return self.works.get(shape, 0.0)


def offers_for(
    workload: Workload,
    boards: Sequence[Board],
    capacity: CapacityModel,
    mixes: Sequence[Mix],
    spans: Sequence[int] = (),
) -> Offers:
    """Return the shapes of `boards` that may carry the workload.

    A shape is left out where the model or its SLO does not fit, or where the workload's mechanism
    does not keep its isolation wish. Capacity is the lower bound, at the worst of `mixes`. A model that fits
    on no card alone may be spread over the numbers of cards in `spans`. Shares are offered to those only
    whose mechanism makes them.
    """
    shares = shares_of(workload, boards, capacity, spans)
    if not shares:
        return Offers(workload.router, {})
    capacities = capacity.capacities(workload, list(shares), mixes)
    return Offers(
        workload.router,
        {
            shape: Offer(shape, estimate.work_low, shares[shape], estimate.source)
            for shape, estimate in capacities.items()
            if estimate.work_low > 0
        },
    )


def shares_of(
    workload: Workload, boards: Sequence[Board], capacity: CapacityModel, spans: Sequence[int] = ()
) -> dict[Shape, float]:
    """Return the shapes whose capacities `offers_for` asks for, with the share of a card that each takes."""
    if not MECHANISMS[workload.mechanism].satisfies(workload.isolation):
        return {}
    spread = spans if capacity.reference(workload).cards > 1 else ()
    sizes = SHARE_SIZES.get(workload.mechanism, ())
    return {
        shape: slice_of(board, shape).gpu_share
        for board in boards
        for shape in (
            *shapes_of(board),
            *(Shape(board.id, cards=cards) for cards in spread),
            *(share_of(board, hundredths) for hundredths in sizes),
        )
    }
