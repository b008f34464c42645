"""What owners of workloads tell foreslice, as annotations: `foreslice pause`, `resume`, `hold`, `approve`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from actuator.kube.owner import Owner
from actuator.manifest import Json, seconds_of
from actuator.objects.restraints import APPROVED, HELD_UNTIL, PAUSED
from fleet.errors import InputError, RefusedError
from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.doors import api_server_of
from foreslice.insight.look import look
from foreslice.selection import load_settled
from foreslice.settings.durations import seconds
from foreslice.settings.load import workloads_of
from foreslice.settings.schema import KubernetesCluster, Settings


def run_pause(config: Path, names: Sequence[str], *, every: bool, is_paused: bool, as_json: bool) -> None:
    """Mark workloads as ones to be left alone, or take that and a hold away, and print which.

    Raises:
        InputError: Settings or names cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    marks = {PAUSED: "true"} if is_paused else {PAUSED: None, HELD_UNTIL: None}
    keys = _annotated(config, names, marks, every=every)
    word = "paused" if is_paused else "resumed"
    tell({word: [str(key) for key in keys]}, [f"{key} {word}" for key in keys], as_json=as_json)


def run_hold(config: Path, names: Sequence[str], *, every: bool, until: str, as_json: bool) -> None:
    """Have nothing of workloads moved or removed until a time, and print which.

    Args:
        config: Settings file.
        names: Workloads as namespace/name.
        every: All of them.
        until: A time with an offset, or how long from now.
        as_json: Print JSON.

    Raises:
        InputError: Settings, names or time cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    time = _until(until)
    keys = _annotated(config, names, {HELD_UNTIL: time}, every=every)
    answer = {"held": [str(key) for key in keys], "until": time}
    tell(answer, [f"{key} held until {time}" for key in keys], as_json=as_json)


def run_approve(config: Path, name: str, *, goal: str, until: str, as_json: bool) -> None:
    """Agree to what foreslice would make of a workload in mode advise, and print it.

    Args:
        config: Settings file.
        name: Workload as namespace/name.
        goal: The configuration to agree to; empty = what one look from here finds.
        until: A time with an offset, or how long from now.
        as_json: Print JSON.

    Raises:
        InputError: Settings, name or time cannot be used, there is nothing to agree to, or no right
            to write it.
        UnavailableError: The API server or the metrics source did not answer.
    """
    time = _until(until)
    goal = goal or _goal(config, name)
    [key] = _annotated(config, [name], {APPROVED: f"{goal} until {time}"}, every=False)
    tell(
        {"workload": str(key), "approved": goal, "until": time},
        [f"{key}: {goal} approved until {time}"],
        as_json=as_json,
    )


def _goal(config: Path, name: str) -> str:
    """Return what would be made of a workload now."""
    [key] = named(load_settled(config), [name], every=False)
    for decision in look(config).tick.decisions:
        if decision.workload == key and decision.is_change:
            return str(decision.goal)
    raise InputError(
        "nothing is to be changed now", where=name, fix="name a goal: --goal '2 x h100-80gb:3g.40gb'"
    )


def _annotated(
    config: Path, names: Sequence[str], annotations: Mapping[str, str | None], *, every: bool
) -> list[WorkloadKey]:
    settings = load_settled(config)
    keys = named(settings, names, every=every)
    with closing(api_server_of(kubernetes(settings), config.parent)) as server:
        for key in keys:
            with rights(key):
                Owner(server).annotate(key, annotations)
    return keys


def time_of(text: str, option: str) -> str:
    """Return a time as RFC 3339, from one with an offset or from a duration from now."""
    fix = "write e.g. 2026-12-01T08:00Z, or 4h"
    try:
        moment = _moment(text, option)
        if moment.tzinfo is None:
            raise InputError(f"{text} has no offset", where=option, fix=fix)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise InputError(f"{text} is in no calendar", where=option, fix=fix) from error


def _moment(text: str, option: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(WallClock().now_s() + duration(text, option), UTC)


def _until(text: str) -> str:
    """Return a time that is still to come, as `time_of` does."""
    time = time_of(text, "--until")
    if seconds_of(time) <= WallClock().now_s():
        raise InputError(f"{text} is over", where="--until", fix="name a time that is still to come, or 4h")
    return time


def named(settings: Settings, names: Sequence[str], *, every: bool) -> list[WorkloadKey]:
    """Return the workloads that are meant; `InputError` for names that the settings do not have."""
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


def kubernetes(settings: Settings) -> KubernetesCluster:
    """Return the cluster of the settings; `InputError` where it is none of Kubernetes."""
    if not isinstance(settings.cluster, KubernetesCluster):
        fix = "it takes kind: kubernetes"
        raise InputError("there is no Kubernetes cluster in the settings", where="cluster.kind", fix=fix)
    return settings.cluster


@contextmanager
def rights(key: WorkloadKey) -> Iterator[None]:
    """Have what the cluster refuses about a workload told as something to be mended."""
    try:
        yield
    except RefusedError as error:
        raise InputError(str(error), where=str(key), fix="use a kubeconfig that may patch it") from error


def duration(text: str, where: str) -> float:
    """Return the seconds of an option."""
    try:
        return seconds(text)
    except ValueError as error:
        raise InputError(str(error), where=where, fix="write e.g. 10m") from error


def tell(answer: Json, lines: Sequence[str], *, as_json: bool) -> None:
    """Print an answer as JSON or as lines."""
    if as_json:
        output.print_json(answer)
    else:
        show.console().print("\n".join(lines), soft_wrap=True)
