"""A node under the simulated device plugin, and the door by which foreslice changes its time slices."""

from actuator.slicing.hands import turn
from actuator.slicing.node import CONFIG_LABEL, PROGRESS, progress_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from simulator.slicing_plugin import PluginTimes, SlicingPlugin
from tests.fakes.turned import NAME, START_S, TurnedNode

WHOLE = "version: v1\nflags:\n  migStrategy: mixed\n"
QUARTERS = WHOLE + "sharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4}\n"
RENAMED = QUARTERS.replace("    resources", "    renameByDefault: true\n    resources")
PEOPLES = {"whole": WHOLE, "quarters": QUARTERS, "renamed": RENAMED}


class SlicingSite(TurnedNode):
    """A node of some H100, its device plugin, and what is done to it by turns.

    Implements `actuator.slicing.hands.Door`. The plugin's pod sees a config `sync_s` after it was written.
    """

    def __init__(self, config="whole", cards=2, sync_s=60.0, spoilt=()):
        super().__init__({CONFIG_LABEL: config})
        self.written = [(float("-inf"), dict(PEOPLES))]
        self.sync_s = sync_s
        self.spoilt = spoilt
        SlicingPlugin(self.store, self.clock, NAME, H100_80GB, cards, self.files_in_the_pod, PluginTimes())
        self.clock.run_until(START_S + 120)

    def files_in_the_pod(self):
        texts = [texts for at_s, texts in self.written if at_s + self.sync_s <= self.clock.now_s][-1]
        return {name: text if name in PEOPLES or not self.spoilt else "[]" for name, text in texts.items()}

    @property
    def progress(self):
        return progress_of(self.node(NAME), PROGRESS)

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

    def step(self, wanted):
        return turn(self, NAME, wanted, self.clock.now_s)
