"""One step on its way: record the plan, claim the step, write, read back, finish."""

from __future__ import annotations

from actuator.gate import Terms, refusal
from actuator.objects.plans import is_open
from actuator.outcome import Outcome, StepResult
from actuator.ports import Cluster, PlanRecord
from actuator.settle import is_on_its_way, is_there, writes
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Standing
from fleet.errors import ConflictError, ForesliceError, RefusedError
from fleet.workload import WorkloadKey

_ENDS = {Outcome.DONE: StepState.DONE, Outcome.HELD: StepState.PENDING, Outcome.FAILED: StepState.FAILED}


class Stepper:
    """Carries out steps of one run; the plans that it recorded and how far they are stay with it.

    Args:
        cluster: What is written to.
        at_s: Time of the run, seconds since the epoch.
    """

    def __init__(self, cluster: Cluster, at_s: float) -> None:
        self._cluster = cluster
        self._at_s = at_s
        self._plans: dict[WorkloadKey, PlanRecord] = {}

    def carry_out(self, change: ChangeSet, step: Step, terms: Terms) -> StepResult:
        """Carry out one step; what goes wrong is in the result.

        No answer leaves the step claimed: nobody knows whether it was written, and a later run reads it
        from the cluster.
        """
        try:
            index = self._claim(change, step)
            outcome, reason = self._write(change.target, step, terms)
            # A switch that is refused may have been written by an earlier try: the cluster will tell.
            may_stand = step.verb is Verb.SWITCH and outcome is Outcome.FAILED
            if outcome in _ENDS and not may_stand:
                self._finish(change.target, index, _ENDS[outcome], reason)
        except ForesliceError as error:
            return StepResult(change.target, step, Outcome.FAILED, str(error))
        return StepResult(change.target, step, outcome, reason)

    def _claim(self, change: ChangeSet, step: Step) -> int:
        plan = self._plans.get(change.target) or self._plan(change)
        index = [writes(kept) for kept in plan.change.steps].index(writes(step))
        self._plans[change.target] = self._cluster.claim_step(plan, index, self._at_s)
        return index

    def _plan(self, change: ChangeSet) -> PlanRecord:
        """Return the plan that is already on its way to this goal by these steps, else a new one."""
        wanted = {writes(step) for step in change.steps}
        for record in self._cluster.plans(change.target):
            is_same = record.change.goal == change.goal and wanted <= {writes(s) for s in record.change.steps}
            if is_same and is_open(record):
                return record
        return self._cluster.record(change)

    def _write(self, target: WorkloadKey, step: Step, terms: Terms) -> tuple[Outcome, str]:
        expects = step.expects
        if step.is_irreversible or (step.verb is Verb.SCALE_UP and expects is None):
            # What cannot be undone is judged anew; what was just created has its version only now.
            standing = self._standing(target)
            if standing is None:
                return Outcome.FAILED, "the workload is gone"
            if is_there(standing, step):
                return Outcome.DONE, step.reason
            if why_not := refusal(standing, step, terms):
                return Outcome.HELD, why_not
            variant = standing.named(step.variant)
            expects = expects or (variant.version if variant is not None else None)
        problem = self._attempt(target, step, expects)
        # Whatever the answer was, what is there counts: a retry may fail because its first try got through.
        seen = self._standing(target)
        if seen is not None and (is_there(seen, step) or is_on_its_way(seen, step)):
            return Outcome.DONE if is_there(seen, step) else Outcome.UNDER_WAY, step.reason
        if problem is not None:
            return Outcome.FAILED, problem
        return Outcome.UNCONFIRMED, "written, but not yet seen in the cluster"

    def _attempt(self, target: WorkloadKey, step: Step, expects: str | None) -> str | None:
        """Write, and return what the cluster has against it."""
        try:
            if step.verb is Verb.CREATE_VARIANT:
                self._cluster.create_variant(target, step.variant, step.shape)
            elif step.verb is Verb.SWITCH:
                self._cluster.switch(target, step.shape, expects=expects)
            else:
                self._cluster.scale(target, step.variant, step.replicas, expects=expects)
        except (ConflictError, RefusedError) as error:
            return str(error)
        return None

    def _standing(self, target: WorkloadKey) -> Standing | None:
        return self._cluster.view([target]).standing(target)

    def _finish(self, target: WorkloadKey, index: int, state: StepState, note: str) -> None:
        self._plans[target] = self._cluster.finish_step(self._plans[target], index, state, self._at_s, note)
