"""Scripted counters of a small fleet: what a scraper would have collected, by series."""

from dataclasses import dataclass, field

from fleet.workload import WorkloadKey

LLAMA = WorkloadKey("prod", "llama")
QWEN = WorkloadKey("prod", "qwen")


@dataclass(frozen=True)
class Scraped:
    """One raw series of one pod with its readings, (time in s, value) each."""

    pod: str
    series: str
    readings: list[tuple[float, float]]
    model: str = "llama"
    labels: dict[str, str] = field(default_factory=dict)


def minutes(values, start_s=0):
    """Readings at whole minutes."""
    return [(start_s + 60 * i, value) for i, value in enumerate(values)]
