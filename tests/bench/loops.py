"""What an hour of the whole loop costs on the simulated fleet, and which part of the loop takes it.

Whose time it is, is asked of the stack every few milliseconds of CPU time: nothing is wrapped, and the
innermost part that is on the stack is charged.
"""

from __future__ import annotations

import resource
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.workload import WorkloadKey
from foreslice.replay import Day, replay
from foreslice.replayed import Policy, Progress
from simulator.tenants import NAMESPACE, shipped_tenants, tenants_of
from simulator.world import WorldSpec

PARTS = {
    ("simulator/world.py", "advance_to"): "world",
    ("simulator/cluster.py", "view"): "view",
    ("simulator/metrics.py", "samples"): "metrics",
    ("simulator/metrics.py", "now"): "metrics",
    ("foreslice/outlook.py", "refresh"): "forecast",
    ("foreslice/tick.py", "plan"): "plan",
    ("foreslice/tick.py", "aim"): "plan",
    ("actuator/stepper.py", "carry_out"): "write",
    ("actuator/execute.py", "run"): "actuate",
    ("foreslice/tick.py", "tick"): "rest of the tick",
}
"""Functions that a part of the loop begins with, by the end of the file's name."""

CARDS_A_WORKLOAD = 2
LAST_DAY = 10
EVERY_S = 0.005


@dataclass(frozen=True, slots=True)
class Cost:
    """What a stretch of virtual time cost, after the first tick and forecast of the loop.

    Attributes:
        start_s: CPU seconds of what comes before: drawing the world, reading and learning ten days of past.
        hour_s: CPU seconds of an hour.
        parts: Share of it by part of the loop.
        peak_gib: Most memory that the process ever held.
    """

    start_s: float
    hour_s: float
    parts: Mapping[str, float]
    peak_gib: float

    def __str__(self) -> str:
        """Return it as one line."""
        shares = ", ".join(f"{part} {share:.0%}" for part, share in self.parts.items())
        return (
            f"an hour in {self.hour_s:.1f} s = {3600 / self.hour_s:.0f} times real time ({shares}); "
            f"start {self.start_s:.0f} s, {self.peak_gib:.2f} GiB"
        )


def fleet_of(count: int) -> WorldSpec:
    """Return a world of as many workloads, of the shipped tenants' kinds in turn, sizes drawn anew."""
    capacity = CapacityModel([H100_80GB])
    kinds = [tenant.workload for tenant in shipped_tenants(capacity, seed=1)]
    workloads = [
        replace(kind, key=WorkloadKey(NAMESPACE, f"{kind.key.name}-{number:03d}"))
        for number, kind in zip(range(count), kinds * count, strict=False)
    ]
    return WorldSpec(
        tenants_of(workloads, capacity, seed=1), LAST_DAY, nodes=-(-count * CARDS_A_WORKLOAD // 8)
    )


def cost_of(count: int, policy: Policy, length_s: int) -> Cost:
    """Return what the first stretch of a day costs a process that does nothing else."""
    counted: Counter[str] = Counter()
    marks: list[float] = []

    def count_sample(_: int, frame: FrameType | None) -> None:
        counted[_part(frame)] += 1

    def on_progress(_: Progress) -> None:
        marks.append(time.process_time())
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    signal.signal(signal.SIGPROF, count_sample)
    begun_s = time.process_time()
    replay(policy, Day(1, partial(fleet_of, count), length_s), on_progress)
    signal.setitimer(signal.ITIMER_PROF, 0)
    total = counted.total()
    return Cost(
        start_s=marks[0] - begun_s,
        hour_s=(marks[-1] - marks[0]) * 3600 / length_s,
        parts={part: taken / total for part, taken in counted.most_common()},
        peak_gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )


def _part(frame: FrameType | None) -> str:
    while frame is not None:
        code = frame.f_code
        for (file, function), part in PARTS.items():
            if code.co_name == function and code.co_filename.endswith(file):
                return part
        frame = frame.f_back
    return "rest"
