"""How long things take in the embedded cluster.

Every duration is a function of seed, step and pod name alone, so that two runs with the same pods wait
alike whatever else happens in them and in whatever order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist
from typing import NamedTuple

from simulator.api import Json

_NORMAL = NormalDist()
_P95_SIGMAS = _NORMAL.inv_cdf(0.95)


class LogNormal(NamedTuple):
    """A duration that is multiplied, not added to, by chance.

    Attributes:
        median_s: Median, seconds.
        sigma: Standard deviation of its logarithm.
    """

    median_s: float
    sigma: float

    @classmethod
    def of_p95(cls, median_s: float, p95_s: float) -> LogNormal:
        """Return the distribution with this median and 95th percentile."""
        return cls(median_s, math.log(p95_s / median_s) / _P95_SIGMAS)

    def at(self, chance: float) -> float:
        """Return the quantile at `chance` in (0, 1), seconds."""
        return self.median_s * math.exp(self.sigma * _NORMAL.inv_cdf(chance))


# No public latency figures of scheduling with DRA or of preparing dynamic MIG devices were found; the medians
# are ours. The driver's comments speak of NVML look-ups of the order of 10 s under load
# (dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/nvlib.go), its end-to-end test expects a pod on a fresh
# instance within 10 s (tests/bats/test_gpu_dynmig.bats).
SCHEDULE = LogNormal.of_p95(1.0, 5.0)
PREPARE = LogNormal.of_p95(2.0, 10.0)

# Image on the node: container creation takes 1 to 3 s, uniform.
IMAGE_CACHED_S = (1.0, 3.0)

# vLLM start of models up to 14B: 61.9 to 67.9 s restarted on MIG (NEWSLabNTU/Delta-HPC), 37 to 58 s fresh
# on an A100 (vLLM blog, sleep mode), 34 s with a first answer after 59 s (vllm issues 11005, 20264).
ENGINE_INIT = LogNormal(60.0, 0.25)

# Engine starts are bound by the host's CPU (arXiv 2606.07362), so starts on one node slow each other down.
# By how much is a judgement, not a measurement: 15 % for each other start that is under way.
CROWDING_PER_START = 0.15


@dataclass(frozen=True, slots=True)
class Delays:
    """Durations of one run. Pods are told apart by namespace and name.

    Attributes:
        seed: Chance of the run.
        engine_init: From a container's start to serving, for an engine that starts alone: larger models and
            weights that are not on the node take longer.
    """

    seed: int
    engine_init: LogNormal = ENGINE_INIT

    def schedule_s(self, pod: Json) -> float:
        """Return seconds from a chance to be scheduled to the binding."""
        return SCHEDULE.at(self._chance("schedule", pod))

    def prepare_s(self, pod: Json) -> float:
        """Return seconds from the binding to the MIG device being there."""
        return PREPARE.at(self._chance("prepare", pod))

    def image_s(self, pod: Json) -> float:
        """Return seconds from the device being there to the container's start; its image is on the node."""
        fastest_s, slowest_s = IMAGE_CACHED_S
        return fastest_s + (slowest_s - fastest_s) * self._chance("image", pod)

    def engine_init_s(self, pod: Json) -> float:
        """Return seconds from the container's start to serving, for an engine that starts alone."""
        return self.engine_init.at(self._chance("engine", pod))

    def _chance(self, step: str, pod: Json) -> float:
        """Return a number in (0, 1), uniform over pods."""
        metadata = pod["metadata"]
        named = f"{self.seed}/{step}/{metadata['namespace']}/{metadata['name']}"
        drawn = int.from_bytes(blake2b(named.encode(), digest_size=6).digest())
        return (drawn + 0.5) / (1 << 48)


def crowding(starting: int) -> float:
    """Return the factor by which an engine's start is slower with `starting` others under way on its node."""
    return 1 + CROWDING_PER_START * starting
