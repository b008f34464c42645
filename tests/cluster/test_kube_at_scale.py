"""1,800 slices with 41,600 devices of 1,600 cards: how long a view takes, and how much memory."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.resources import SLICES
from fleet.boards import H100_80GB
from simulator.driver import resource_slices
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import always, open_server

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
NODES, CARDS = 200, 8
OURS = {"labelSelector": "foreslice.dev/at-scale=true"}


@pytest.fixture
def server(plane):
    """The API server with the slices of 200 nodes."""
    with closing(open_server(plane)) as opened, ThreadPoolExecutor(8) as pool:

        def publish(node):
            for body in resource_slices(f"big-{node}", [H100_80GB] * CARDS):
                metadata = {
                    "generateName": body["metadata"]["generateName"],
                    "labels": {"foreslice.dev/at-scale": "true"},
                }
                opened.request("POST", SLICES.path(), {**body, "metadata": metadata})

        try:
            list(pool.map(publish, range(NODES)))
            yield opened
        finally:
            opened.request("DELETE", SLICES.path(), query=OURS)


def resident_mib():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def timed(act):
    began_s = time.perf_counter()
    answer = act()
    return answer, time.perf_counter() - began_s


def test_a_view_is_cheap_once_it_was_taken(server, capsys):
    before_mib = resident_mib()
    with closing(KubeCluster(server, ["default"], always)) as cluster:
        fleet, cold_s = timed(lambda: cluster.view([]))
        grown_mib = resident_mib() - before_mib
        _, unchanged_s = timed(lambda: cluster.view([]))
        (body,) = server.request("GET", SLICES.path(), query={**OURS, "limit": 1})["items"]
        version = cluster.version()
        body["metadata"]["annotations"] = {"touched": "true"}
        server.request("PUT", SLICES.path(name=body["metadata"]["name"]), body)
        until(lambda: cluster.version() != version)
        _, changed_s = timed(lambda: cluster.view([]))
    with capsys.disabled():
        print(  # noqa: T201  the figures are what this is for
            f"\ncold {cold_s:.1f} s and {grown_mib:.0f} MiB, unchanged {unchanged_s * 1e3:.2f} ms, "
            f"one slice changed {changed_s * 1e3:.0f} ms"
        )
    assert (NODES * CARDS, NODES * CARDS * 26) == (
        len(fleet.gpus),
        sum(len(pool.devices) for pool in fleet.pools),
    )
    assert cold_s < 20
    assert unchanged_s < 0.005
    assert changed_s < 0.2
    assert grown_mib < 300
