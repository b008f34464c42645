"""A cluster that takes every write and shows nothing of it: what a decision was is what was written."""

from dataclasses import replace

from actuator.ports import PlanRecord, StepRecord
from fleet.change import StepState
from fleet.errors import RefusedError, UnavailableError


class StillCluster:
    """Always shows the same fleet.

    Attributes:
        writes: What was asked for, (workload, variant, replicas or `None` for created).
        is_down: Whether it answers at all.
        heard_s: Seconds since it was last heard of.
        leads: Whether this process may write.
        advices: What was published, (workload, configuration).
        refuses_advice: Why nothing can be published, empty = it can.
    """

    def __init__(self, fleet):
        self.fleet = fleet
        self.writes = []
        self.is_down = False
        self.heard_s = 0.0
        self.leads = True
        self.advices = []
        self.refuses_advice = ""

    def version(self):
        return self.fleet.version

    def age_s(self):
        return self.heard_s

    def is_leader(self):
        return self.leads

    def view(self, workloads):
        if self.is_down:
            raise UnavailableError("the API server does not answer")
        return self.fleet

    def create_variant(self, workload, name, shape):
        self.writes.append((workload.name, name, None))

    def scale(self, workload, variant, replicas, *, expects):
        self.writes.append((workload.name, variant, replicas))

    def publish(self, workload, advice):
        if self.refuses_advice:
            raise RefusedError(self.refuses_advice)
        self.advices.append((workload.name, str(advice.goal)))

    def record(self, change):
        steps = (StepRecord(StepState.PENDING, change.decided_at_s),) * len(change.steps)
        return PlanRecord(change, steps, "1")

    def plans(self, workload):
        return ()

    def claim_step(self, plan, index, at_s):
        return self.finish_step(plan, index, StepState.CLAIMED, at_s)

    def finish_step(self, plan, index, state, at_s, note=""):
        steps = (*plan.steps[:index], StepRecord(state, at_s, note), *plan.steps[index + 1 :])
        return replace(plan, steps=steps)
