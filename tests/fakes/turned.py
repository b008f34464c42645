"""A node that is changed by turns, each by a process that knows nothing of the last."""

from actuator.layouts.node import TAINT
from actuator.manifest import key_of
from fleet.errors import RefusedError
from simulator.api import POD
from simulator.clock import VirtualClock
from simulator.layouts import EmbeddedNodes
from simulator.store import ObjectStore

NAME, TURN_S, START_S = "gpu-1", 10.0, 1_750_000_000.0


class TurnedNode(EmbeddedNodes):
    """One node of the embedded world, and who keeps its pods; how a turn is taken, `step` says."""

    def __init__(self, labels):
        self.clock = VirtualClock(START_S)
        self.store = ObjectStore(self.clock)
        super().__init__(self.store)
        self.kept_by_budget = set()
        meta = {"name": NAME, "labels": labels}
        self.store.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})

    @property
    def labels(self):
        return self.node(NAME)["metadata"]["labels"]

    @property
    def offer(self):
        held = self.node(NAME)["status"]["allocatable"]
        return {
            name.removeprefix("nvidia.com/"): int(n)
            for name, n in held.items()
            if name.startswith("nvidia.com/") and int(n)
        }

    @property
    def is_held(self):
        return any(taint["key"] == TAINT["key"] for taint in self.node(NAME)["spec"].get("taints", []))

    def evict(self, pod):
        if str(key_of(pod)) in self.kept_by_budget:
            raise RefusedError("Cannot evict pod as it would violate the pod's disruption budget.")
        super().evict(pod)
        self.store.delete(POD, pod["metadata"]["namespace"], pod["metadata"]["name"], grace_s=0)

    def turn(self, wanted=None):
        step = self.step(wanted)
        self.clock.run_until(self.clock.now_s + TURN_S)
        return step

    def until_quiet(self, wanted=None, turns=1000):
        """Turn until nothing is left to do, and return the acts in their order, each once in a row."""
        acts = []
        for _ in range(turns):
            step = self.turn(wanted)
            if not acts or acts[-1] != step.act:
                acts.append(step.act)
            if step.act in {"nothing", "refuse"} or (step.act == "release" and self.progress is not None):
                return acts, step
        raise AssertionError(f"still at it after {turns} turns: {acts}")


def add_twin(site, name):
    """Add a node that is as the site's own is now."""
    body = site.node(NAME)
    meta = {"name": name, **{part: body["metadata"].get(part, {}) for part in ("labels", "annotations")}}
    made = site.store.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": body["spec"]})
    site.store.replace_status({**made, "status": body["status"]})
