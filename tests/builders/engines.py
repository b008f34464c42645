"""Engines to try things on: demand that is what the test says, laws that are the prior's."""

import numpy as np

from capacity.catalogue import model_spec
from capacity.law import Law
from capacity.prior import kv_tokens
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey
from simulator.engine import Engines
from simulator.traffic import Tenant

MIX = Mix(300.0, 60.0)
LAW = Law(alpha_ms=8.0, beta_ms_per_token=0.02, gamma_ms_per_kv_token=2e-5)
WHOLE = Shape(H100_80GB.id)
SLO = Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.05))


def workload(name="a", slo=SLO, model="qwen2.5-7b-bf16", namespace="shop"):
    return Workload(WorkloadKey(namespace, name), model, slo)


def tenant(requests_per_s, name="a", cv=1.0, mix=MIX):
    """Return a tenant with these rates by step of ten minutes."""
    rates = np.asarray(requests_per_s, dtype=np.float64)
    return Tenant(
        workload=workload(name),
        kind="steady",
        client="made up",
        requests_per_s=rates,
        prompt_tokens=np.full_like(rates, mix.prompt_tokens),
        output_tokens=np.full_like(rates, mix.output_tokens),
        interarrival_cv=np.full_like(rates, cv),
    )


class Offered:
    """Requests by second and workload, from time 0, and none after."""

    def __init__(self, by_second, mixes=None):
        self._by_second = np.asarray(by_second, dtype=np.float64)
        self._mixes = mixes or (MIX,) * self._by_second.shape[1]

    def seconds(self, from_s, count):
        wanted = self._by_second[from_s : from_s + count]
        return np.concatenate((wanted, np.zeros((count - len(wanted), self._by_second.shape[1]))))

    def mixes(self, at_s):
        return self._mixes


class Laws:
    """The same law everywhere, and the KV room of the shape."""

    def __init__(self, law=LAW, room=None):
        self._law = law
        self._room = room

    def law(self, workload, shape):
        return self._law

    def kv_tokens(self, workload, shape):
        return self._room or kv_tokens(model_spec(workload.model), H100_80GB, shape)


def constant(requests_per_s, seconds):
    return np.full((seconds, 1), float(requests_per_s))


def engines(by_second, pods=1, laws=None, workloads=None, mixes=None):
    """Return engines from time 0 with ready pods `a-0`, `a-1`, ... of each workload."""
    workloads = workloads or [workload()]
    made = Engines(workloads, Offered(by_second, mixes), laws or Laws(), 0)
    for one in workloads:
        for number in range(pods):
            made.start(f"{one.key.name}-{number}", one.key, WHOLE)
            made.set_ready(f"{one.key.name}-{number}", is_ready=True)
    return made
