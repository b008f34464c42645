"""What a workload needs of its own while the pool insures it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allocator.need import Need


@dataclass(frozen=True, slots=True)
class Insurance:
    """What the pool does for a workload.

    Attributes:
        covered: Work that slices carry which are its own now, or which it would get at once.
        lasting: The least work that was asked for over the time after which use of the pool counts as
            lasting; `None` = not known for all of it.
        level: Part of what is asked for that it keeps of its own.
    """

    covered: float
    lasting: float | None
    level: float = 1.0


def insured(need: Need, insurance: Insurance) -> Need:
    """Return the need of own capacity: the pool bridges bursts, and stands for the forecast's insurance.

    Own capacity is ordered for what lasts, at once for what the pool does not cover, and for what is
    announced; it is kept for all that was asked over the quiet time. Where the present is unknown, or
    nothing is covered, the need stays as it was: a pool that is lost costs its insurance and nothing else.
    """
    if need.reactive is None or insurance.covered <= 0:
        return need
    lasting = need.reactive if insurance.lasting is None else min(insurance.lasting, need.reactive)
    up = max(insurance.level * lasting, need.reactive - insurance.covered, need.announced)
    keep = max(up, insurance.level * (need.quiet_peak or need.reactive), need.announced_keep)
    return replace(need, up=min(up, need.up), keep=min(keep, need.keep))
