"""From SIGTERM to a leader until the next process leads: two seconds are wanted, of which one is a look."""

import signal
from contextlib import ExitStack

import pytest

from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.service import NOBODY, folder_of, holder, says, service, settings

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
ROUNDS = 5


@pytest.fixture
def path(plane, shop, tmp_path):
    with folder_of(plane, shop, tmp_path) as folder:
        yield settings(folder, "true", NOBODY)


def test_hand_over(benchmark, shop, path):
    with ExitStack() as running:
        processes = [running.enter_context(service(path))]
        leaders = [until(lambda: holder(shop))]

        def stand_by():
            processes.append(running.enter_context(service(path)))
            says(processes[-1], "another process leads")

        def hand_over():
            processes[-2].send_signal(signal.SIGTERM)
            leaders.append(until(lambda: other_holder(shop, leaders[-1]), every_s=0.01))

        benchmark.pedantic(hand_over, setup=stand_by, rounds=ROUNDS)
    assert 1 + ROUNDS == len(set(leaders))


def other_holder(shop, before):
    """Who leads, if it is another one."""
    now = holder(shop)
    return now if now != before else None
