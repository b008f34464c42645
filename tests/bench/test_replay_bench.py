"""Speed of the coarse world and of its sweeps."""

import numpy as np

from simulator.coarse import Stage, drive
from simulator.rivals.horizontal import Horizontal

DAY = 1440


def test_a_day_of_200_workloads(benchmark):
    work = np.random.default_rng(0).gamma(2.0, 1.0, (DAY, 200))
    stage = Stage(work, np.ones(work.shape, np.bool_), 60, 5, np.full(200, 0.3), np.full(200, 0.3), DAY)
    account = benchmark(lambda: drive(Horizontal(np.array([0.7])), stage))
    assert account.held.sum() > 0
