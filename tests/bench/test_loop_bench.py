"""An hour of the whole loop, part by part: as the demo and the fine level of `foreslice replay` turn it.

Each fleet has a process of its own, so that its peak of memory is its own; what it says is printed.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context

import pytest

from foreslice.replayed import Policy
from tests.bench.loops import cost_of

HOUR_S = 3600


@pytest.mark.parametrize(
    ("count", "policy", "length_s"),
    [
        (8, Policy.FORECAST_OFF, HOUR_S),
        (24, Policy.FORECAST_OFF, HOUR_S),
        (200, Policy.FORECAST_OFF, 1200),
        (8, Policy.FORESLICE, HOUR_S),
    ],
)
def test_the_whole_loop(benchmark, capsys, count, policy, length_s):
    def alone():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(cost_of, count, policy, length_s).result()

    cost = benchmark.pedantic(alone, rounds=1)
    benchmark.extra_info.update(asdict(cost))
    with capsys.disabled():
        sys.stdout.write(f"\n{count} workloads, {policy}: {cost}\n")
    assert cost.hour_s > 0
