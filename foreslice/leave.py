"""`foreslice pause`, `resume`, `restore`, `watchdog`: holding the service off, and going on without it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.cluster import KubeCluster
from actuator.kube.owner import Owner
from actuator.manifest import Json
from actuator.outcome import StepResult
from fleet.errors import InputError, RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.doors import api_server_of
from foreslice.lease import led_s_ago
from foreslice.safety import Restoration, raise_below
from foreslice.settings.durations import seconds
from foreslice.settings.load import load, workloads_of
from foreslice.settings.schema import KubernetesCluster, Settings

TURN_S = 5.0
"""Between two looks at how far a restoration is."""


def run_pause(config: Path, names: Sequence[str], *, every: bool, is_paused: bool, as_json: bool) -> None:
    """Mark workloads as ones to be left alone, or take that mark away, and print which.

    Raises:
        InputError: Settings or names cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    settings = load(config)
    keys = _named(settings, names, every=every)
    with closing(api_server_of(_kubernetes(settings), config.parent)) as server:
        for key in keys:
            with _rights(key):
                Owner(server).pause(key, is_paused=is_paused)
    word = "paused" if is_paused else "resumed"
    _print({word: [str(key) for key in keys]}, [f"{key} {word}" for key in keys], as_json=as_json)


def run_restore(config: Path, names: Sequence[str], *, every: bool, wait: str, as_json: bool) -> None:
    """Give workloads back to their owners' own Deployments, and print what was done.

    They are paused first, so that a running service does not take them up again.

    Raises:
        InputError: Settings or names cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer, or replicas did not become ready in time.
    """
    settings, until_s = load(config), time.monotonic() + _duration(wait, "--wait")
    keys = _named(settings, names, every=every)
    done: list[StepResult] = []
    with ExitStack() as stack:
        server = stack.enter_context(closing(api_server_of(_kubernetes(settings), config.parent)))
        for key in keys:
            with _rights(key):
                Owner(server).pause(key, is_paused=True)
        cluster = KubeCluster(server, {key.namespace for key in keys}, lambda: 0)
        restoration = Restoration(stack.enter_context(closing(cluster)), keys)
        status = stack.enter_context(show.console(to_stderr=True).status("giving workloads back"))
        while results := restoration.turn(WallClock().now_s()):
            done += [result for result in results if result.is_write]
            waits_for = next((r.reason for r in results if not r.is_write), "replicas to become ready")
            status.update(f"waiting: {waits_for}")
            if time.monotonic() > until_s:
                raise UnavailableError(f"not given back within {wait}, and left as far as it is: {waits_for}")
            time.sleep(TURN_S)
        copies = [name for key in keys for name in Owner(server).end_copies(key)]
    answer = {
        "restored": [str(key) for key in keys],
        "steps": [show.step_as_json(r) for r in done],
        "ended": copies,
    }
    lines = [*(show.step_as_text(r) for r in done), *(f"copy {name} ended" for name in copies)]
    _print(answer, [*lines, *(f"{key} is its owner's, and paused" for key in keys)], as_json=as_json)


def run_watchdog(config: Path, *, after: str, as_json: bool) -> None:
    """Raise workloads to their safe configuration if nobody has led for some time, and print what was done.

    Raises:
        InputError: Settings cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    settings, after_s, clock = load(config), _duration(after, "--after"), WallClock()
    cluster = _kubernetes(settings)
    workloads = workloads_of(settings)
    with ExitStack() as stack:
        server = stack.enter_context(closing(api_server_of(cluster, config.parent)))
        age_s = led_s_ago(server, cluster.lease_namespace, clock.now_s())
        if age_s is not None and age_s <= after_s:
            line = f"the lease was renewed {age_s:.0f} s ago: foreslice is there, nothing to do"
            _print({"lease_age_s": age_s, "steps": []}, [line], as_json=as_json)
            return
        fence = _fence(server, cluster.lease_namespace, after_s, clock)
        view = KubeCluster(server, {workload.key.namespace for workload in workloads}, fence)
        stack.enter_context(closing(view))
        results = raise_below(view, workloads, clock.now_s(), f"nobody has led for {after} or longer")
    lines = [show.step_as_text(result) for result in results] or [
        "every workload holds its safe configuration"
    ]
    _print({"lease_age_s": age_s, "steps": [show.step_as_json(r) for r in results]}, lines, as_json=as_json)


def _fence(server: ApiServer, namespace: str, after_s: float, clock: WallClock) -> Callable[[], int]:
    """Return what is asked before every write: that still nobody leads."""

    def check() -> int:
        age_s = led_s_ago(server, namespace, clock.now_s())
        if age_s is not None and age_s <= after_s:
            raise RefusedError("foreslice is back")
        return 0

    return check


def _named(settings: Settings, names: Sequence[str], *, every: bool) -> list[WorkloadKey]:
    known = {str(workload.key): workload.key for workload in workloads_of(settings)}
    if every == bool(names):
        raise InputError(
            "name workloads, or all of them", where="WORKLOAD", fix="give namespace/name, or --all"
        )
    for name in names:
        if name not in known:
            fix = f"one of {', '.join(sorted(known))}"
            raise InputError("no such workload in the settings", where=name, fix=fix)
    return list(known.values()) if every else [known[name] for name in names]


def _kubernetes(settings: Settings) -> KubernetesCluster:
    if not isinstance(settings.cluster, KubernetesCluster):
        fix = "it takes kind: kubernetes"
        raise InputError("there is no Kubernetes cluster in the settings", where="cluster.kind", fix=fix)
    return settings.cluster


@contextmanager
def _rights(key: WorkloadKey) -> Iterator[None]:
    try:
        yield
    except RefusedError as error:
        raise InputError(str(error), where=str(key), fix="use a kubeconfig that may patch it") from error


def _duration(text: str, where: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise InputError(str(error), where=where, fix="write e.g. 10m") from error


def _print(answer: Json, lines: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.print_json(answer)
    else:
        show.console().print("\n".join(lines), soft_wrap=True)
