"""Timings of what the forecast and the plan ask of capacity."""

import numpy as np
import pytest

from capacity.catalogue import MODELS
from capacity.estimate import CapacityModel
from capacity.prior import kv_tokens, prior
from capacity.sustained import sustained_per_s
from fleet.boards import BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape, shapes_of
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey

DAYS, WORKLOADS, MINUTES = 8, 8, 8 * 1440
SLO = Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.06))


@pytest.fixture(scope="module")
def histories():
    """Eight days of eight workloads: minute means of lengths that drift through the day and jitter."""
    rng = np.random.default_rng(7)
    day = np.sin(np.arange(MINUTES) * 2 * np.pi / 1440)
    found = []
    for number in range(WORKLOADS):
        slo = Slo(LatencyTarget(0.95, 1.0 + number / 10), SLO.itl)
        key = WorkloadKey("bench", f"workload-{number}")
        found.append(
            (
                Workload(key, "qwen2.5-7b-bf16", slo),
                rng.gamma(2.0, 1.0, MINUTES),
                900 * np.exp(0.2 * day + 0.1 * rng.standard_normal(MINUTES)),
                250 * np.exp(0.1 * day + 0.1 * rng.standard_normal(MINUTES)),
            )
        )
    return found


def work_of_all(model, histories):
    return [model.work(*history) for history in histories]


def test_work_of_eight_days_of_eight_workloads_from_nothing(benchmark, histories):
    work = benchmark(lambda: work_of_all(CapacityModel(BOARDS.values()), histories))

    assert WORKLOADS * MINUTES == sum(len(one) for one in work)


def test_work_of_eight_days_of_eight_workloads_with_known_mixes(benchmark, histories):
    model = CapacityModel(BOARDS.values())
    work_of_all(model, histories)

    work = benchmark(work_of_all, model, histories)

    assert WORKLOADS * MINUTES == sum(len(one) for one in work)


def test_one_solve(benchmark):
    model, shape = MODELS["qwen2.5-7b-bf16"], Shape("h100-80gb", "3g.40gb")
    law, room = prior(model, H100_80GB, shape), kv_tokens(model, H100_80GB, shape)

    answer = benchmark(sustained_per_s, law, room, Mix(1000.0, 250.0), SLO)

    assert answer.requests_per_s > 0


def test_capacities_of_every_shape_of_a_board_from_nothing(benchmark):
    workload = Workload(WorkloadKey("bench", "one"), "qwen2.5-7b-bf16", SLO)
    mixes = (Mix(1000.0, 250.0), Mix(1400.0, 200.0))

    def ask():
        model = CapacityModel([H100_80GB])
        return [model.capacity(workload, shape, mixes) for shape in shapes_of(H100_80GB)]

    assert len(shapes_of(H100_80GB)) == len(benchmark(ask))
