"""First fit of the embedded scheduler, and of the real one, on the slices that our driver publishes."""

import random
from pathlib import Path

import pytest
import yaml

from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import A100_80GB, BOARDS, H100_80GB
from fleet.shape import Shape
from simulator.agents import start_control_plane, start_nodes
from simulator.api import CLAIM, POD
from simulator.clock import VirtualClock
from simulator.delays import Delays
from simulator.store import ObjectStore
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.fakes.manifests import cel

CASES = yaml.safe_load((Path(__file__).parents[1] / "data/nvidia-dra/allocations.yaml").read_text())
CARDS = (A100_80GB, H100_80GB, H100_80GB)
SHAPES = tuple((board, Shape(board.id, profile.name)) for board in CARDS[:2] for profile in board.profiles)
STEPS = 60
LEAVING = 0.4
MINUTE_S = 60

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


class Embedded:
    """Pods with a claim each on one node of the embedded world."""

    def __init__(self, boards):
        self._clock = VirtualClock(1_750_000_000.0)
        self._store = ObjectStore(self._clock)
        start_nodes(self._store, self._clock, {"n0": boards}, Idle(), Delays(1))
        start_control_plane(self._store, self._clock, Delays(1))

    def ask(self, name, asked):
        """Run a pod and return its device, `None` if it must wait."""
        body = {"metadata": {"namespace": "shop", "name": name}}
        claim = {"devices": {"requests": [asked]}}
        self._store.create(
            {"apiVersion": CLAIM.api_version, "kind": CLAIM.name, **body, "spec": claim},
        )
        spec = {"containers": [], "resourceClaims": [{"name": "r", "resourceClaimName": name}]}
        self._store.create({"apiVersion": "v1", "kind": "Pod", **body, "spec": spec})
        self._clock.run_until(self._clock.now_s + MINUTE_S)
        return self.device(name)

    def device(self, name):
        """Return the device of a pod's claim, `None` if it has none."""
        allocation = self._store.get(CLAIM, "shop", name).get("status", {}).get("allocation")
        return allocation and allocation["devices"]["results"][0]["device"]

    def end(self, name):
        """Let a pod and its claim go."""
        self._store.delete(POD, "shop", name, grace_s=0)
        self._store.delete(CLAIM, "shop", name)
        self._clock.run_until(self._clock.now_s + MINUTE_S)


class Idle:
    """Containers that do nothing."""

    def start(self, pod, shape):
        pass

    def load_s(self, pod):
        return 1.0

    def drain_s(self, pod):
        return 0.0

    def stop(self, pod):
        pass


def asked(board, shape):
    """The request that the actuator would write for a shape."""
    template = claim_template("shop", board, shape, Ask("gpu", request_of(board, shape)))
    return template["spec"]["spec"]["devices"]["requests"][0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_devices_are_those_that_were_seen_on_slices_of_the_real_driver(lab, case):
    lab.node(*[BOARDS[case["board"]]] * case["cards"])
    for number, step in enumerate(case["sequence"]):
        selectors = [cel(step["expression"])] if "expression" in step else []
        exactly = {"deviceClassName": step["class"], "selectors": selectors}
        got = lab.ask(f"p{number}", {"name": "r", "exactly": exactly})
        assert (step, step["got"]) == (step, got)


@pytest.mark.parametrize("seed", range(3))
def test_both_schedulers_give_the_same_devices(lab, seed):
    """Pods come and go at random; one that must wait is withdrawn, since who is next is a matter of time."""
    chance = random.Random(seed)
    embedded, names = Embedded(CARDS), []
    lab.node(*CARDS)
    shapes = [*SHAPES, (H100_80GB, Shape(H100_80GB.id))]
    for number in range(STEPS):
        if names and chance.random() < LEAVING:
            name = names.pop(chance.randrange(len(names)))
        else:
            name, (board, shape) = f"p{number}", chance.choice(shapes)
            request = asked(board, shape)
            real = lab.ask(name, request)
            assert (number, shape, real) == (number, shape, embedded.ask(name, request))
            if real is not None:
                names.append(name)
                continue
        end(lab, name)
        embedded.end(name)


def end(lab, name):
    """Let a pod and its claim go, and wait until its devices are free."""
    lab.delete(POD, name, grace_s=0)
    lab.delete(CLAIM, name)
    until(lambda: lab.get(CLAIM, name) is None)
