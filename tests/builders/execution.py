"""Change sets on the fake cluster: goals, terms, and a process that turns ticks."""

from dataclasses import dataclass

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from fleet.shape import Configuration
from fleet.workload import Mode, Router, WorkloadKey
from tests.fakes.cluster import TICK_S, FakeCluster, key, mig

LLAMA, MISTRAL, QWEN = key("llama"), key("mistral"), key("qwen")
LARGE, SMALL, WHOLE = mig("3g.40gb"), mig("1g.10gb"), mig("whole")
CAPACITIES = {LARGE: 0.45, SMALL: 0.1, WHOLE: 1.0}


@dataclass(frozen=True)
class Goal:
    workload: WorkloadKey
    goal: Configuration
    because: tuple[str, ...] = ("peak ahead",)


def goal(counts, workload=LLAMA):
    return Goal(workload, Configuration(counts))


def terms(need_keep=0.0, *, minimum=0, mode=Mode.FULL, router=Router.WEIGHTED, distrust=()):
    return Terms(mode, router, minimum, CAPACITIES, need_keep, distrust)


class Process:
    """A process that turns the loop: diff, run, let a tick pass."""

    def __init__(self, cluster, **options):
        self.cluster = cluster
        self.executor = Executor(cluster, **options)
        self.at_s = 0.0

    def tick(self, *goals, held=None, **more):
        fleet = self.cluster.view([goal.workload for goal in goals])
        held = {goal.workload: held or terms() for goal in goals}
        results = self.executor.run(diff(fleet, goals, self.at_s), held, self.at_s, **more)
        self.cluster.tick()
        self.at_s += TICK_S
        return [(result.step.verb.value, result.outcome, result.reason) for result in results]


def states(cluster, workload=LLAMA):
    return [[step.state.value for step in plan.steps] for plan in cluster.plans(workload)]


def standing(cluster, workload=LLAMA):
    return cluster.view([workload]).standing(workload)


def llama(replicas=2, **options):
    return FakeCluster(**options).add(LLAMA, LARGE, replicas)
