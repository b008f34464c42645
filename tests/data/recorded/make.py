"""Record four simulated hours of one workload: ``python -m tests.data.recorded.make > vllm.csv``."""

import csv
import sys

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey
from simulator.series import SERIES, readings
from simulator.tenants import tenants_of
from simulator.world import World, WorldSpec

SEED, DAY, HOURS = 1, 10, 4
SLO = Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.06))
CHAT = Workload(WorkloadKey("serving", "chat"), "qwen2.5-7b-bf16", SLO)


def main():
    world = World(WorldSpec(tenants_of([CHAT], CapacityModel([H100_80GB]), SEED), DAY, nodes=1), SEED)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["timestamp", "series", "namespace", "pod", "model_name", "value"])
    start_s = world.start_s + 6 * 3600
    for at_s in range(start_s, start_s + HOURS * 3600 + 1, 60):
        world.advance_to(at_s)
        table = readings(world.engines.counts, world.engines.pace)
        for at in world.engines.up:
            for series, value in zip(SERIES, table[at], strict=True):
                if not series.labels or series.labels == (("finished_reason", "stop"),):
                    row = [at_s, series.name, CHAT.key.namespace, world.engines.names[at], CHAT.key.name]
                    rows.writerow([*row, f"{value:.10g}"])


if __name__ == "__main__":
    main()
