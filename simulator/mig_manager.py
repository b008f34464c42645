"""NVIDIA's MIG manager on one node, as it is seen from outside: labels, and what is offered after it.

The order of labels is that which mig-parted's own code wrote on a Node of a real API server (v0.15.0,
hardware commands replaced); a card whose layout differs is cleared and built anew, and if one card's MIG mode
changes, every cut card of the node is (cmd/nvidia-mig-parted/apply). How long a change takes has no published
figure; the defaults lie within the bounds of the code (1 s polls, waits of up to 5 min for each operand).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial

from actuator.inventory.layouts import card_layouts
from actuator.layouts.format import Configs, configs_in
from actuator.layouts.named import Cut
from actuator.layouts.node import CONFIG_LABEL, OPERAND_LABELS, PAUSED
from actuator.manifest import labels_of
from fleet.boards import Board
from fleet.errors import InputError
from fleet.mig import realise
from simulator.api import NODE, Api, Event
from simulator.clock import Clock
from simulator.labels import label
from simulator.offering import ByPlugin, Offering
from simulator.workqueue import WorkQueue

STATE = f"{CONFIG_LABEL}.state"
OPERANDS = tuple(
    f"{OPERAND_LABELS}{name}"
    for name in ("device-plugin", "gpu-feature-discovery", "dcgm-exporter", "dcgm", "nvsm", "client")
)
"""What is stopped and started anew; `client`, from v0.15.0, is anybody's that holds cards: DRA's plugin."""

OFF = "false"
"""An operand that people have switched off: it stays so (pkg/mig/reconfigure, maybeSetPaused)."""


class Fault(Enum):
    """What goes wrong with a change."""

    NONE = auto()
    WEDGED = auto()
    """An operand does not stop in time: operands stay paused, and the state pending."""
    REBOOTING = auto()
    """The node is to be rebooted, and nobody does it."""
    REBOOTED = auto()
    """It is rebooted, which no instance outlives, and the manager goes about the change again."""
    FAILED = auto()
    """The cards are cleared, and no order of instances succeeds."""
    PARTIAL = auto()
    """The last instance of each card cannot be made: it fails, and leaves the others."""
    HOLLOW = auto()
    """It ends in success, and the device plugin finds nothing."""
    STALE = auto()
    """It ends in success, and the device plugin, which nobody restarts, goes on to offer what there was."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long the parts of a change take, seconds.

    Attributes:
        operands_s: Until the operands have stopped.
        apply_s: Clearing and building.
        devices_s: From the state to devices on offer: the device plugin starts anew.
        reboot_s: Until a node that is rebooted is there again.
    """

    operands_s: float = 20.0
    apply_s: float = 15.0
    devices_s: float = 25.0
    reboot_s: float = 300.0


class MigManager:
    """Follows the label of one node and cuts its cards.

    Args:
        api: Where the node is.
        clock: Time.
        node: Name of the node, which exists.
        cards: What each of its cards is, and is cut into to begin with.
        config_file: Returns the text of the manager's file as its pod sees it.
        times: How long things take.
        fault: Asked once a change: what goes wrong with it.
        offering: What starts anew with a change and offers the cards; default: the device plugin.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        node: str,
        cards: Sequence[tuple[Board, Cut]],
        config_file: Callable[[], str],
        times: Times,
        fault: Callable[[], Fault],
        offering: Offering | None = None,
    ) -> None:
        self._api = api
        self._clock = clock
        self._node = node
        self._boards = [board for board, _ in cards]
        self.cuts: list[Cut] = [cut for _, cut in cards]
        self._config_file = config_file
        self._times = times
        self._fault = fault
        self._offering = offering or ByPlugin(api, node)
        self._seen: str | None = None
        self._offers: WorkQueue[str] = WorkQueue(clock, self._offer)
        self._changes: WorkQueue[str] = WorkQueue(clock, self._begin)
        self._is_changing = False
        self._hollow = False
        self._offers.add(node)
        api.watch(NODE, self._on_node)

    def _on_node(self, event: Event) -> None:
        body = event.body
        if body["metadata"]["name"] != self._node:
            return
        wanted = labels_of(body).get(CONFIG_LABEL)
        if wanted and wanted != self._seen:
            self._seen = wanted
            if not self._is_changing:
                self._changes.add(wanted)

    def _begin(self, wanted: str) -> None:
        if wanted != self._seen:
            return
        cuts = self._planned(wanted)
        if cuts is None:
            self._end("failed")
        elif cuts == self.cuts and not self._hollow:
            self._end("success")
        else:
            self._label({**self._operands(PAUSED), STATE: "pending"})
            self._change(wanted, cuts, self._fault())

    def _change(self, wanted: str, cuts: list[Cut], fault: Fault) -> None:
        """Go about a change; `rebooting` is what it says before one, and `pending` again afterwards."""
        if fault in {Fault.REBOOTING, Fault.REBOOTED}:
            self._label({STATE: "rebooting"})
        if fault is Fault.REBOOTED:
            self._is_changing = True
            self._clock.after(self._times.reboot_s, partial(self._reboot, wanted, cuts))
        elif fault not in {Fault.REBOOTING, Fault.WEDGED}:
            self._is_changing = True
            wait_s = self._times.operands_s + self._times.apply_s
            self._clock.after(wait_s, partial(self._apply, wanted, cuts, fault))

    def _reboot(self, wanted: str, cuts: list[Cut]) -> None:
        self.cuts = [None if cut is None else {} for cut in self.cuts]
        self._offer(self._node)
        self._label({STATE: "pending"})
        self._change(wanted, cuts, Fault.NONE)

    def _apply(self, wanted: str, cuts: list[Cut], fault: Fault) -> None:
        """End a change; what the label came to say meanwhile is read only now."""
        self._is_changing = False
        if fault is Fault.NONE and self._is_busy(cuts):
            fault = Fault.FAILED  # "in use by another client"
        else:
            self.cuts = [new if new is None else _made(new, fault) for new in cuts]
        self._hollow = fault is Fault.HOLLOW
        state = "failed" if fault in {Fault.FAILED, Fault.PARTIAL} else "success"
        self._end(state)
        if fault is not Fault.STALE:
            self._offers.add(self._node, self._times.devices_s)
        if wanted != self._seen and self._seen:
            self._changes.add(self._seen)

    def _planned(self, wanted: str) -> list[Cut] | None:
        """Return what a configuration makes of the cards, `None` if the manager cannot take it."""
        try:
            configs: Configs = configs_in(self._config_file(), "config.yaml")
            layouts = card_layouts(configs[wanted], len(self._boards), self._boards[0])
        except (InputError, KeyError):
            return None
        cuts = list(self.cuts)
        for layout in layouts:
            cuts[layout.index] = None if layout.is_whole else dict(layout.counts)
        return cuts

    def _is_busy(self, cuts: Sequence[Cut]) -> bool:
        """Return whether a pod may be on a card that would be cleared."""
        pairs = list(zip(self.cuts, cuts, strict=True))
        toggles = any((old is None) != (new is None) for old, new in pairs)
        cleared = [old for old, new in pairs if old != new or (toggles and old is not None)]
        return self._offering.is_busy({p for cut in cleared for p in ([None] if cut is None else cut)})

    def _end(self, state: str) -> None:
        self._label({**self._operands("true"), STATE: state})

    def _operands(self, value: str) -> dict[str, str]:
        """Return the labels of the operands that are not switched off, with this value."""
        labels = labels_of(self._api.get(NODE, None, self._node) or {"metadata": {}})
        return {name: value for name in OPERANDS if labels.get(name) != OFF}

    def _label(self, labels: dict[str, str]) -> None:
        label(self._api, self._node, labels)

    def _offer(self, _: str) -> None:
        """Have what is there offered; of a card whose instances cannot all exist there is none."""
        self._offering.show(
            [
                (board, {} if cut is not None and (self._hollow or realise(board, cut) is None) else cut)
                for board, cut in zip(self._boards, self.cuts, strict=True)
            ]
        )


def _made(wanted: Mapping[str, int], fault: Fault) -> Mapping[str, int]:
    """Return which of a card's instances come to be."""
    if fault is Fault.FAILED:
        return {}
    if fault is Fault.PARTIAL:
        last = max(wanted, default=None)
        return {profile: n - (profile == last) for profile, n in wanted.items() if n > (profile == last)}
    return wanted
