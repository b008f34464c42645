"""A pool's slice on a real control plane: pods share its claim, one is awake at a time, over real HTTP."""

import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from actuator.kube.standby import KubePoolObjects
from actuator.standby.course import Rhythm
from actuator.standby.engines import sleeping_engines
from actuator.standby.http import HttpDoors
from actuator.standby.keeper import Keeper, Wanted
from actuator.standby.objects import ObjectDormitory
from actuator.standby.parting import part
from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from fleet.shape import Shape
from fleet.standby import EngineState, Sleeper
from fleet.workload import WorkloadKey
from simulator.api import DEPLOYMENT, POD
from simulator.manifests import NAME_LABEL
from simulator.sleep import Beds, Naps, SleepMode, Stage
from simulator.sleeping_pods import SleepingContainers
from tests.builders.delays import AT_ONCE
from tests.builders.engines import workload
from tests.cluster.lab import pod_spec, until
from tests.cluster.permissions import as_service_account, bind, granted, install, unbind
from tests.cluster.test_node_agents import Notes
from tests.fakes.manifests import request

WHOLE = Shape(H100_80GB.id)
NAMES = ("ant", "bee", "cat")
RHYTHM = Rhythm(settle_s=1.0, awake_s=1.0)
TURN_S = 0.3


class Engines:
    """The endpoints of all engines, each under the name of its pod; calls are carried out on the agents'
    thread."""

    def __init__(self, mode, clock):
        engines = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                pod, _, what = self.path.lstrip("/").partition("/")
                state = mode.state(as_sleeper(pod))
                text = f'{{"is_sleeping": {str(state is EngineState.ASLEEP).lower()}}}'
                if what == "metrics":
                    text = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n"
                self._answer(503 if state is EngineState.SILENT else 200, text)

            def do_POST(self):
                pod, _, what = self.path.partition("?")[0].lstrip("/").partition("/")
                engines.told.append((what, pod))
                call = mode.sleep if what == "sleep" else mode.wake
                clock.after(0, lambda: call(as_sleeper(pod)))
                self._answer(200, "")

            def _answer(self, status, text):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.told = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def as_sleeper(pod):
    return Sleeper(WorkloadKey("", ""), pod, "", is_up=True, is_open=False)


def deploy(lab, name, replicas):
    """Create a Deployment of engines with a sleep mode, each on a whole card of its own."""
    pods = pod_spec(lab.name, [{"name": "r", "resourceClaimTemplateName": "whole"}])
    pods["containers"][0] |= {
        "args": ["--enable-sleep-mode"],
        "env": [{"name": "VLLM_SERVER_DEV_MODE", "value": "1"}],
    }
    labels = {NAME_LABEL: name}
    template = {"metadata": {"labels": labels}, "spec": pods}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    lab.create(DEPLOYMENT, name, spec=spec)


class Place:
    """A node with two cards for three workloads with a pool slice, and a keeper that turns."""

    def __init__(self, lab, agents, server):
        self.lab, self.server, self._clock = lab, server, agents.clock
        self.keys = {name: WorkloadKey(lab.name, name) for name in NAMES}
        known = {key: workload(name, namespace=lab.name) for name, key in self.keys.items()}
        self.mode = SleepMode(agents.clock, Naps(1))
        beds = Beds({H100_80GB.id: H100_80GB}, sleepers=len(NAMES))
        containers = SleepingContainers(agents.api, Notes(), self.mode, beds, known)
        lab.agents_node(agents, [H100_80GB] * 2, containers, AT_ONCE)
        lab.template("whole", request("gpu.nvidia.com", None))
        for name in NAMES:
            deploy(lab, name, replicas=0)
        self.engines = Engines(self.mode, agents.clock)
        self.doors = HttpDoors(sleeping_engines()["vllm"], lambda one: f"{self.engines.url}/{one.pod}")
        self.awake, self.turn_s = [], TURN_S

    def keeper(self):
        """A process that knows nothing yet."""
        objects = KubePoolObjects(self.server, lambda: None)
        dormitory = ObjectDormitory(objects, [H100_80GB], sleeping_engines()["vllm"], 0.9)
        return Keeper(dormitory, self.doors, RHYTHM)

    def slice(self):
        """The slice as it stands."""
        (pool,) = self.keeper().dormitory.slices(self.lab.name)
        return pool

    def parting(self, name):
        """Bring a workload that leaves the pool for good as far as now; return whether it is still there."""
        dormitory = self.keeper().dormitory
        return list(part(dormitory, self.lab.name, [self.keys[name]], self._clock.now_s))

    def turn_until(self, is_so, wish=None):
        """Turn the pool, each turn by a process that knows nothing of the last, until something is so."""
        wanted = {"s": Wanted(frozenset(self.keys.values()), wish and self.keys[wish])}

        def turned():
            keeper = self.keeper()
            try:
                pools = keeper.dormitory.slices(self.lab.name)
                self.done = [str(done) for done in keeper.turn(pools, wanted, self._clock.now_s)]
            except UnavailableError:
                return None
            stages = (self.mode.stage(f"{name}-s") for name in NAMES)
            self.awake.append(sum(stage not in {None, Stage.ASLEEP} for stage in stages))
            time.sleep(self.turn_s)
            return is_so(self.slice())

        until(turned)

    def close(self):
        self.doors.close()
        self.engines.close()


@pytest.fixture
def place(lab, agents, server):
    with closing(Place(lab, agents, server)) as made:
        made.keeper().dormitory.add(lab.name, "s", WHOLE)
        yield made


def is_at_rest(pool):
    return pool.hold is None


def is_full(pool):
    return is_at_rest(pool) and len(pool.sleepers) == len(NAMES)


def test_one_after_the_other_is_woken_on_a_shared_claim_and_two_never(place, lab):
    place.turn_until(is_full)
    claims = {use["resourceClaimName"] for pod in lab.list(POD) for use in pod["spec"]["resourceClaims"]}
    assert ({"s"}, 1) == (claims, len({lab.devices(f"{name}-s") for name in NAMES}))
    assert not any(lab.is_ready(f"{name}-s") for name in NAMES)

    for name in ("ant", "bee"):
        others = [f"{other}-s" for other in NAMES if other != name]
        place.turn_until(lambda _, pod=f"{name}-s": lab.is_ready(pod), wish=name)
        assert not any(lab.is_ready(other) for other in others)
        place.turn_until(is_at_rest)
        assert not lab.is_ready(f"{name}-s")

    assert ([], 1) == (place.mode.collisions, max(place.awake))
    assert ["ant-s", "bee-s"] == [pod for what, pod in place.engines.told if what == "wake_up"]

    until(lambda: not place.parting("cat"))
    assert {"ant-s", "bee-s"} == {pod["metadata"]["name"] for pod in lab.list(POD)}
    assert is_at_rest(place.slice())


def test_what_it_asks_for_is_what_the_rights_of_a_pool_grant(plane, place, lab):
    install(place.server, "observe")
    install(place.server, "act")
    install(place.server, "standby")
    roles = ("foreslice-observe-workloads", "foreslice-act-standby")
    for role in roles:
        bind(place.server, role, lab.name)
    admin, rights = (
        place.server,
        granted("standby")
        | {
            ("list", "", "pods"),
            ("list", "apps", "deployments"),
            ("list", "resource.k8s.io", "resourceclaims"),
            ("list", "resource.k8s.io", "resourceclaimtemplates"),
        },
    )
    with closing(as_service_account(plane, admin)) as ours:
        place.server = ours
        place.keeper().dormitory.add(lab.name, "t", WHOLE)
        (empty,) = [pool for pool in place.keeper().dormitory.slices(lab.name) if pool.name == "t"]
        place.keeper().dormitory.drop(empty)
        place.turn_until(is_full)
        place.turn_until(lambda _: lab.is_ready("cat-s"), wish="cat")
        place.turn_until(lambda pool: pool.hold is None)
        pool = place.keeper().dormitory.slices(lab.name)[0]
        place.keeper().dormitory.remove(pool, pool.sleepers[0])
        assert rights == ours.asked
        place.server = admin
    for role in roles:
        unbind(admin, role, lab.name)
