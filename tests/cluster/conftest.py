"""Real control planes, one for each Kubernetes minor, and what tests bring to them."""

import os
import shutil
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from actuator.kube.connect import connect
from simulator.agents import start_nodes
from simulator.eventloop import EventLoop
from simulator.heartbeat import Heartbeat
from simulator.layouts import start_managers
from simulator.node import NodeAgent
from simulator.rest import RestApi, address
from tests.cluster.controlplane import control_plane
from tests.cluster.lab import DEVICE_CLASS, Lab
from tests.cluster.shop import shop_of

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "out" / "cluster"
NEWEST = "1.37"
MINORS = ("1.34", "1.35", "1.36", NEWEST) if os.environ.get("ALL_MINORS") else ("1.35", NEWEST)
LONGEST = "test_service.py"
LABS = count()

# As in the chart of NVIDIA's driver.
CLASSES = {
    "gpu.nvidia.com": ("gpu", {"extendedResourceName": "nvidia.com/gpu"}),
    "mig.nvidia.com": ("mig", {}),
}


def pytest_collection_modifyitems(items):
    """Give each test the time that a control plane may need to start, and let the longest of them begin.

    Of two processes (`pytest -n 2 --dist loadfile`) one then waits for it, and the other runs the rest.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(300))
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.fixture(scope="session", params=MINORS, ids=lambda minor: f"v{minor}")
def plane(request, tmp_path_factory):
    """A control plane of the minor; its logs are kept if any test fails."""
    directory = tmp_path_factory.mktemp(f"v{request.param}")
    with control_plane(request.param, directory) as started:
        make_classes(started)
        yield started
    if request.session.testsfailed:
        kept = OUT / directory.name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(directory, kept, ignore=shutil.ignore_patterns("etcd"))
        request.config.stash.setdefault(LOGS, []).append(kept)
    shutil.rmtree(directory)


LOGS = pytest.StashKey()


def pytest_terminal_summary(terminalreporter, config):
    """Say where the logs of the control planes are, if they were kept."""
    for directory in config.stash.get(LOGS, []):
        terminalreporter.write_line(f"logs of the control plane: {directory}/*.log")


def make_classes(plane):
    """Create the device classes of the driver's chart."""
    with closing(connect(plane.kubeconfig)) as server:
        for name, (kind, more) in CLASSES.items():
            of_driver = "device.driver == 'gpu.nvidia.com'"
            selector = f"{of_driver} && device.attributes['gpu.nvidia.com'].type == '{kind}'"
            body = {
                "apiVersion": DEVICE_CLASS.api_version,
                "kind": DEVICE_CLASS.name,
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": selector}}], **more},
            }
            server.request("POST", address(DEVICE_CLASS), body)


@pytest.fixture
def server(plane):
    """A connection to the control plane as administrator."""
    with closing(connect(plane.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def lab(server, request):
    """A namespace of the test's own; `lab.node` adds nodes that only its pods use."""
    made = Lab(server, f"lab-{next(LABS)}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def shop(plane):
    """Namespace `shop` with a node of two H100, for all tests of a module."""
    with shop_of(plane) as made:
        yield made


class Agents:
    """Real time, and what acts in it as clients of the API server."""

    def __init__(self, server, faster=1.0):
        self.clock = EventLoop(faster)
        self.api = RestApi(server, self.clock)
        self._raised = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def add_nodes(self, nodes, containers, delays):
        """Register nodes with these cards; their pods run in `containers`."""
        start_nodes(self.api, self.clock, nodes, containers, delays)
        Heartbeat(self.api, self.clock, nodes)

    def add_managed(self, nodes, board, managed, containers, delays):
        """Register nodes under MIG managers; their pods run in `containers`."""
        for node in nodes:
            NodeAgent(self.api, self.clock, node, containers, delays)
        Heartbeat(self.api, self.clock, nodes)
        start_managers(self.api, self.clock, nodes, board, managed)

    def close(self):
        """End everything, and raise what an agent could not cope with."""
        self.clock.stop()
        self._thread.join()
        self.api.close()
        if self._raised is not None:
            raise self._raised

    def _run(self):
        try:
            self.clock.run()
        except Exception as error:  # noqa: BLE001  raised again by `close`
            self._raised = error


@pytest.fixture
def agents(server):
    """Agents of the simulator on the control plane, for as long as the test lasts."""
    with closing(Agents(server)) as started:
        yield started
