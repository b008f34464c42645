"""`foreslice restore`, `watchdog`: taking workloads back, and looking after them without the service."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.cluster import KubeCluster
from actuator.kube.owner import Owner
from actuator.kube.standby import KubePoolObjects
from actuator.objects.restraints import PAUSED
from actuator.outcome import StepResult
from actuator.standby.engines import sleeping_engines
from actuator.standby.objects import ObjectDormitory
from actuator.standby.parting import clear, part
from actuator.standby.ports import Dormitory
from fleet.errors import InputError, RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice import show
from foreslice.clock import WallClock
from foreslice.doors import api_server_of
from foreslice.lease import led_s_ago
from foreslice.owners import duration, kubernetes, named, rights, tell
from foreslice.release import hold_as_json, hold_as_text, released
from foreslice.safety import Restoration, raise_below
from foreslice.selection import load_settled
from foreslice.settings.load import beside_of, workloads_of
from foreslice.settings.schema import Settings

TURN_S = 5.0
"""Between two looks at how far a restoration is."""


def run_restore(config: Path, names: Sequence[str], *, every: bool, wait: str, as_json: bool) -> None:
    """Give workloads back to their owners' own Deployments, and print what was done.

    They are paused first, so that a running service does not take them up again.

    Raises:
        InputError: Settings or names cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer, or replicas did not become ready in time.
    """
    settings, until_s = load_settled(config), time.monotonic() + duration(wait, "--wait")
    keys = named(settings, names, every=every)
    done: list[StepResult] = []
    with ExitStack() as stack:
        server = stack.enter_context(closing(api_server_of(kubernetes(settings), config.parent)))
        for key in keys:
            with rights(key):
                Owner(server).annotate(key, {PAUSED: "true"})
        namespaces, beside = {key.namespace for key in keys}, beside_of(settings)
        cluster = KubeCluster(server, namespaces, lambda: 0, beside=beside)
        ways = {w.key: w.way for w in workloads_of(settings) if w.key in keys}
        restoration = Restoration(stack.enter_context(closing(cluster)), ways)
        status = stack.enter_context(show.console(to_stderr=True).status("giving workloads back"))
        while results := restoration.turn(WallClock().now_s()):
            done += [result for result in results if result.is_write]
            waits_for = next((r.reason for r in results if not r.is_write), "replicas to become ready")
            status.update(f"waiting: {waits_for}")
            if time.monotonic() > until_s:
                raise UnavailableError(f"not given back within {wait}, and left as far as it is: {waits_for}")
            time.sleep(TURN_S)
        parted = leave_pool(server, settings, keys, until_s, are_all=every)
        copies: list[str] = []
        for key in keys:
            with rights(key):
                copies += Owner(server).end_copies(key)
        rooms = released(server, lambda hold: hold.owner in keys, is_sure=settings.holding is not None)
    answer = {
        "restored": [str(key) for key in keys],
        "steps": [show.step_as_json(r) for r in done],
        "left_the_standby_pool": parted,
        "ended": copies,
        "released": [hold_as_json(hold) for hold in rooms],
    }
    lines = [*(show.step_as_text(r) for r in done), *(f"{key} left the standby pool" for key in parted)]
    lines += [*(f"copy {name} ended" for name in copies)]
    lines += [f"{hold_as_text(hold)}: released" for hold in rooms]
    tell(answer, [*lines, *(f"{key} is its owner's, and paused" for key in keys)], as_json=as_json)


def leave_pool(
    server: ApiServer, settings: Settings, keys: Collection[WorkloadKey], until_s: float, *, are_all: bool
) -> list[str]:
    """End the standby pods of workloads, and the slices on which nobody is left; return whose there were.

    Args:
        server: The API server.
        settings: What says whether there is a pool.
        keys: Workloads.
        until_s: How long is waited, by the monotonic clock.
        are_all: These are all that the pool is for: slices go too on which nobody has ever been.

    Raises:
        InputError: The rights do not reach.
        UnavailableError: They did not end in time.
    """
    if settings.standby is None:
        return []
    engine = sleeping_engines()[settings.standby.engine]
    dormitory = ObjectDormitory(KubePoolObjects(server, lambda: None), (), engine)
    left: set[str] = set()
    try:
        while still := _parted(dormitory, keys):
            left |= still
            if time.monotonic() > until_s:
                raise UnavailableError(f"still in the standby pool: {', '.join(sorted(still))}")
            time.sleep(TURN_S)
        for namespace in {key.namespace for key in keys} if are_all else ():
            clear(dormitory, namespace)
    except RefusedError as error:
        fix = "use a kubeconfig that has the rights of deploy/rbac/standby.yaml"
        raise InputError(str(error), where="standby", fix=fix) from error
    return sorted(left)


def _parted(dormitory: Dormitory, keys: Collection[WorkloadKey]) -> set[str]:
    """Bring workloads that leave the pool as far as now, and return who is still there."""
    namespaces, at_s = {key.namespace for key in keys}, WallClock().now_s()
    return {str(key) for namespace in namespaces for key in part(dormitory, namespace, keys, at_s)}


def run_watchdog(config: Path, *, after: str, as_json: bool) -> None:
    """Raise workloads to their safe configuration if nobody has led for some time, and print what was done.

    Room that is held is released where it is held for too long, and all of it where nobody leads.

    Raises:
        InputError: Settings cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    settings, after_s, clock = load_settled(config), duration(after, "--after"), WallClock()
    cluster = kubernetes(settings)
    workloads = workloads_of(settings)
    with ExitStack() as stack:
        server = stack.enter_context(closing(api_server_of(cluster, config.parent)))
        age_s = led_s_ago(server, cluster.lease_namespace, clock.now_s())
        is_led = age_s is not None and age_s <= after_s
        now_s = clock.now_s()
        rooms = released(
            server, lambda hold: not is_led or hold.until_s <= now_s, is_sure=settings.holding is not None
        )
        swept = {"released": [hold_as_json(hold) for hold in rooms]}
        said = [f"{hold_as_text(hold)}: released" for hold in rooms]
        if is_led:
            line = f"the lease was renewed {age_s:.0f} s ago: foreslice is there, nothing to do"
            tell({"lease_age_s": age_s, "steps": [], **swept}, [*said, line], as_json=as_json)
            return
        fence = _fence(server, cluster.lease_namespace, after_s, clock)
        namespaces = {workload.key.namespace for workload in workloads}
        view = KubeCluster(server, namespaces, fence, beside=beside_of(settings))
        stack.enter_context(closing(view))
        results = raise_below(view, workloads, clock.now_s(), f"nobody has led for {after} or longer")
    lines = [show.step_as_text(result) for result in results] or [
        "every workload holds its safe configuration"
    ]
    answer = {"lease_age_s": age_s, "steps": [show.step_as_json(r) for r in results], **swept}
    tell(answer, [*said, *lines], as_json=as_json)


def _fence(server: ApiServer, namespace: str, after_s: float, clock: WallClock) -> Callable[[], int]:
    """Return what is asked before every write: that still nobody leads."""

    def check() -> int:
        age_s = led_s_ago(server, namespace, clock.now_s())
        if age_s is not None and age_s <= after_s:
            raise RefusedError("foreslice is back")
        return 0

    return check
