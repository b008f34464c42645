"""The served models that foreslice looks after, and what their owners allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple


class WorkloadKey(NamedTuple):
    """Names one workload in a cluster.

    Everything is looked up by it, in each tick some hundred times a workload: a tuple is hashed the fastest.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Isolation(StrEnum):
    """What a neighbour on the same GPU must not be able to take."""

    HARD = "hard"
    MEMORY = "memory"
    NONE = "none"


class Tier(StrEnum):
    """How much certainty a workload pays for."""

    ECONOMY = "economy"
    BALANCED = "balanced"
    STRICT = "strict"

    @property
    def demand_quantile(self) -> float:
        """Quantile of peak demand that capacity must meet."""
        return _DEMAND_QUANTILES[self]

    @property
    def unserved_share(self) -> float:
        """Share of the work that may find no ready capacity."""
        return _UNSERVED_SHARES[self]

    @property
    def lead_time_quantile(self) -> float:
        """Quantile of the time from decided to ready that is reckoned with."""
        return _LEAD_TIME_QUANTILES[self]

    @property
    def rank(self) -> int:
        """Order in which tiers are served when there is not enough for all, first is 0."""
        return _RANKS[self]


_DEMAND_QUANTILES = {Tier.ECONOMY: 0.90, Tier.BALANCED: 0.95, Tier.STRICT: 0.99}
_UNSERVED_SHARES = {Tier.ECONOMY: 0.01, Tier.BALANCED: 0.005, Tier.STRICT: 0.001}
_LEAD_TIME_QUANTILES = {Tier.ECONOMY: 0.80, Tier.BALANCED: 0.90, Tier.STRICT: 0.95}
_RANKS = {Tier.STRICT: 0, Tier.BALANCED: 1, Tier.ECONOMY: 2}


class Mode(IntEnum):
    """How far foreslice may go with a workload; each rung includes the ones before it."""

    OFF = 0
    FORECAST_ONLY = 1
    ADVISE = 2
    SCALE_UP_ONLY = 3
    FULL = 4

    @property
    def label(self) -> str:
        """Its name as settings write it."""
        return self.name.lower().replace("_", "-")

    @property
    def may_add(self) -> bool:
        """Whether capacity may be added for it."""
        return self >= Mode.SCALE_UP_ONLY

    @property
    def may_remove(self) -> bool:
        """Whether capacity may be moved or removed."""
        return self == Mode.FULL


class Way(StrEnum):
    """How a workload is acted on: which field of whose object is written."""

    OWN = "own"
    FLOOR = "floor"
    PUBLISH = "publish"


class Reshaping(StrEnum):
    """How a workload comes to other shapes: copies beside its Deployment, or its Deployment itself."""

    COPIES = "copies"
    SWITCH = "switch"


class Router(StrEnum):
    """How requests are spread over the replicas of a workload."""

    EQUAL = "equal"
    LEAST_LOADED = "least-loaded"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class LatencyTarget:
    """A share of requests that must stay under a limit, e.g. 95 % under 0.5 s."""

    quantile: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Slo:
    """Objectives of a workload; a term that is `None` does not bind.

    Attributes:
        ttft: Time to first token, per request.
        itl: Inter-token latency, mean of a request.
        e2e: From arrival to last token, per request.
    """

    ttft: LatencyTarget | None = None
    itl: LatencyTarget | None = None
    e2e: LatencyTarget | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that hold even when foreslice is blind."""

    min_replicas: int = 1
    max_replicas: int = 64


@dataclass(frozen=True, slots=True)
class Workload:
    """One served model with everything that sizing it depends on.

    Attributes:
        key: Namespace and name of its Deployment.
        model: Name in the capacity catalogue.
        slo: Latency objectives.
        tier: Certainty bought.
        mode: How far foreslice may go.
        router: How its requests are spread over replicas.
        isolation: What neighbours must not take.
        limits: Replica bounds.
        mechanism: How its shapes are made real, a key of the mechanism table.
        scheduler: Name of the scheduler that places its pods.
        way: How it is acted on.
        reshape: How it comes to other shapes.
        is_spread: Its replicas are spread over fault domains.
    """

    key: WorkloadKey
    model: str
    slo: Slo
    tier: Tier = Tier.BALANCED
    mode: Mode = Mode.FORECAST_ONLY
    router: Router = Router.EQUAL
    isolation: Isolation = Isolation.HARD
    limits: Limits = field(default_factory=Limits)
    mechanism: str = "dra"
    scheduler: str = "default-scheduler"
    way: Way = Way.OWN
    reshape: Reshaping = Reshaping.COPIES
    is_spread: bool = False
