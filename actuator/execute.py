"""Carries out change sets in two lanes: additions at once, moves one by one.

Additions of all workloads come first and wait for nothing but their own limits. Moves are serial per
workload and bounded in the fleet; what counts as under way is read from the cluster, so nothing is
lost with the process. An error of one workload stays with that workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from actuator.budgets import ChangeBudget, Kind, Spending, kind_of
from actuator.crowd import STARTS_PER_NODE, Crowd
from actuator.drains import Drains
from actuator.evidence import news
from actuator.gate import Terms, refusal
from actuator.guards import Halt
from actuator.objects.plans import is_open
from actuator.outcome import Outcome, StepResult
from actuator.pace import NO_LIMITS, FallLimits, Pace
from actuator.ports import Cluster
from actuator.settle import settlements
from actuator.stepper import Stepper
from actuator.turning_back import turn_back
from fleet.change import ChangeSet, Lane, Step, Verb
from fleet.cluster import Fleet, Standing
from fleet.errors import ForesliceError, RefusedError
from fleet.shape import Configuration
from fleet.workload import Mode, WorkloadKey

MOVES_IN_FLIGHT = 4
"""Workloads that may be losing replicas at the same time, so that a wrong decision reaches few."""

MANUAL_HOLD_S = 1800.0
"""What a person has asked for is not taken away sooner."""

GO_ON = Halt()


@dataclass(frozen=True, slots=True)
class _Task:
    """A change set with what it is judged by."""

    change: ChangeSet
    standing: Standing
    terms: Terms

    @property
    def kind(self) -> Kind:
        """What the change is as a whole: where its additions are made, what is left looks like a removal."""
        begun = self.standing.moving_from if self.standing.moving_to == self.change.goal else None
        return kind_of(begun or self.change.start, self.change.goal)

    @property
    def may_turn_back(self) -> bool:
        """Whether what failed may be undone: not where its owner has nothing changed."""
        return min(self.terms.mode, self.standing.permits).may_add and not self.standing.forbidden

    def steps(self, lane: Lane) -> list[Step]:
        return [step for step in self.change.steps if step.lane is lane]


class Executor:
    """Carries out change sets on a cluster.

    Args:
        cluster: What is written to.
        dry_run: Nothing is written; results say what would be.
        moves_in_flight: Workloads that may be losing replicas at the same time.
        limits: How fast the fleet may shrink.
        starts_per_node: Engines that may be starting on one node at the same time.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        dry_run: bool = False,
        moves_in_flight: int = MOVES_IN_FLIGHT,
        limits: FallLimits = NO_LIMITS,
        starts_per_node: int = STARTS_PER_NODE,
    ) -> None:
        self._cluster = cluster
        self._dry_run = dry_run
        self._moves_in_flight = moves_in_flight
        self._limits = limits
        self._starts_per_node = starts_per_node
        # Goals for which no plan of the workload is left open: a cache, empty after a restart.
        self._settled: dict[WorkloadKey, Configuration] = {}

    def run(
        self,
        changes: Sequence[ChangeSet],
        terms: Mapping[WorkloadKey, Terms],
        at_s: float,
        halt: Halt = GO_ON,
        budgets: Sequence[ChangeBudget] = (),
    ) -> tuple[StepResult, ...]:
        """Carry out what may be done now, and return what became of every step, additions first.

        Args:
            changes: What is wanted, most urgent first; those without steps say that a goal is reached.
            terms: What must hold, by workload; a workload without terms is not touched.
            at_s: Time of the run, seconds since the epoch.
            halt: What must stop.
            budgets: How many changes that give replicas up may be made.
        """
        if halt.everything:
            return _all_held(changes, halt.everything[0])
        try:
            fleet = self._cluster.view(tuple(terms))
        except ForesliceError as error:
            return _all_held(changes, str(error))
        pace = Pace(fleet, changes, terms, at_s, self._limits)
        crowd = Crowd(fleet, self._starts_per_node, at_s)
        stepper = Stepper(self._cluster, at_s)
        results: list[StepResult] = []
        tasks = []
        for task in self._tasks(changes, fleet, terms, pace):
            tasks.append(replace(task, change=crowd.cut(task.change, task.standing, task.terms)))
            results += self._add(tasks[-1], stepper, crowd)
        for task in tasks:
            results += self._settle(task, at_s)
            self._note_news(task, at_s)
        results += self._move(tasks, fleet, stepper, halt, pace, budgets)
        taken = {task.change.target for task in tasks}
        left_out = [change for change in changes if change.target not in taken]
        return (*results, *_all_held(left_out, "the workload is not opted in, or gone"))

    def _tasks(
        self, changes: Sequence[ChangeSet], fleet: Fleet, terms: Mapping[WorkloadKey, Terms], pace: Pace
    ) -> Iterator[_Task]:
        """Yield changes of which something is to be done or written down; mostly that is of few."""
        for change in changes:
            standing = fleet.standing(change.target)
            if standing is None or change.target not in terms:
                continue
            is_settled = self._settled.get(change.target) == change.goal
            if change.steps or standing.has_news or standing.unanswered or not is_settled:
                judged_by = replace(terms[change.target], goal=str(change.goal), at_s=pace.at_s)
                yield _Task(pace.cut(change, standing), standing, judged_by)

    def _add(self, task: _Task, stepper: Stepper, crowd: Crowd) -> Iterator[StepResult]:
        absent: set[str] = set()
        for step in task.steps(Lane.ADD):
            why_not = crowd.refusal(task.standing, step) or refusal(task.standing, step, task.terms)
            if step.variant in absent:
                why_not = f"{step.variant} could not be created"
            result = self._step(task, step, stepper, why_not)
            if result.outcome in {Outcome.HELD, Outcome.FAILED}:
                if step.verb is Verb.CREATE_VARIANT:
                    absent.add(step.variant)
                else:
                    crowd.give_back(task.standing, step)
            yield result

    def _move(
        self,
        tasks: Sequence[_Task],
        fleet: Fleet,
        stepper: Stepper,
        halt: Halt,
        pace: Pace,
        budgets: Sequence[ChangeBudget],
    ) -> Iterator[StepResult]:
        if not any(task.steps(Lane.MOVE) for task in tasks):
            return
        moving = {standing.key for standing in fleet.standings if is_moving(standing)}
        drains, spending = Drains(fleet, self._limits.per_node), Spending(fleet, budgets, pace.at_s)
        for task in tasks:
            kind = task.kind
            for step in task.steps(Lane.MOVE):
                why_not = (
                    self._must_wait(task, moving, halt)
                    or drains.refusal(task.standing, step)
                    or _by_hand(task.standing, pace.at_s)
                    or spending.refusal(task.standing, kind)
                    or pace.refusal(task.standing, step)
                    or refusal(task.standing, step, task.terms)
                )
                result = self._step(task, step, stepper, why_not)
                if result.outcome is not Outcome.HELD:
                    moving.add(task.change.target)
                    drains.take(task.standing, step)
                    pace.take(task.standing, step)
                    spending.take(task.standing, kind)
                yield result

    def _must_wait(self, task: _Task, moving: set[WorkloadKey], halt: Halt) -> str | None:
        if halt.moves:
            return halt.moves[0]
        if task.change.target in moving:
            return "replicas of this workload are still leaving or being replaced"
        if len(moving) >= self._moves_in_flight:
            return f"{len(moving)} workloads are losing replicas, at most {self._moves_in_flight} may"
        return None

    def _step(self, task: _Task, step: Step, stepper: Stepper, why_not: str | None) -> StepResult:
        target = task.change.target
        if why_not is not None:
            return StepResult(target, step, Outcome.HELD, why_not)
        if self._dry_run:
            return StepResult(target, step, Outcome.PROPOSED, step.reason)
        self._settled.pop(target, None)
        return stepper.carry_out(task.change, step, task.terms)

    def _settle(self, task: _Task, at_s: float) -> list[StepResult]:
        """End open steps of kept plans that are done, no longer wanted or failed; else the next run does."""
        target = task.change.target
        if not self._is_unsettled(task):
            return []
        left_open, results = False, list[StepResult]()
        try:
            for record in self._cluster.plans(target):
                kept = record
                for end in settlements(record, task.change, task.standing):
                    if record.change.steps[end.index].verb is Verb.SWITCH:
                        self._sweep(target)
                    kept = self._cluster.finish_step(kept, end.index, end.state, at_s, end.note)
                left_open |= is_open(kept)
                if is_open(kept) and task.may_turn_back:
                    results += turn_back(self._cluster, kept, task.standing, at_s)
        except ForesliceError:
            return results
        if not left_open:
            self._settled[target] = task.change.goal
        return results

    def _sweep(self, target: WorkloadKey) -> None:
        """Take away what an ended switch leaves behind; where that is not allowed, it stays."""
        with suppress(RefusedError):
            self._cluster.sweep_templates(target)

    def _note_news(self, task: _Task, at_s: float) -> None:
        """Keep in plans how far what they added has come; on trouble the next run does it."""
        has_news = task.standing.has_news or task.standing.unanswered & task.terms.answered
        if not (has_news and self._may_note(task)):
            return
        with suppress(ForesliceError):
            for record in self._cluster.plans(task.change.target):
                kept = record
                for index, readiness in news(record, task.standing, task.terms.answered, at_s):
                    kept = self._cluster.note_readiness(kept, index, readiness)

    def _is_unsettled(self, task: _Task) -> bool:
        """Return whether kept plans may have open steps that this process should end."""
        return self._may_note(task) and self._settled.get(task.change.target) != task.change.goal

    def _may_note(self, task: _Task) -> bool:
        """Return whether kept plans may be written to."""
        return task.terms.mode >= Mode.ADVISE and not self._dry_run


def is_moving(standing: Standing) -> bool:
    """Return whether replicas are leaving, or are about to because fewer are asked for."""
    return any(
        any(replica.is_leaving or replica.is_old for replica in variant.replicas)
        or len(variant.replicas) > variant.told
        for variant in standing.variants
    )


def _by_hand(standing: Standing, at_s: float) -> str | None:
    """Return why what a person has asked for stays for now, `None` if no person lately did."""
    written_at_s = standing.written_by_hand_at_s
    if written_at_s is None or at_s - written_at_s >= MANUAL_HOLD_S:
        return None
    return f"replicas were set by hand {(at_s - written_at_s) / 60:.0f} min ago, and stay for 30 min"


def _all_held(changes: Sequence[ChangeSet], reason: str) -> tuple[StepResult, ...]:
    return tuple(
        StepResult(change.target, step, Outcome.HELD, reason) for change in changes for step in change.steps
    )
