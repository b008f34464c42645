"""The fleet as one consistent snapshot: cards, what runs on them, and who owns it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from fleet.boards import Board
from fleet.devices import Device, Pool
from fleet.holds import Hold
from fleet.host import NOTHING, Host, HostAmount, Pods
from fleet.past import Fall, Start
from fleet.restraints import Approval, DisruptionBudget
from fleet.rollout import NONE, Rollout
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import Mode, WorkloadKey
from fleet.writers import Scaler, Writer


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card.

    Attributes:
        uuid: As the driver publishes it.
        node: Node that holds it.
        board: Geometry and size, names as read from the device.
    """

    uuid: str
    node: str
    board: Board


@dataclass(frozen=True, slots=True)
class Replica:
    """One pod of a workload.

    Attributes:
        pod: Pod name.
        variant: Deployment that made it.
        shape: What it runs on, or asked for while nothing is allocated.
        device: What the scheduler allocated, read back; `None` while pending.
        is_ready: It serves, and what it runs on is what was asked.
        is_leaving: It drains and takes no new requests.
        created_at_s: Creation time, seconds since the epoch.
        scheduled_at_s: When the scheduler gave it a node, `None` before.
        ready_at_s: When it last became ready, `None` while it is not.
        prepared_at_s: When its devices and its sandbox were there, `None` before or where that is not said.
        spared_by: Annotation by which its owner asks that it is not disrupted, empty = none.
        is_old: It was made from an earlier template of its Deployment.
    """

    pod: str
    variant: str
    shape: Shape
    device: Device | None
    is_ready: bool
    is_leaving: bool
    created_at_s: float
    scheduled_at_s: float | None = None
    ready_at_s: float | None = None
    prepared_at_s: float | None = None
    spared_by: str = ""
    is_old: bool = False

    @property
    def serves(self) -> bool:
        """Whether it takes new requests."""
        return self.is_ready and not self.is_leaving


@dataclass(frozen=True, slots=True)
class Variant:
    """One Deployment of a workload: all its replicas have one shape.

    Attributes:
        name: Deployment name.
        shape: What each replica runs on.
        wanted: What we ask for: `spec.replicas`, or the floor of what scales it.
        version: Version that a write must still find (`metadata.resourceVersion`).
        is_base: The workload's own Deployment.
        replicas: Its pods.
        alternatives: Shapes that its replicas take where there is no room for `shape`.
        autoscaled: `spec.replicas` where something else sets them above our floor, else 0.
        may_take_held: Whether its claims are given devices that are held for the workload.
        grace_s: How long its pods may still serve once they are told to end, in seconds.
        is_spread: Its pods ask to be spread over fault domains.
        host: What each of its pods takes of a node beside devices.
        members: Pods of one replica that may stand on several nodes, each with its part of the cards.
        closed: Nodes that its pods are not put on.
        is_beside: Another Deployment of the workload's owner; what is neither is a copy that foreslice keeps.
        rollout: How its pods come to a changed template.
    """

    name: str
    shape: Shape
    wanted: int
    version: str
    is_base: bool
    replicas: tuple[Replica, ...] = ()
    alternatives: tuple[Shape, ...] = ()
    autoscaled: int = 0
    may_take_held: bool = False
    grace_s: float = inf
    is_spread: bool = False
    host: HostAmount = NOTHING
    members: int = 1
    closed: frozenset[str] = frozenset()
    is_beside: bool = False
    rollout: Rollout = NONE

    @property
    def is_copy(self) -> bool:
        """Whether foreslice made it, and not the workload's owner."""
        return not (self.is_base or self.is_beside)

    @property
    def told(self) -> int:
        """Replicas that are asked for, by us or by what scales it."""
        return max(self.wanted, self.autoscaled)

    @property
    def ready(self) -> int:
        """Number of its replicas that serve."""
        return sum(replica.serves for replica in self.replicas)

    @property
    def is_rolling(self) -> bool:
        """Whether pods of an earlier template have yet to be told to end."""
        return any(replica.is_old and not replica.is_leaving for replica in self.replicas)

    @property
    def serving(self) -> Counter[Shape]:
        """Its replicas that serve, by what they run on."""
        return Counter(replica.shape for replica in self.replicas if replica.serves)

    @property
    def asked(self) -> Counter[Shape]:
        """`wanted` by shape: what was allocated counts as what it is, the rest as `shape`."""
        counts: Counter[Shape] = Counter({self.shape: self.wanted})
        if self.alternatives:
            taken = [r.shape for r in self.replicas if r.device is not None and not r.is_leaving]
            others = [shape for shape in taken if shape in self.alternatives][: self.wanted]
            counts.update(others)
            counts[self.shape] -= len(others)
        return counts


@dataclass(frozen=True)
class Standing:
    """How a workload stands in the cluster.

    Attributes:
        key: Which workload.
        variants: Its Deployments: its own, then those that its owner made beside it, then copies.
        changed_at_s: When foreslice last changed its replicas or shapes, `None` if never; read
            from the plans kept in the cluster, so that a restart forgets nothing.
        reshaped_at_s: When a plan last took it to other shapes, `None` if never.
        moving_to: Goal of a plan that is not finished, `None` if there is none.
        moving_from: What was asked for when that plan was decided, likewise.
        before: What was asked for before foreslice first changed it, `None` if it never did.
        falls: What kept plans took away.
        starts: Additions of kept plans that have become ready.
        has_news: Whether what a kept plan added is ready, and the plan does not say so yet.
        unanswered: Pods that kept plans added and whose first token they do not tell of.
        budgets: PodDisruptionBudgets that select its pods.
        permits: How far its annotations let us go, whatever settings say.
        held_until_s: Until when its owner has nothing moved or removed, seconds since the epoch.
        approval: What its owner agrees to where the mode is advise.
        may_have_variants: Whether copies of it on other shapes can be made.
        changes_per_day: Changes that give replicas up which its owner lets be made in a day, `None` = any.
        scalers: What sets its replicas by load.
        writers: Who else writes its replicas, or applies its Deployment.
        written_by_hand_at_s: When a person last wrote its replicas and nobody since, `None` if never.
        proven: Shapes that have served it inside its objectives for long enough; `None` = nobody asks.
        trials: How far shapes have come in proving themselves, as kept plans have it.
        forbidden: Why nothing may be written for it, one clause; empty = something may.
        is_spread: Copies that are yet to be made of it will ask to be spread over fault domains.
        left_out: Why Deployments that settings name beside its own are not used, one line each.
        switches: Its own Deployment is switched from one shape to another, and no copies are made.
    """

    key: WorkloadKey
    variants: tuple[Variant, ...]
    changed_at_s: float | None = None
    reshaped_at_s: float | None = None
    moving_to: Configuration | None = None
    moving_from: Configuration | None = None
    before: Configuration | None = None
    falls: tuple[Fall, ...] = ()
    starts: tuple[Start, ...] = ()
    has_news: bool = False
    unanswered: frozenset[str] = frozenset()
    budgets: tuple[DisruptionBudget, ...] = ()
    permits: Mode = Mode.FULL
    held_until_s: float = -inf
    approval: Approval | None = None
    may_have_variants: bool = True
    changes_per_day: int | None = None
    scalers: tuple[Scaler, ...] = ()
    writers: tuple[Writer, ...] = ()
    written_by_hand_at_s: float | None = None
    proven: tuple[Shape, ...] | None = None
    trials: Mapping[Shape, Trial] = field(default_factory=dict, hash=False)
    forbidden: str = ""
    is_spread: bool = False
    left_out: tuple[str, ...] = ()
    switches: bool = False

    def may_gain(self, mode: Mode) -> bool:
        """Return whether a workload's mode and its annotations let capacity be added to it."""
        return min(mode, self.permits).may_add and not self.forbidden

    def is_proven(self, shape: Shape) -> bool:
        """Return whether replicas of a shape may be relied on; those that its owner runs may."""
        if self.proven is None or shape in self.proven:
            return True
        if self.before is not None and shape in self.before:
            return True
        return shape == self.own.shape and not self.own.rollout.is_switched

    def slows(self, shape: Shape) -> tuple[bool, bool]:
        """Return what makes replicas of a shape come later, the worst first: a trial, nodes without files.

        Where the workload runs its image and its weights are on the node; nodes have cards of one board.
        """
        boards = {r.shape.board for v in self.variants for r in v.replicas if r.serves}
        return not self.is_proven(shape), shape.board not in boards

    def given_up(self, at_s: float) -> frozenset[Shape]:
        """Return the shapes that are not to be used at a time: their trials failed, or found no room.

        Room may be wanting for what has proven itself, too; what it asks for already it is not kept from.
        """
        return frozenset(
            shape
            for shape, trial in self.trials.items()
            if trial.is_given_up(at_s)
            if not self.is_proven(shape) or (trial.roomless and shape != self.own.shape)
        )

    def variant(self, shape: Shape) -> Variant | None:
        """Return the Deployment whose replicas have this shape."""
        return next((v for v in self.variants if v.shape == shape), None)

    def pods(self, shape: Shape) -> Pods:
        """Return what new replicas of a shape want beside a device; a copy yet to be made is like the others.

        Those of copies prefer nodes where copies run.
        """
        variant = self.variant(shape)
        if variant is None and self.switches:
            return replace(self.pods(self.own.shape), may_take_held=True)
        if variant is not None:
            return Pods(
                self.key,
                gathers=variant.is_copy,
                is_spread=variant.is_spread,
                host=variant.host,
                may_take_held=variant.may_take_held,
                members=variant.members,
                closed=variant.closed,
            )
        return Pods(
            self.key,
            gathers=True,
            is_spread=self.is_spread or any(each.is_spread for each in self.variants),
            host=self.host,
            may_take_held=True,
            closed=self.closed,
        )

    def named(self, name: str) -> Variant | None:
        """Return the Deployment of this name."""
        return next((v for v in self.variants if v.name == name), None)

    @property
    def host(self) -> HostAmount:
        """What each of its replicas takes of nodes beside devices, whatever their shape."""
        return next((variant.host * variant.members for variant in self.variants), NOTHING)

    @property
    def closed(self) -> frozenset[str]:
        """Nodes that its pods are not put on, whatever their shape: copies say what the base says."""
        return next((variant.closed for variant in self.variants), frozenset())

    @property
    def own(self) -> Variant:
        """The user's own Deployment."""
        return self.variants[0]

    @cached_property
    def wanted(self) -> Configuration:
        """What we asked for, ready or not."""
        return Configuration(sum((variant.asked for variant in self.variants), Counter()))

    @cached_property
    def told(self) -> Configuration:
        """What is asked for, by us or by what scales it, ready or not."""
        above = ({variant.shape: variant.told - variant.wanted} for variant in self.variants)
        return Configuration(sum(map(Counter, above), Counter(self.wanted.counts)))

    @cached_property
    def ready(self) -> Configuration:
        """What serves now."""
        return Configuration(sum((variant.serving for variant in self.variants), Counter()))


@dataclass(frozen=True)
class Fleet:
    """Everything a decision may depend on, as of one version of the cluster.

    Attributes:
        version: Grows with every change of the cluster; opaque.
        gpus: Cards, in published order.
        pools: DRA pools with devices in the order in which the scheduler tries them.
        allocated: Devices in use by anyone, ours or foreign.
        standings: Workloads found in the cluster.
        refused: Why a workload that was asked for cannot be handled, one line each.
        barred: Shapes that are offered but must not be asked for, with the reason, one line each.
        hosts: Nodes by name, as far as they are known.
        holds: Devices that we keep for workloads.
        breaches: Held devices that a scheduler gave to others all the same, one line each.
        queued: GPUs that pods of others count with, by the queue that they name.
    """

    version: str
    gpus: tuple[Gpu, ...]
    pools: tuple[Pool, ...]
    allocated: tuple[Device, ...]
    standings: tuple[Standing, ...]
    refused: Mapping[WorkloadKey, str] = field(default_factory=dict, hash=False)
    barred: Mapping[Shape, str] = field(default_factory=dict, hash=False)
    hosts: Mapping[str, Host] = field(default_factory=dict, hash=False)
    holds: tuple[Hold, ...] = ()
    breaches: tuple[str, ...] = ()
    queued: Mapping[str, float] = field(default_factory=dict, hash=False)

    def domain_of(self, node: str) -> str:
        """Return the fault domain of a node, empty = none is known."""
        host = self.hosts.get(node)
        return host.domain if host is not None else ""

    def standing(self, key: WorkloadKey) -> Standing | None:
        """Return how a workload stands, `None` if the cluster does not have it."""
        return self._by_key.get(key)

    def placed(self) -> Iterator[tuple[Standing, Variant, Replica, Device]]:
        """Yield the replicas that have a device, with whose they are and the device."""
        for standing in self.standings:
            for variant in standing.variants:
                for replica in variant.replicas:
                    if replica.device is not None:
                        yield standing, variant, replica, replica.device

    @cached_property
    def _by_key(self) -> dict[WorkloadKey, Standing]:
        return {standing.key: standing for standing in self.standings}

    @property
    def gpus_in_use(self) -> int:
        """Number of cards with at least one allocated device."""
        return len({device.gpu for device in self.allocated})

    def boards(self) -> tuple[Board, ...]:
        """Return each kind of board once, in order of id."""
        return tuple(sorted({gpu.board for gpu in self.gpus}, key=lambda board: board.id))
