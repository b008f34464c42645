"""The tenants of the simulated fleet: real traffic, with a model, objectives and a size drawn by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from capacity.estimate import CapacityModel
from fleet.workload import LatencyTarget, Slo, Tier, Workload, WorkloadKey
from simulator.traces import shipped_traces
from simulator.traffic import Tenant

NAMESPACE = "tenants"

LEAST_PEAK, LARGEST_PEAK = 0.15, 2.0
"""Range of the 99.9 % quantile of a tenant's work, drawn log-uniformly, in whole reference GPUs."""

_PEAK_QUANTILE = 0.999


@dataclass(frozen=True, slots=True)
class _Character:
    name: str
    kind: str
    client: str
    model: str
    ttft_s: float
    itl_s: float
    tier: Tier


# Tenants by what their traffic does; why each client was picked is in data/README.md. Models and objectives
# are made up: short prompts go to small models, and the looser the tier, the looser the limits.
_CHARACTERS = (
    _Character("steady", "steady", "m-mid/c14", "qwen2.5-7b-bf16", 1.0, 0.080, Tier.BALANCED),
    _Character("evening", "daily", "m-mid/c66", "qwen2.5-3b-bf16", 0.5, 0.050, Tier.BALANCED),
    _Character("office", "daily", "m-mid/c30", "qwen2.5-7b-bf16", 2.0, 0.100, Tier.ECONOMY),
    _Character("two-peaks", "daily", "m-large/c56", "qwen2.5-14b-bf16", 1.0, 0.080, Tier.STRICT),
    _Character("drifting", "drifting", "m-large/c91", "qwen2.5-7b-bf16", 1.0, 0.080, Tier.BALANCED),
    _Character("nights-off", "switching", "m-mid/c5", "qwen2.5-3b-bf16", 1.0, 0.050, Tier.BALANCED),
    _Character("switching", "switching", "m-large/c34", "qwen2.5-3b-bf16", 1.0, 0.080, Tier.ECONOMY),
    _Character("spiking", "spiking", "m-mid/c72", "qwen2.5-7b-bf16", 1.0, 0.080, Tier.BALANCED),
)


def shipped_tenants(capacity: CapacityModel, seed: int) -> tuple[Tenant, ...]:
    """Return the eight tenants of the shipped traffic, rates scaled to sizes that are drawn by seed."""
    workloads = [
        Workload(
            key=WorkloadKey(NAMESPACE, character.name),
            model=character.model,
            slo=Slo(LatencyTarget(0.95, character.ttft_s), LatencyTarget(0.95, character.itl_s)),
            tier=character.tier,
        )
        for character in _CHARACTERS
    ]
    return tenants_of(workloads, capacity, seed)


def tenants_of(workloads: Sequence[Workload], capacity: CapacityModel, seed: int) -> tuple[Tenant, ...]:
    """Return a tenant for each workload, with the shipped traffic dealt out in turn, scaled likewise."""
    traces = shipped_traces()
    draws = np.random.default_rng(seed).uniform(math.log(LEAST_PEAK), math.log(LARGEST_PEAK), len(workloads))
    tenants = []
    for workload, character, size in zip(workloads, cycle(_CHARACTERS), np.exp(draws), strict=False):
        trace = traces[character.client]
        work = capacity.work(workload, trace.requests_per_s, trace.prompt_tokens, trace.output_tokens)
        tenants.append(
            Tenant(
                workload=workload,
                kind=character.kind,
                client=character.client,
                requests_per_s=trace.requests_per_s * size / np.quantile(work, _PEAK_QUANTILE),
                prompt_tokens=trace.prompt_tokens,
                output_tokens=trace.output_tokens,
                interarrival_cv=trace.interarrival_cv,
            )
        )
    return tuple(tenants)
