"""Training on a Dask cluster of processes comes to the same as here, and survives the death of a worker."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from distributed import LocalCluster

from fleet.errors import InputError, UnavailableError
from foreslice.challenging import spread_on
from foreslice.on_dask import on_dask
from predictor.calendar import Calendar
from predictor.features import features
from predictor.learned import Lesson, learn
from tests.builders.demand import DAY, office, steps
from tests.builders.pieces import slow_square
from tests.builders.recipes import recipe


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=True
    ) as cluster:
        yield cluster


def test_a_worker_that_is_killed_midway_loses_nothing(cluster, tmp_path):
    marks = tmp_path / "marks"

    def kill():
        while not marks.exists() or not marks.read_text(encoding="utf-8"):
            time.sleep(0.02)
        os.kill(int(marks.read_text(encoding="utf-8").split()[0]), signal.SIGKILL)

    with on_dask(cluster.scheduler_address) as spread:
        killer = threading.Thread(target=kill)
        killer.start()
        found = spread(slow_square, range(8), str(marks))
        killer.join()
    assert [item**2 for item in range(8)] == found
    assert 8 < len(marks.read_text(encoding="utf-8").split())


def test_it_comes_to_the_same_model_as_here(cluster):
    tables = features(steps(office(8)), (1800, 3600), Calendar())
    lessons = [Lesson(tables, 7 * DAY, 1800)]
    asked = (0.5, 0.95), recipe(trees=10)
    with on_dask(cluster.scheduler_address) as spread:
        there = learn(lessons, *asked, spread=spread)
    rows = tables[1800].rows
    for expected, said in zip(
        learn(lessons, *asked).predict(rows, 1800), there.predict(rows, 1800), strict=True
    ):
        np.testing.assert_array_equal(expected, said)


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("", InputError, "--scheduler: is missing"),
        ("nonsense://x", InputError, "is no address"),
        ("tcp://127.0.0.1:9", UnavailableError, "does not answer"),
    ],
)
def test_a_scheduler_that_is_not_there_is_one_line(address, error, said):
    with pytest.raises(error, match=said), spread_on(address):
        pass
