"""A node under the simulated MIG manager, and the door that foreslice changes it through."""

from actuator.inventory.layouts import card_layouts
from actuator.layouts.hands import turn
from actuator.layouts.named import entries_of, name_of
from actuator.layouts.node import CONFIG_LABEL, TAINT, Wish, progress_of
from actuator.manifest import key_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, RefusedError
from simulator.api import POD
from simulator.clock import VirtualClock
from simulator.layouts import EmbeddedNodes
from simulator.mig_manager import Fault, MigManager, Times
from simulator.store import ObjectStore

NAME, TURN_S, START_S = "gpu-1", 10.0, 1_750_000_000.0
FILE = """\
version: v1
mig-configs:
  night: # by the platform team
    - {devices: [0, 1], mig-enabled: true, mig-devices: {1g.10gb: 7}}
    - {devices: [2, 3], mig-enabled: true, mig-devices: {7g.80gb: 1}}
"""
NIGHT = [{"1g.10gb": 7}, {"1g.10gb": 7}, {"7g.80gb": 1}, {"7g.80gb": 1}]
DAY = [{"3g.40gb": 1, "4g.40gb": 1}, {"1g.10gb": 7}, {"7g.80gb": 1}, {"3g.40gb": 2}]


def wish(cuts=DAY):
    entries = entries_of(cuts)
    return Wish(name_of(entries), entries)


class Site(EmbeddedNodes):
    """A node of four H100 in the layout `night`, its manager, and what is done to it by turns.

    The manager's pod sees a file `sync_s` after it was written.
    """

    def __init__(self, faults=(), sync_s=60.0, board=H100_80GB, cuts=NIGHT, file=FILE):
        self.clock = VirtualClock(START_S)
        self.store = ObjectStore(self.clock)
        super().__init__(self.store)
        self.texts = [(float("-inf"), file)]
        self.sync_s = sync_s
        self.faults = list(faults)
        self.kept_by_budget = set()
        self.calls = []
        labels = {
            "nvidia.com/gpu.product": board.product_names[0].replace(" ", "-"),
            CONFIG_LABEL: "night",
            f"{CONFIG_LABEL}.state": "success",
        }
        meta = {"name": NAME, "labels": labels}
        self.store.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})
        cards = [(board, cut) for cut in cuts]
        self.manager = MigManager(
            self.store, self.clock, NAME, cards, self.file_in_the_pod, Times(), self.next_fault
        )
        self.clock.run_until(START_S + 120)

    def next_fault(self):
        return self.faults.pop(0) if self.faults else Fault.NONE

    def file_in_the_pod(self):
        return [text for at_s, text in self.texts if at_s + self.sync_s <= self.clock.now_s][-1]

    # What the node is.

    @property
    def labels(self):
        return self.node(NAME)["metadata"]["labels"]

    @property
    def offer(self):
        held = self.node(NAME)["status"]["allocatable"]
        return {
            name.removeprefix("nvidia.com/"): int(n)
            for name, n in held.items()
            if int(n) and "nvidia" in name
        }

    @property
    def progress(self):
        return progress_of(self.node(NAME))

    @property
    def is_held(self):
        return any(taint["key"] == TAINT["key"] for taint in self.node(NAME)["spec"].get("taints", []))

    def add_pod(self, name, resource, kind="containers", **annotations):
        meta = {"namespace": "llm", "name": name, "annotations": annotations}
        container = {"name": "c", "image": "i", "resources": {"limits": {f"nvidia.com/{resource}": "1"}}}
        spec = {"nodeName": NAME, "containers": [{"name": "d", "image": "i"}], kind: [container]}
        self.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    # Door.

    def file(self):
        return self.texts[-1][1], str(len(self.texts))

    def write_file(self, text, version):
        self.calls.append("write")
        if version != str(len(self.texts)):
            raise ConflictError("the file was changed meanwhile")
        self.texts.append((self.clock.now_s, text))

    def mark(self, node, labels, notes, *, is_held):
        self.calls.append("mark")
        super().mark(node, labels, notes, is_held=is_held)

    def evict(self, pod):
        self.calls.append("evict")
        if str(key_of(pod)) in self.kept_by_budget:
            raise RefusedError("Cannot evict pod as it would violate the pod's disruption budget.")
        super().evict(pod)
        self.store.delete(POD, pod["metadata"]["namespace"], pod["metadata"]["name"], grace_s=0)

    # Turns.

    def turn(self, to=None):
        step = turn(self, NAME, to or wish(), self.clock.now_s)
        self.clock.run_until(self.clock.now_s + TURN_S)
        return step

    def until_quiet(self, to=None, turns=1000):
        """Turn until nothing is left to do, and return the acts in their order, each once in a row."""
        acts = []
        for _ in range(turns):
            step = self.turn(to)
            if not acts or acts[-1] != step.act:
                acts.append(step.act)
            if step.act in {"nothing", "refuse"} or (step.act == "release" and self.progress is not None):
                return acts, step
        raise AssertionError(f"still at it after {turns} turns: {acts}")


def legal(cut, board=H100_80GB):
    """Whether a card's instances can all exist at once."""
    (layout,) = card_layouts(entries_of([cut]), 1, board)
    return layout.is_legal


def add_twin(site, name):
    """Add a node that is as the site's own is now."""
    body = site.node(NAME)
    meta = {"name": name, **{part: body["metadata"].get(part, {}) for part in ("labels", "annotations")}}
    made = site.store.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": body["spec"]})
    site.store.replace_status({**made, "status": body["status"]})
