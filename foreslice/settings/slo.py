"""What a workload is promised: latency objectives and bounds, for one or for a whole class of workloads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fleet.errors import InputError
from fleet.workload import Isolation, Router, Tier
from foreslice.settings.durations import EndToEnd, FirstToken, InterToken
from foreslice.settings.group import Group
from foreslice.settings.objectives.spellings import of_fields, of_lines

ModeName = Literal["off", "forecast-only", "advise", "scale-up-only", "full"]


class _Percentile(Group):
    @model_validator(mode="after")
    def _one(self) -> _Percentile:
        if len([name for name, limit_s in self if limit_s is not None]) != 1:
            raise ValueError("name exactly one percentile, e.g. p95: 500ms")
        return self


class FirstTokenTarget(_Percentile):
    """Time to first token, by percentile of requests."""

    p50: FirstToken | None = None
    p90: FirstToken | None = None
    p95: FirstToken | None = None
    p99: FirstToken | None = None


class InterTokenTarget(_Percentile):
    """Inter-token latency (mean of a request), by percentile of requests."""

    p50: InterToken | None = None
    p90: InterToken | None = None
    p95: InterToken | None = None
    p99: InterToken | None = None


class EndToEndTarget(_Percentile):
    """Time from a request to its last token, by percentile of requests."""

    p50: EndToEnd | None = None
    p90: EndToEnd | None = None
    p95: EndToEnd | None = None
    p99: EndToEnd | None = None


class SloSettings(Group):
    """Latency objectives; a term that is left out does not bind."""

    ttft: FirstTokenTarget | None = None
    itl: InterTokenTarget | None = None
    e2e: EndToEndTarget | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_our_words(cls, given: object) -> object:
        """Refuse what other tools would write here, and say how it is written here."""
        if hint := _hint(given):
            raise ValueError(hint)
        return given

    @model_validator(mode="after")
    def _any(self) -> SloSettings:
        if self.ttft is None and self.itl is None and self.e2e is None:
            raise ValueError("name ttft, itl or e2e: without an objective nothing can be sized")
        return self


class ReplicaSettings(Group):
    """Bounds on replicas that hold even when foreslice is blind."""

    min: Annotated[int, Field(ge=1, le=1000, description="never fewer")] = 1
    max: Annotated[int, Field(ge=1, le=1000, description="never more")] = 64

    @model_validator(mode="after")
    def _ordered(self) -> ReplicaSettings:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is above max ({self.max})")
        return self


class ClassSettings(Group):
    """What workloads of one class have in common; what a workload says itself counts before it."""

    slo: SloSettings | None = None
    tier: Annotated[Tier, Field(description="as of a workload")] = Tier.BALANCED
    mode: Annotated[ModeName, Field(description="as of a workload")] = "forecast-only"
    router: Annotated[Router, Field(description="as of a workload")] = Router.EQUAL
    isolation: Annotated[Isolation, Field(description="as of a workload")] = Isolation.HARD
    replicas: ReplicaSettings = ReplicaSettings()


def _hint(given: object) -> str:
    """Return how an objective in another tool's spelling is written here, empty where it is in none."""
    try:
        if isinstance(given, str | list):
            found = of_lines([given] if isinstance(given, str) else [str(line) for line in given])
        elif isinstance(given, dict) and given and all("_" in str(key) for key in given):
            found = of_fields({str(key): limit for key, limit in given.items()})
        else:
            return _hint_of_numbers(given)
    except InputError:
        return ""
    return f"write {{{', '.join(one.written for one in found if one.is_ours)}}}"


def _hint_of_numbers(given: Any) -> str:  # noqa: ANN401 -- whatever a file holds
    if not isinstance(given, dict):
        return ""
    bare = [key for key, limit in given.items() if isinstance(limit, int | float)]
    if not bare:
        return ""
    bare_ones = " and ".join(map(str, bare))
    return f"{bare_ones}: a mean in ms, as of Dynamo or WVA? write e.g. ttft: {{p95: 500ms}}"
