"""The standby pool's words: slices that sleeping engines of several workloads share, at most one awake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fleet.ledgers.beds import Measured
from fleet.workload import WorkloadKey


class EngineState(StrEnum):
    """What an engine says of itself: its weights are in host memory, it may serve, or it does not answer."""

    ASLEEP = "asleep"
    AWAKE = "awake"
    SILENT = "silent"


class Doing(StrEnum):
    """What a slice is held for: an engine loads once, serves, or is put back to sleep."""

    LOADING = "loading"
    SERVING = "serving"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class Hold:
    """Whose turn a slice is: the fence, without which no engine on it is woken.

    Attributes:
        workload: Whose engine may have the slice's memory.
        doing: What for.
        since_s: Since when, seconds since the epoch.
    """

    workload: WorkloadKey
    doing: Doing
    since_s: float


@dataclass(frozen=True, slots=True)
class Sleeper:
    """One standby pod.

    Attributes:
        workload: Whose.
        pod: Its name; of a workload there is one on a slice.
        address: Where it is reached, empty before it has one.
        is_up: Its containers have started and loaded.
        is_open: Its gate is open: once it is up, requests are sent to it.
        is_leaving: It was told to end.
        turned_s: When its gate was last turned, seconds since the epoch; 0 = never.
        version: Version of the pod that a turn of its gate must still find.
        port: Where its engine listens, 0 = where its kind does.
    """

    workload: WorkloadKey
    pod: str
    address: str
    is_up: bool
    is_open: bool
    is_leaving: bool = False
    turned_s: float = 0.0
    version: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class PoolSlice:
    """One ResourceClaim that standby pods share.

    Attributes:
        namespace: Where it is; a claim is shared inside one namespace only.
        name: Its name.
        version: Version that a write must still find.
        hold: Whose turn it is, `None` = nobody's: all sleep.
        sleepers: Its standby pods, at most one of each workload.
        barred: Workloads whose engine stuck here, and until when it is left alone, seconds since the epoch.
        node: Node of the device, empty before one was allocated.
        trouble: Why nothing is done on it, one line; empty = something may be.
        taken: What engines were read to take while they slept here.
    """

    namespace: str
    name: str
    version: str
    hold: Hold | None = None
    sleepers: tuple[Sleeper, ...] = ()
    barred: Mapping[WorkloadKey, float] = field(default_factory=dict, hash=False)
    node: str = ""
    trouble: str = ""
    taken: Mapping[WorkloadKey, Measured] = field(default_factory=dict, hash=False)

    @property
    def is_at_rest(self) -> bool:
        """Whether nobody has it and all engines on it should sleep."""
        is_quiet = all(each.is_up and not each.is_open and not each.is_leaving for each in self.sleepers)
        return self.hold is None and not self.trouble and bool(self.sleepers) and is_quiet

    def sleeper(self, workload: WorkloadKey) -> Sleeper | None:
        """Return the standby pod of a workload."""
        return next((each for each in self.sleepers if each.workload == workload), None)

    def is_barred(self, workload: WorkloadKey, at_s: float) -> bool:
        """Return whether a workload's engine stuck here and is still left alone."""
        return workload in self.still_barred(at_s)

    def still_barred(self, at_s: float) -> dict[WorkloadKey, float]:
        """Return who is still left alone, and until when: those who are over stay until the next write."""
        return {workload: until_s for workload, until_s in self.barred.items() if at_s < until_s}
