"""A node under the simulated device plugin, and the door by which foreslice changes its time slices."""

from actuator.layouts.node import TAINT
from actuator.manifest import key_of
from actuator.slicing.hands import turn
from actuator.slicing.node import CONFIG_LABEL, PROGRESS, progress_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, RefusedError
from simulator.api import POD
from simulator.clock import VirtualClock
from simulator.layouts import EmbeddedNodes
from simulator.slicing_plugin import PluginTimes, SlicingPlugin
from simulator.store import ObjectStore

NAME, TURN_S, START_S = "gpu-1", 10.0, 1_750_000_000.0
WHOLE = "version: v1\nflags:\n  migStrategy: mixed\n"
QUARTERS = WHOLE + "sharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4}\n"
RENAMED = QUARTERS.replace("    resources", "    renameByDefault: true\n    resources")
PEOPLES = {"whole": WHOLE, "quarters": QUARTERS, "renamed": RENAMED}


class SlicingSite(EmbeddedNodes):
    """A node of some H100, its device plugin, and what is done to it by turns.

    Implements `actuator.slicing.hands.Door`. The plugin's pod sees a config `sync_s` after it was written.
    """

    def __init__(self, config="whole", cards=2, sync_s=60.0, spoilt=()):
        self.clock = VirtualClock(START_S)
        self.store = ObjectStore(self.clock)
        super().__init__(self.store)
        self.written = [(float("-inf"), dict(PEOPLES))]
        self.sync_s = sync_s
        self.spoilt = spoilt
        self.kept_by_budget = set()
        meta = {"name": NAME, "labels": {CONFIG_LABEL: config}}
        self.store.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})
        SlicingPlugin(self.store, self.clock, NAME, H100_80GB, cards, self.files_in_the_pod, PluginTimes())
        self.clock.run_until(START_S + 120)

    def files_in_the_pod(self):
        texts = [texts for at_s, texts in self.written if at_s + self.sync_s <= self.clock.now_s][-1]
        return {name: text if name in PEOPLES or not self.spoilt else "[]" for name, text in texts.items()}

    @property
    def labels(self):
        return self.node(NAME)["metadata"]["labels"]

    @property
    def offer(self):
        held = self.node(NAME)["status"]["allocatable"]
        return {name.removeprefix("nvidia.com/"): int(n) for name, n in held.items() if int(n)}

    @property
    def progress(self):
        return progress_of(self.node(NAME), PROGRESS)

    @property
    def is_held(self):
        return any(taint["key"] == TAINT["key"] for taint in self.node(NAME)["spec"].get("taints", []))

    @property
    def pods(self):
        return sorted(pod["metadata"]["name"] for pod in self.pods_on(NAME))

    def add_pod(self, name, memory="0.2", resource="gpu", **annotations):
        meta = {"namespace": "llm", "name": name, "annotations": annotations}
        container = {"name": "c", "image": "i", "args": [f"--gpu-memory-utilization={memory}"]}
        container["resources"] = {"limits": {f"nvidia.com/{resource}": "1"}}
        spec = {"nodeName": NAME, "containers": [container]}
        self.store.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    # Door, what is not that of every node of the embedded world.

    def configs(self):
        return self.written[-1][1], str(len(self.written))

    def write_configs(self, texts, version):
        if version != str(len(self.written)):
            raise ConflictError("the ConfigMap was changed meanwhile")
        now = {**self.written[-1][1], **texts}
        self.written.append((self.clock.now_s, {n: text for n, text in now.items() if text is not None}))

    def evict(self, pod):
        if str(key_of(pod)) in self.kept_by_budget:
            raise RefusedError("Cannot evict pod as it would violate the pod's disruption budget.")
        super().evict(pod)
        self.store.delete(POD, pod["metadata"]["namespace"], pod["metadata"]["name"], grace_s=0)

    # Turns.

    def turn(self, replicas):
        step = turn(self, NAME, replicas, self.clock.now_s)
        self.clock.run_until(self.clock.now_s + TURN_S)
        return step

    def until_quiet(self, replicas, turns=1000):
        """Turn until nothing is left to do, and return the acts in their order, each once in a row."""
        acts = []
        for _ in range(turns):
            step = self.turn(replicas)
            if not acts or acts[-1] != step.act:
                acts.append(step.act)
            if step.act in {"nothing", "refuse"} or (step.act == "release" and self.progress is not None):
                return acts, step
        raise AssertionError(f"still at it after {turns} turns: {acts}")
