"""A node under the simulated MIG manager, and the door that foreslice changes it through."""

from actuator.inventory.layouts import card_layouts
from actuator.layouts.hands import turn
from actuator.layouts.named import entries_of, name_of
from actuator.layouts.node import CONFIG_LABEL, Wish, progress_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError
from simulator.mig_manager import Fault, MigManager, Times
from simulator.offering import ByPlugin
from tests.fakes.turned import NAME, START_S, TurnedNode

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


class Site(TurnedNode):
    """A node of four H100 in the layout `night`, its manager, and what is done to it by turns.

    The manager's pod sees a file `sync_s` after it was written.
    """

    def __init__(self, faults=(), sync_s=60.0, board=H100_80GB, cuts=NIGHT, file=FILE, offering=ByPlugin):
        labels = {
            "nvidia.com/gpu.product": board.product_names[0].replace(" ", "-"),
            CONFIG_LABEL: "night",
            f"{CONFIG_LABEL}.state": "success",
        }
        super().__init__(labels)
        self.texts = [(float("-inf"), file)]
        self.sync_s = sync_s
        self.faults = list(faults)
        self.calls = []
        cards = [(board, cut) for cut in cuts]
        self.manager = MigManager(
            self.store,
            self.clock,
            NAME,
            cards,
            self.file_in_the_pod,
            Times(),
            self.next_fault,
            offering(self.store, NAME),
        )
        self.clock.run_until(START_S + 120)

    def next_fault(self):
        return self.faults.pop(0) if self.faults else Fault.NONE

    def file_in_the_pod(self):
        return [text for at_s, text in self.texts if at_s + self.sync_s <= self.clock.now_s][-1]

    @property
    def progress(self):
        return progress_of(self.node(NAME))

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
        super().evict(pod)

    def step(self, wanted):
        return turn(self, NAME, wanted or wish(), self.clock.now_s)


def legal(cut, board=H100_80GB):
    """Whether a card's instances can all exist at once."""
    (layout,) = card_layouts(entries_of([cut]), 1, board)
    return layout.is_legal
