"""The standby pool in the service: what it is worth as insurance, whose turn it is, and who sleeps where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from actuator.standby.keeper import Done, Keeper, Wanted
from allocator.insured import Insurance, insured
from allocator.need import Need, Timing
from allocator.offers import Offers
from allocator.turns import Place, deal, short
from fleet.cluster import Fleet
from fleet.errors import ForesliceError
from fleet.ledgers.beds import Bed, Measured
from fleet.standby import Doing, PoolSlice, Sleeper
from fleet.workload import Workload, WorkloadKey
from foreslice.outlook import Outlook
from foreslice.standby.asks import Asks
from foreslice.standby.memory import Memory, by_model
from foreslice.standby.plan import Candidate, admitted, beds
from foreslice.standby.terms import Beds, PoolTerms, PoolView

REPLAN_S = 6 * 3600.0
"""Least time between two plans of who sleeps where: each move costs a load."""

LATE_S = 20.0
"""A wake that takes longer is not counted on, nor is any other engine of that workload: its own capacity is
ordered."""

Members = Mapping[str, frozenset[WorkloadKey]]
"""Who should sleep on each slice of a namespace, by name of the slice."""


class Standby:
    """The pool of one service; its jobs may run side by side.

    Everything that is needed to go on stands on the slices: a new process reads it there.

    Args:
        terms: What the settings say.
        keeper: Turns its slices.
        workloads: Workloads that are looked after.
        bed: Given a workload, what its engine takes of device and host as far as nothing was read.
        memory: Reads what engines take, `None` = nobody does.

    Attributes:
        asks: Who asks for slices, told of every tick.
    """

    def __init__(
        self,
        terms: PoolTerms,
        keeper: Keeper,
        workloads: Sequence[Workload],
        bed: Callable[[Workload], Bed],
        memory: Memory | None = None,
    ) -> None:
        self._terms = terms
        self._keeper = keeper
        self._workloads = {workload.key: workload for workload in workloads}
        self._namespaces = tuple(sorted({workload.key.namespace for workload in workloads}))
        self._models = {workload.key: workload.model for workload in workloads}
        self._bed = bed
        self._memory = memory
        self.asks = Asks(terms, workloads)
        self._members: Mapping[str, Members] = {}
        self._planned_at_s = float("-inf")
        self._refused: tuple[str, ...] = ()
        self._failed: tuple[str, ...] = ()
        self._unread: tuple[str, ...] = ()
        self._planned_for: Beds = {}
        self._view = PoolView()

    @property
    def view(self) -> PoolView:
        """How the pool stood when it was last turned."""
        return self._view

    def insured(
        self,
        needs: Mapping[WorkloadKey, Need],
        outlooks: Mapping[WorkloadKey, Outlook],
        fleet: Fleet,
        at_s: float,
    ) -> dict[WorkloadKey, Need]:
        """Return what is needed of own capacity beside the pool as it stands."""
        return {
            key: insured(
                need,
                Insurance(
                    self._covered(key, outlooks[key].offers, fleet, at_s),
                    self.asks.lasting(key, at_s),
                    self._terms.level,
                ),
            )
            for key, need in needs.items()
        }

    def turn(self, at_s: float, *, may_act: bool) -> tuple[Done, ...]:
        """Wake, put back and let in as far as can be done now, and return what was done.

        Args:
            at_s: Time, seconds since the epoch.
            may_act: Whether anything may be written or told; else it is only looked at.
        """
        done: list[Done] = []
        trouble: list[str] = []
        pools: list[PoolSlice] = []
        for namespace in self._namespaces:
            try:
                found = self._keeper.dormitory.slices(namespace)
                turned = list(self._turn(namespace, found, at_s)) if may_act else []
                pools += self._keeper.dormitory.slices(namespace) if turned else found
                done += turned
            except ForesliceError as error:
                trouble.append(f"standby pool of {namespace}: {error}")
        if done:
            self._failed = tuple(f"standby pool: {each}" for each in done if each.problem)
        asks = self.asks.of(pools)
        lacking = short(asks, deal(asks, _places(pools, at_s))) if pools else {}
        trouble += [f"standby pool: {pool.trouble}" for pool in pools if pool.trouble]
        told = (*trouble, *self._refused, *self._failed, *self._unread)
        seen = tuple(replace(pool, barred=pool.still_barred(at_s)) for pool in pools)
        asked = {ask.workload: ask.slices for ask in asks}
        self._view = PoolView(seen, asked, lacking, told, self._beds(pools))
        return tuple(done)

    def learn(self, at_s: float) -> None:
        """Read what engines that sleep take of hosts and devices; not for every turn: it asks the metrics."""
        if self._memory is None:
            return
        try:
            self._memory.learn(self._view.slices, at_s)
            self._unread = ()
        except ForesliceError as error:
            self._unread = (f"standby pool: memory of sleeping engines is not read: {error}",)

    def plan(
        self,
        needs: Mapping[WorkloadKey, Need],
        outlooks: Mapping[WorkloadKey, Outlook],
        timing: Mapping[WorkloadKey, Timing],
        fleet: Fleet,
        at_s: float,
    ) -> None:
        """Work out anew how large the pool is and who sleeps where; not while anybody needs it.

        It is done before its time where engines were read to take more than was planned with: the one that
        wakes would find no memory.
        """
        is_due = at_s - self._planned_at_s >= REPLAN_S or _outgrew(self._view.beds, self._planned_for)
        is_blind = any(outlook.is_blind for outlook in outlooks.values())
        if is_blind or not is_due or self.asks.of(self._view.slices):
            return
        try:
            pools = {name: self._keeper.dormitory.slices(name) for name in self._namespaces}
            taken = self._beds([pool for here in pools.values() for pool in here])
            refused: list[str] = []
            planned = {}
            for namespace, here in pools.items():
                meant = [
                    Candidate(workload, standing, outlooks[key], needs[key], timing[key])
                    for key, workload in self._workloads.items()
                    if key.namespace == namespace and workload.tier in self._terms.tiers
                    if (standing := fleet.standing(key)) is not None and standing.may_gain(workload.mode)
                ]
                joining = list(self._joining(meant, refused))
                planned[namespace] = beds(joining, here, self._terms, lambda one: taken[one.key][0])
        except ForesliceError:
            return  # turning says why, and the next plan tries again
        self._members, self._planned_at_s, self._refused = planned, at_s, tuple(refused)
        self._planned_for = taken

    def _turn(self, namespace: str, pools: Sequence[PoolSlice], at_s: float) -> Iterator[Done]:
        # Not planned since we started: what stands stays, and who asks is served.
        standing = {pool.name: frozenset(s.workload for s in pool.sleepers) for pool in pools}
        members = self._members.get(namespace, standing)
        for name in sorted(members.keys() - standing.keys()):
            self._keeper.dormitory.add(namespace, name, self._terms.shape)
        wishes = deal(self.asks.of(pools), _places(pools, at_s))
        nobody = frozenset[WorkloadKey]()
        wanted = {
            name: Wanted(admitted(here, standing.get(name, nobody), self.asks.resting), wishes.get(name))
            for name, here in members.items()
        }
        yield from self._keeper.turn(pools, wanted, at_s)

    def _joining(self, meant: Iterable[Candidate], refused: list[str]) -> Iterator[Candidate]:
        for candidate in meant:
            key = candidate.workload.key
            problem = candidate.objection(self._terms) or self._keeper.dormitory.objection(key)
            if problem:
                refused.append(f"{key}: does not join the standby pool: {problem.removeprefix(f'{key}: ')}")
            else:
                yield candidate

    def _beds(self, pools: Iterable[PoolSlice]) -> Beds:
        read, found = by_model(pools, self._models), {}
        for key, workload in self._workloads.items():
            seen = read.get(workload.model, Measured())
            found[key] = seen.of(self._bed(workload)), seen
        return found

    def _covered(self, key: WorkloadKey, offers: Offers, fleet: Fleet, at_s: float) -> float:
        """Return the work that slices carry which are a workload's own now, or nobody's."""
        standing = fleet.standing(key)
        if standing is None or any(_fails(pool, key, at_s) for pool in self._view.slices):
            return 0.0
        count, ready = sum(_is_open_to(pool, key, at_s) for pool in self._view.slices), standing.ready
        carried = (offers.carried(ready.plus(self._terms.shape, many)) for many in range(count + 1))
        return max(carried) - offers.carried(ready)


def _outgrew(now: Beds, before: Beds) -> bool:
    """Return whether an engine takes more than it was planned with."""
    pairs = [(bed, before[key][0]) for key, (bed, _) in now.items() if key in before]
    return any(new.host_gib > old.host_gib or new.context_gib > old.context_gib for new, old in pairs)


def _places(pools: Iterable[PoolSlice], at_s: float) -> list[Place]:
    """Return the slices that can be dealt; those that change hands now cannot."""
    return [
        Place(
            pool.name,
            frozenset(s.workload for s in pool.sleepers if _may_wake(pool, s, at_s)),
            pool.hold.workload if pool.hold is not None else None,
        )
        for pool in pools
        if not pool.trouble and (pool.hold is None or pool.hold.doing is Doing.SERVING)
    ]


def _is_open_to(pool: PoolSlice, key: WorkloadKey, at_s: float) -> bool:
    sleeper = pool.sleeper(key)
    if sleeper is None or pool.trouble or not _may_wake(pool, sleeper, at_s):
        return False
    return pool.hold is None or (pool.hold.workload == key and pool.hold.doing is Doing.SERVING)


def _fails(pool: PoolSlice, key: WorkloadKey, at_s: float) -> bool:
    """Return whether a workload's engine stuck here of late, or takes long to wake now."""
    if pool.is_barred(key, at_s):
        return True
    hold, sleeper = pool.hold, pool.sleeper(key)
    if hold is None or hold.workload != key or hold.doing is not Doing.SERVING:
        return False
    return at_s - hold.since_s > LATE_S and not (sleeper is not None and sleeper.is_open)


def _may_wake(pool: PoolSlice, sleeper: Sleeper, at_s: float) -> bool:
    return sleeper.is_up and not sleeper.is_leaving and not pool.is_barred(sleeper.workload, at_s)
