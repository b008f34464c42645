"""Timings of what is learnt: the models of a fleet of two weeks, and its forecasts as a step closes."""

import copy

import numpy as np
import pytest

from predictor.features import features
from predictor.forecasters.learned import LEARNED, STEP_S, LearnedRung
from predictor.learned import Lesson, learn
from predictor.ports import WorkSeries
from tests.builders.demand import office, steps
from tests.builders.recipes import OWN, POOLED
from tests.builders.work import KEY, daily_work

TEN_MIN_S, DAYS = 600, 14
WINDOWS_S, QUANTILES = (1800, 3600), (0.5, 0.9, 0.95, 0.99)


def lesson(seed):
    """Two weeks of a workload in steps of ten minutes, no day as high as another."""
    heights = np.repeat(np.random.default_rng(seed).uniform(0.5, 3.0, DAYS), 144)
    series = steps(office(DAYS, seed, per_day=144) * heights, step_s=TEN_MIN_S)
    return Lesson(features(series, WINDOWS_S, OWN.question.calendar), len(series), TEN_MIN_S)


@pytest.mark.parametrize("workloads", [10, 100])
def test_own_models_of_a_fleet(benchmark, workloads):
    """Each by itself: a thousand take ten times as long as a hundred."""

    def train():
        return [learn([lesson(seed)], QUANTILES, OWN) for seed in range(workloads)]

    assert all(benchmark.pedantic(train))


@pytest.mark.parametrize("workloads", [10, 100, 1000])
def test_one_model_of_a_fleet(benchmark, workloads):
    model = benchmark.pedantic(lambda: learn([lesson(seed) for seed in range(workloads)], QUANTILES, POOLED))
    assert QUANTILES == model.quantiles


@pytest.fixture(scope="module")
def rung():
    lost = {place: dict.fromkeys(range(0, 15 * 86400, STEP_S), 1e9) for place in LEARNED}
    work = daily_work(DAYS)
    return LearnedRung.trained(WorkSeries(KEY, 0, work, np.zeros(len(work), bool)), lost, OWN)


@pytest.mark.parametrize("workloads", [10, 100, 1000])
def test_forecasts_of_a_fleet_as_a_step_closes(benchmark, rung, workloads):
    """Copies of one rung, each with trees of its own."""
    fleet = [copy.deepcopy(rung) for _ in range(workloads)]
    minutes = STEP_S // 60

    def open_step():
        for one in fleet:
            for _ in range(minutes - 1):
                one.update(1.0, is_censored=False)

    def close():
        for one in fleet:
            one.update(1.0, is_censored=False)
        return [one.row(LEARNED[0]) for one in fleet]

    rows = benchmark.pedantic(close, setup=open_step, rounds=3)
    assert len(rows) == workloads
    assert all(row is not None for row in rows)
