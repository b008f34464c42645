"""A small embedded cluster whose engines serve steadily while a process acts on it, call by call."""

import numpy as np

from actuator.mechanisms.device_plugin import PRODUCT_LABEL
from actuator.mechanisms.engine_memory import UTILISATION
from actuator.objects.beside import Beside
from actuator.objects.plans import is_open, proven_by
from actuator.objects.rollouts import INSTEAD_OF
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, UnavailableError
from fleet.shape import Shape
from simulator.agents import start_control_plane
from simulator.api import (
    AUTOSCALER,
    CLAIM,
    CLAIM_TEMPLATE,
    DEPLOYMENT,
    FRACTION_TARGET,
    NODE,
    POD,
    TAINT_RULE,
)
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.containers import EngineContainers
from simulator.driver import publish, resource_slices
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import deployment, plugged_deployment, whole_gpu_template
from simulator.node import NodeAgent
from simulator.static_driver import BY_MEMORY, Card, static_slices
from simulator.store import ObjectStore
from tests.builders.delays import Always
from tests.builders.engines import Laws, Offered, workload
from tests.fakes import manifests
from tests.fakes.cluster import VERBS, WRITES, Killed

START_S = 0.0
TICK_S = 10.0
LASTS_S = 1200
REQUESTS_PER_S = 5.0
WEB = workload("web")
BESIDE = "by-owner"


class Stage:
    """Workload `web` on whole cards of two, under steady requests.

    Args:
        replicas: Whole cards in the beginning.
        cards: How they are given: `cut` by claims, in parts to claims (`shared`), where engines are told what
            memory they may take, or by the device plugin (`plugged`), one of them cut in two.
        beside: Replicas of a Deployment that the owner has made on halves of cards, `None` = there is none.
        crashing: Profiles on which no engine comes to serve.
        spec: What else the Deployment says.

    Attributes:
        engines: What serves them, and the router's account of it.
        beside: What settings say of that Deployment.
    """

    def __init__(self, replicas=1, *, cards="cut", beside=None, crashing=(), **spec):
        self._clock = VirtualClock(START_S)
        self.store = ObjectStore(self._clock)
        offered = np.zeros((LASTS_S, 1))
        offered[60:] = REQUESTS_PER_S
        self.engines = Engines([WEB], Offered(offered), Laws(), int(START_S))
        containers = EngineContainers(
            self.store, self.engines, self._clock, Always(), Journal(), frozenset(crashing)
        )
        NodeAgent(self.store, self._clock, "n0", containers, Always())
        if cards == "cut":
            publish(self.store, "n0", resource_slices("n0", [H100_80GB] * 2))
        elif cards == "shared":
            publish(self.store, "n0", static_slices("n0", [Card(H100_80GB)] * 2, BY_MEMORY))
        else:
            self._offer({"nvidia.com/gpu": "1", "nvidia.com/mig-3g.40gb": "2"})
        start_control_plane(self.store, self._clock, Always())
        if cards == "plugged":
            web = plugged_deployment(WEB, Shape(H100_80GB.id), replicas)
        else:
            self.store.create(whole_gpu_template("shop"))
            web = deployment(WEB, replicas)
        if cards == "shared":
            web["spec"]["template"]["spec"]["containers"][0]["args"] += [
                f"--gpu-memory-utilization=$({UTILISATION})"
            ]
        if beside is not None:
            web = _on(web, "whole")
            self.store.create(manifests.template("half", namespace="shop"))
            self.store.create(_on(deployment(WEB, beside), "half", name=BESIDE))
        self.beside = Beside({} if beside is None else {WEB.key: (BESIDE,)})
        web["spec"] |= spec
        self.store.create(web)
        self.wait(60.0)

    def _offer(self, resources):
        """Have the node's device plugin offer this."""
        node = self.store.get(NODE, None, "n0")
        labels = node["metadata"]["labels"] | {PRODUCT_LABEL: H100_80GB.product_names[0].replace(" ", "-")}
        node = self.store.replace({**node, "metadata": {**node["metadata"], "labels": labels}})
        status = {part: node["status"][part] | resources for part in ("capacity", "allocatable")}
        self.store.replace_status({**node, "status": {**node["status"], **status}})

    @property
    def now_s(self):
        """Seconds since the epoch."""
        return self._clock.now_s

    def opened(self):
        """Return an adapter that knows nothing yet, as a new process has."""
        return EmbeddedCluster(self.store, beside=self.beside)

    def wait(self, seconds=TICK_S):
        """Let time pass."""
        self._clock.run_until(self._clock.now_s + seconds)
        self.engines.advance(self._clock.now_s)

    def end(self):
        """Return what stands: replicas asked for and pods by Deployment, and what was said and noted."""
        pods = self.store.list(POD)
        stands = {
            _name(body): (
                body["spec"]["replicas"],
                sum(body["metadata"]["uid"] == pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods),
            )
            for body in self.store.list(DEPLOYMENT)
        }
        told = {
            f"told {_name(body)}": body["status"]["replicas"] for body in self.store.list(FRACTION_TARGET)
        }
        floors = {_name(body): body["spec"]["minReplicas"] for body in self.store.list(AUTOSCALER)}
        plans = self.opened().plans(WEB.key)
        proven = {f"proven {s.name}": True for plan in plans for s in proven_by(plan)}
        return stands | told | floors | proven

    def wrong(self):
        """Yield what must not be there in the end, one line each."""
        tally = self.engines.tally
        if tally.refused.sum() or tally.cut.sum():
            yield f"{tally.refused.sum():.0f} requests were refused, {tally.cut.sum():.0f} cut"
        if tally.inside.sum() < 0.999 * tally.offered.sum():
            yield f"{tally.inside.sum():.0f} of {tally.offered.sum():.0f} requests were inside their SLO"
        pods = {pod["metadata"]["uid"] for pod in self.store.list(POD)}
        for claim in self.store.list(CLAIM):
            if claim["metadata"]["ownerReferences"][0]["uid"] not in pods:
                yield f"claim {claim['metadata']['name']} of no pod"
        used = {
            held["resourceClaimTemplateName"]
            for body in self.store.list(DEPLOYMENT)
            for held in body["spec"]["template"]["spec"].get("resourceClaims", ())
        }
        used |= {
            template["metadata"].get("annotations", {}).get(INSTEAD_OF)
            for template in self.store.list(CLAIM_TEMPLATE)
            if template["metadata"]["name"] in used
        }
        for template in self.store.list(CLAIM_TEMPLATE):
            if template["metadata"]["name"] not in used:
                yield f"template {template['metadata']['name']} of no Deployment"
        for rule in self.store.list(TAINT_RULE):
            yield f"{rule['spec']['deviceSelector']['device']} is still held"
        for record in self.opened().plans(WEB.key):
            if is_open(record):
                yield f"plan {record.change.name} is left open"


def _on(body, shape, name="web"):
    """A Deployment of `web` whose pods are told apart by their shape, under a name and its claim template."""
    labels = {"shape": shape}
    body["metadata"]["name"] = name
    body["spec"]["selector"]["matchLabels"] |= labels
    body["spec"]["template"]["metadata"]["labels"] |= labels
    if shape == "half":
        [held] = body["spec"]["template"]["spec"]["resourceClaims"]
        held["resourceClaimTemplateName"] = "half"
    return body


def _name(body):
    return body["metadata"]["name"]


class Trap:
    """A cluster of whose calls of the port one goes wrong; every other goes through.

    Args:
        cluster: The port.
        number: Which call,
        spring: What goes wrong: called with the call, in its place.
        verbs: of these.

    Attributes:
        is_sprung: Whether that call was made.
        called: Verbs that were called.
    """

    def __init__(self, cluster, number, spring, verbs=WRITES):
        self._cluster = cluster
        self._verbs = verbs
        self.called = set()
        self._left = number
        self._spring = spring
        self.is_sprung = False

    def __getattr__(self, verb):
        call = getattr(self._cluster, verb)
        if verb not in self._verbs:
            return call

        def trapped(*args, **named):
            self.called.add(verb)
            self._left -= 1
            if self._left:
                return call(*args, **named)
            self.is_sprung = True
            return self._spring(lambda: call(*args, **named))

        return trapped


class Torn(EmbeddedCluster):
    """A cluster whose process is killed right before one of the single writes that calls of the port make."""

    WRITES = ("create", "replace", "replace_status", "delete")

    def __init__(self, stage, number):
        self._trap = Trap(stage.store, number, SPRINGS["killed-before"], self.WRITES)
        super().__init__(self._trap, beside=stage.beside)

    @property
    def is_sprung(self):
        """Whether it came so far."""
        return self._trap.is_sprung


def raising(error, *, after):
    """Return a spring that raises, before the call takes effect or after it."""

    def spring(call):
        if after:
            call()
        raise error

    return spring


SPRINGS = {
    "killed-before": raising(Killed(), after=False),
    "killed-after": raising(Killed(), after=True),
    "409": raising(ConflictError("changed meanwhile"), after=False),
    "429-or-500": raising(UnavailableError("429 too many requests"), after=False),
    "timeout": raising(UnavailableError("no answer in time"), after=True),
}
"""What can go wrong with a call, by name; a timeout is one that took effect."""


class Deaf:
    """A cluster whose watch is lost for some calls from one on: it shows what stood then, and is written."""

    def __init__(self, cluster, number, calls=12):
        self._cluster = cluster
        self._from, self._until = number, number + calls
        self._calls = 0
        self._seen = None

    @property
    def is_sprung(self):
        """Whether it came so far."""
        return self._calls >= self._from

    def view(self, workloads):
        """Show the fleet, or what stood when the watch was lost."""
        self._calls += 1
        if self._from <= self._calls < self._until:
            self._seen = self._seen or self._cluster.view(workloads)
            return self._seen
        return self._cluster.view(workloads)

    def __getattr__(self, verb):
        if verb in VERBS:
            self._calls += 1
        return getattr(self._cluster, verb)
