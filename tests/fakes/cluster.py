"""An in-memory cluster behind the actuator's port: optimistic versions, replicas that need time."""

from collections import Counter
from dataclasses import dataclass, field, replace

from actuator.objects.history import history_of, with_history
from actuator.objects.plans import newest_first, to_delete
from actuator.ports import Cluster, PlanRecord, StepRecord
from fleet.change import StepState
from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.devices import Device
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Shape
from fleet.workload import WorkloadKey

TICK_S = 10.0
READS = ("version", "age_s", "is_leader", "view", "rehearse", "plans")
WRITES = tuple(verb for verb in vars(Cluster) if not verb.startswith("_") and verb not in READS)
"""Whatever of the port is not known to read: what is added to it is taken for a write."""
VERBS = ("view", "plans", *WRITES)


def key(name="llama", namespace="llm"):
    return WorkloadKey(namespace, name)


def mig(profile="3g.40gb", board="h100-80gb"):
    return Shape(board, profile)


@dataclass
class _Pod:
    name: str
    born: int
    is_leaving: bool = False


@dataclass
class _Deployment:
    shape: Shape
    wanted: int
    is_base: bool
    version: int
    pods: list[_Pod] = field(default_factory=list)
    is_beside: bool = False


class FakeCluster:
    """Deployments whose replicas are ready some ticks after they were asked for, and drain for one tick.

    Args:
        ready_after: Ticks from being asked for to ready.
        room: Devices by shape; a replica that gets none stays pending. Shapes not named have no limit.
    """

    def __init__(self, ready_after=1, room=None):
        self.ready_after = ready_after
        self.room = dict(room or {})
        self.stuck = set()
        self.broken = {}
        self.calls = Counter()
        self.scaled = []
        self._now = 0
        self._version = 0
        self._deployments = {}
        self._plans = {}
        self._born = 0

    def add(self, workload, shape, replicas=1, name=None):
        """Put an owner's Deployment there, its replicas ready since long; another name is one beside."""
        name = name or workload.name
        is_base = name == workload.name
        deployment = _Deployment(shape, replicas, is_base, self._next(), is_beside=not is_base)
        self._deployments[workload, name] = deployment
        for _ in range(replicas):
            self._start(name, deployment, born=-1_000_000)
        return self

    def delete(self, workload):
        """Take a workload away, as its owner may."""
        self._deployments = {held: d for held, d in self._deployments.items() if held[0] != workload}

    def fail(self, workload, error):
        """Let every write about a workload raise `error`, until it is `None` again."""
        self.broken[workload] = error

    def restart_one(self):
        """Let the oldest replica of every Deployment start again."""
        for deployment in self._deployments.values():
            deployment.pods[0].born = self._now

    def tick(self):
        """Let one tick pass: leaving replicas go unless they are stuck, others come closer to ready."""
        self._now += 1
        for (workload, name), deployment in self._deployments.items():
            if workload not in self.stuck:
                deployment.pods = [pod for pod in deployment.pods if not pod.is_leaving]
            self._reconcile(name, deployment)
        self._next()

    # The port.

    def version(self):
        return str(self._version)

    def age_s(self):
        return 0.0

    def is_leader(self):
        return True

    def view(self, workloads):
        self.calls["view"] += 1
        if self.broken.get("view"):
            raise UnavailableError("the API server does not answer")
        devices = self._devices()
        standings = [standing for w in workloads if (standing := self._standing(w, devices))]
        return Fleet(self.version(), (), (), tuple(devices.values()), tuple(standings))

    def create_variant(self, workload, name, shape):
        self._called("create_variant", workload)
        if (workload, name) not in self._deployments:
            self._deployments[workload, name] = _Deployment(shape, 0, is_base=False, version=self._next())

    def scale(self, workload, variant, replicas, *, expects):
        self._called("scale", workload)
        deployment = self._deployments.get((workload, variant))
        if deployment is None:
            raise RefusedError(f"no Deployment {variant}")
        if expects not in {None, str(deployment.version)}:
            raise ConflictError(f"{variant} is at {deployment.version}, not at {expects}")
        deployment.wanted, deployment.version = replicas, self._next()
        self.scaled.append((workload.name, variant, replicas))
        self._reconcile(variant, deployment)

    def record(self, change):
        self._called("record", change.target)
        pending = (StepRecord(StepState.PENDING, change.decided_at_s),) * len(change.steps)
        held = self._plans.setdefault(
            (change.target, change.name), PlanRecord(change, pending, str(self._next()))
        )
        for name in to_delete(self._plans_of(change.target)):
            del self._plans[change.target, name]
        return held

    def plans(self, workload):
        self.calls["plans"] += 1
        if isinstance(self.broken.get(workload), UnavailableError):
            raise self.broken[workload]
        return self._plans_of(workload)

    def claim_step(self, plan, index, at_s):
        step = StepRecord(StepState.CLAIMED, at_s, trial=plan.steps[index].trial)
        return self._mark("claim_step", plan, index, step)

    def finish_step(self, plan, index, state, at_s, note=""):
        step = StepRecord(state, at_s, note, trial=plan.steps[index].trial)
        return self._mark("finish_step", plan, index, step)

    def note_readiness(self, plan, index, readiness):
        return self._mark("note_readiness", plan, index, replace(plan.steps[index], readiness=readiness))

    def note_trial(self, plan, index, trial):
        return self._mark("note_trial", plan, index, replace(plan.steps[index], trial=trial))

    def _mark(self, verb, plan, index, step):
        self._called(verb, plan.change.target)
        held = self._plans.get((plan.change.target, plan.change.name))
        if held is None or held.version != plan.version:
            raise ConflictError(f"plan {plan.change.name} was changed meanwhile")
        steps = (*held.steps[:index], step, *held.steps[index + 1 :])
        new = replace(held, steps=steps, version=str(self._next()))
        self._plans[plan.change.target, plan.change.name] = new
        return new

    def _called(self, verb, workload):
        self.calls[verb] += 1
        if self.broken.get(workload):
            raise self.broken[workload]

    def _plans_of(self, workload):
        return newest_first(record for (target, _), record in self._plans.items() if target == workload)

    def _next(self):
        self._version += 1
        return self._version

    def _start(self, name, deployment, born):
        self._born += 1
        deployment.pods.append(_Pod(f"{name}-{self._born}", born))

    def _reconcile(self, name, deployment):
        """Start missing replicas; take the youngest of those that are too many."""
        live = [pod for pod in deployment.pods if not pod.is_leaving]
        for pod in live[deployment.wanted :]:
            pod.is_leaving = True
        for _ in range(deployment.wanted - len(live)):
            self._start(name, deployment, born=self._now)

    def _devices(self):
        """Device of every replica that got one: first come, first served."""
        left = dict(self.room)
        devices = {}
        pods = [(pod, d.shape) for d in self._deployments.values() for pod in d.pods]
        for pod, shape in sorted(pods, key=lambda held: held[0].born):
            if left.get(shape, 1) > 0:
                if shape in left:
                    left[shape] -= 1
                devices[pod.name] = Device(
                    "node", "node", f"dev-{pod.name}", "mig", "GPU-0", shape.profile, {}
                )
        return devices

    def _standing(self, workload, devices):
        found = sorted(
            ((name, d) for (target, name), d in self._deployments.items() if target == workload),
            key=lambda held: (not held[1].is_base, not held[1].is_beside, held[0]),
        )
        if not found:
            return None
        variants = tuple(
            Variant(
                name,
                d.shape,
                d.wanted,
                str(d.version),
                d.is_base,
                tuple(self._replica(name, d, p, devices) for p in d.pods),
                is_beside=d.is_beside,
            )
            for name, d in found
        )
        return with_history(Standing(workload, variants), history_of(self._plans_of(workload)))

    def _replica(self, name, deployment, pod, devices):
        device = devices.get(pod.name)
        is_ready = device is not None and self._now - pod.born >= self.ready_after
        created_at_s = TICK_S * pod.born
        ready_at_s = created_at_s + TICK_S * self.ready_after
        return Replica(
            pod.name,
            name,
            deployment.shape,
            device,
            is_ready,
            pod.is_leaving,
            created_at_s,
            created_at_s if device is not None else None,
            ready_at_s if is_ready else None,
        )


class Killed(BaseException):
    """The process is gone: nothing may catch this and go on."""


class Tripwire:
    """A cluster whose `number`-th call of the port kills the process, before or after it takes effect."""

    def __init__(self, cluster, number, *, after):
        self._cluster = cluster
        self._left = number
        self._after = after

    def __getattr__(self, verb):
        call = getattr(self._cluster, verb)
        if verb not in VERBS:
            return call

        def tripped(*args, **named):
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Killed
            answer = call(*args, **named)
            if self._left == 0:
                raise Killed
            return answer

        return tripped
