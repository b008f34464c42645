"""Slices of many nodes of eight H100 each, without the nodes themselves: no pod comes to them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from actuator.kube.resources import SLICES
from fleet.boards import H100_80GB
from simulator.driver import resource_slices

CARDS = 8
DEVICES_OF_A_CARD = 26
PAGE_BYTES = 4096
PREFIX = "large-"
LABEL = "foreslice.dev/large"
OURS = {"labelSelector": f"{LABEL}=true"}


@contextmanager
def large_fleet(server, nodes):
    """Publish the slices of so many nodes, and take them away in the end."""

    def publish(node):
        for body in resource_slices(f"{PREFIX}{node}", [H100_80GB] * CARDS):
            metadata = {"generateName": body["metadata"]["generateName"], "labels": {LABEL: "true"}}
            server.request("POST", SLICES.path(), {**body, "metadata": metadata})

    def withdraw(node):
        # All in one request take longer on a busy machine than any request may.
        server.request("DELETE", SLICES.path(), query=_of(node))

    with ThreadPoolExecutor(8) as pool:
        try:
            list(pool.map(publish, range(nodes)))
            yield
        finally:
            list(pool.map(withdraw, range(nodes)))


def _of(node):
    """What selects the slices of one node."""
    return {**OURS, "fieldSelector": f"spec.nodeName={PREFIX}{node}"}


def resident_mib():
    """Return the memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE_BYTES / 2**20


def say(text):
    """Print a figure that a benchmark is there for."""
    print(f"\n{text}")  # noqa: T201


def touch_cards(server):
    """Change one slice of cards, and nothing that matters of it."""
    found = server.request("GET", SLICES.path(), query=_of(0))["items"]
    body = next(body for body in found if "devices" in body["spec"])
    annotations = {"touched": body["metadata"]["resourceVersion"]}
    metadata = {**body["metadata"], "annotations": annotations}
    server.request("PUT", SLICES.path(name=metadata["name"]), {**body, "metadata": metadata})


def devices_of(fleet):
    """Return the devices of the large fleet."""
    return [device for pool in fleet.pools if pool.name.startswith(PREFIX) for device in pool.devices]
