"""The pool's objects on anything that reads and writes Kubernetes objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from actuator.manifest import Json, key_of, version_of
from actuator.objects.pods import is_over
from actuator.objects.restraints import is_paused
from actuator.objects.standby import held, noted, slice_claim, slices_of, standby_pod, turned
from actuator.objects.variants import gpu_claim, may_have_variants
from actuator.standby.engines import SleepingEngine
from fleet.boards import Board
from fleet.errors import ConflictError, RefusedError
from fleet.ledgers.beds import Measured
from fleet.shape import Shape
from fleet.standby import Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey


class Objects(Protocol):
    """What the pool asks of an API server; reads are of what stands now, writes on the version carried."""

    def claims(self, namespace: str) -> Sequence[Json]:
        """Return ResourceClaims with the pool's label."""
        ...

    def pods(self, namespace: str) -> Sequence[Json]:
        """Return pods with the pool's label."""
        ...

    def base(self, workload: WorkloadKey) -> Json | None:
        """Return a workload's Deployment."""
        ...

    def templates(self, namespace: str) -> Mapping[str, Json]:
        """Return ResourceClaimTemplates by name."""
        ...

    def create(self, body: Json) -> None:
        """Write a new object; `ConflictError` if its name is taken."""
        ...

    def replace(self, body: Json) -> None:
        """Write everything but the status of a claim."""
        ...

    def replace_status(self, body: Json) -> None:
        """Write the status of a pod."""
        ...

    def delete(self, body: Json) -> None:
        """Delete an object as of its uid and version; one that is gone is no error."""
        ...


class ObjectDormitory:
    """Implements `actuator.standby.ports.Dormitory`.

    Args:
        objects: The API server.
        boards: Kinds of cards of the fleet.
        engine: What sleeps.
        share: Share of a slice's memory that one engine may take, `None` = engines are not told.
    """

    def __init__(
        self, objects: Objects, boards: Sequence[Board], engine: SleepingEngine, share: float | None = None
    ) -> None:
        self._objects = objects
        self._boards = {board.id: board for board in boards}
        self._engine = engine
        self._share = share

    def slices(self, namespace: str) -> Sequence[PoolSlice]:
        """Return the slices of a namespace as they stand, by name."""
        return slices_of(self._objects.claims(namespace), self._objects.pods(namespace))

    def objection(self, workload: WorkloadKey) -> str:
        """Return why a workload cannot join, one line; empty = it can."""
        base = self._objects.base(workload)
        if base is None:
            return f"{workload}: no such Deployment"
        if is_paused(base):
            return f"{workload}: it is paused"
        if not may_have_variants(base):
            return f"{workload}: only Deployments have standby pods"
        try:
            gpu_claim(base, self._objects.templates(workload.namespace))
        except RefusedError as error:
            return str(error)
        problem = self._engine.objection(base["spec"]["template"]["spec"])
        return f"{workload}: {problem}, so it has no sleep mode" if problem else ""

    def add(self, namespace: str, name: str, shape: Shape) -> None:
        """Create a slice; existing = no change."""
        board = self._boards.get(shape.board)
        if board is None:
            raise RefusedError(f"no card of the fleet is a {shape.board}")
        self._create(slice_claim(namespace, name, board, shape))

    def drop(self, pool: PoolSlice) -> None:
        """Delete a slice without standby pods, as of its version."""
        self._objects.delete(self._claim(pool))

    def hold(self, pool: PoolSlice, hold: Hold | None, barred: Mapping[WorkloadKey, float]) -> None:
        """Write whose turn a slice is and who is left alone, as of its version."""
        self._objects.replace(held(self._claim(pool), hold, barred))

    def note(self, pool: PoolSlice, taken: Mapping[WorkloadKey, Measured]) -> None:
        """Write what engines were read to take while they slept on a slice, as of its version."""
        self._objects.replace(noted(self._claim(pool), taken))

    def board(self, pool: PoolSlice, workload: WorkloadKey) -> None:
        """Create the standby pod of a workload on a slice; existing = no change.

        One that has ended, as those that a kubelet evicts, holds nothing but its name, and goes first.
        """
        if problem := self.objection(workload):
            raise RefusedError(problem)
        base = self._objects.base(workload)
        if base is None:
            raise ConflictError(f"Deployment {workload} does not exist")
        templates = self._objects.templates(workload.namespace)
        made = standby_pod(base, templates, pool.name, self._share)
        for pod in self._objects.pods(pool.namespace):
            if key_of(pod) == key_of(made) and is_over(pod):
                self._objects.delete(pod)
        self._create(made)

    def remove(self, pool: PoolSlice, sleeper: Sleeper) -> None:
        """End a standby pod."""
        self._objects.delete(self._pod(pool, sleeper))

    def turn(self, pool: PoolSlice, sleeper: Sleeper, *, is_open: bool, at_s: float) -> None:
        """Open or close a pod's gate, as of the version of the pod that the slice was read with."""
        self._objects.replace_status(turned(self._pod(pool, sleeper), is_open=is_open, at_s=at_s))

    def _create(self, body: Json) -> None:
        try:
            self._objects.create(body)
        except ConflictError:
            found = self._objects.claims if body["kind"] == "ResourceClaim" else self._objects.pods
            name = body["metadata"]["name"]
            if not any(key_of(one).name == name for one in found(body["metadata"]["namespace"])):
                raise RefusedError(f"{body['kind']} {key_of(body)} exists and is not ours") from None

    def _claim(self, pool: PoolSlice) -> Json:
        return _named(self._objects.claims(pool.namespace), pool.name, pool.version)

    def _pod(self, pool: PoolSlice, sleeper: Sleeper) -> Json:
        return _named(self._objects.pods(pool.namespace), sleeper.pod, sleeper.version)


def _named(bodies: Sequence[Json], name: str, version: str) -> Json:
    """Return an object that is still as it was read; else `ConflictError`."""
    found = next((body for body in bodies if key_of(body).name == name), None)
    if found is None or version_of(found) != version:
        raise ConflictError(f"{name} has changed")
    return found
