"""A view of 1,800 slices with 41,600 devices of 1,600 cards, on a real API server: CPU time and memory."""

import time
from contextlib import ExitStack, closing

import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.large import (
    CARDS,
    DEVICES_OF_A_CARD,
    devices_of,
    large_fleet,
    resident_mib,
    say,
    touch_cards,
)
from tests.cluster.shop import always

pytestmark = [
    pytest.mark.parametrize("plane", [NEWEST], indirect=True),
    pytest.mark.benchmark(timer=time.process_time),
]
NODES = 200
ROUNDS = 3


@pytest.fixture(scope="module")
def server(plane):
    with closing(connect(plane.kubeconfig)) as opened, large_fleet(opened, NODES):
        yield opened


@pytest.fixture
def cluster(server):
    with closing(KubeCluster(server, ["default"], always)) as opened:
        opened.view([])
        yield opened


def test_first_view(benchmark, server, capsys):
    """From nothing: lists, watches, and the first snapshot. A fleet is most of what the service holds."""
    grown_mib = []
    with ExitStack() as opened:

        def view():
            before_mib = resident_mib()
            cluster = opened.enter_context(closing(KubeCluster(server, ["default"], always)))
            fleet = cluster.view([])
            grown_mib.append(resident_mib() - before_mib)
            return fleet

        fleet = benchmark.pedantic(view, rounds=ROUNDS)
    assert NODES * CARDS * DEVICES_OF_A_CARD == len(devices_of(fleet))
    with capsys.disabled():
        say(f"first view: {grown_mib[0]:.0f} MiB more")


def test_unchanged_view(benchmark, cluster):
    assert benchmark(cluster.view, []).gpus


def test_view_after_one_slice_changed(benchmark, cluster, server):
    def change():
        version = cluster.version()
        touch_cards(server)
        until(lambda: cluster.version() != version)

    fleet = benchmark.pedantic(cluster.view, args=([],), setup=change, rounds=5 * ROUNDS)
    assert fleet.gpus
