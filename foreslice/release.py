"""`foreslice release`: ending holds of room, whoever holds it, whether the service is there or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from math import isinf
from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.holds import end, holds_in
from actuator.manifest import Json
from fleet.errors import ConflictError, InputError, RefusedError
from fleet.holds import Hold
from foreslice.doors import api_server_of
from foreslice.owners import kubernetes, tell
from foreslice.settings.load import load


def run_release(config: Path, names: Sequence[str], *, every: bool, is_dry: bool, as_json: bool) -> None:
    """End holds of workloads, or only say which there are, and print them.

    Args:
        config: Settings file, of which only the cluster is read.
        names: Workloads as namespace/name; they need not be in the settings any more.
        every: All holds of ours.
        is_dry: Nothing is written.
        as_json: Print JSON.

    Raises:
        InputError: Settings or names cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    if every == bool(names):
        raise InputError(
            "name workloads, or all of them", where="WORKLOAD", fix="give namespace/name, or --all"
        )
    for name in names:
        if name.count("/") != 1:
            raise InputError("is no namespace/name", where=name, fix="write e.g. default/chat")
    with closing(api_server_of(kubernetes(load(config)), config.parent)) as server:
        try:
            held = tuple(hold for hold in holds_in(server) if every or str(hold.owner) in names)
            told = held if is_dry else _ended(server, held)
        except RefusedError as error:
            fix = "use a kubeconfig that may list and delete DeviceTaintRules"
            raise InputError(str(error), where=str(config), fix=fix) from error
    lines = [f"{hold_as_text(hold)}{'' if is_dry else ': released'}" for hold in told]
    if is_dry and held:
        lines.append("nothing was released; --yes does it")
    word = "held" if is_dry else "released"
    tell({word: [hold_as_json(hold) for hold in told]}, lines or ["nothing is held"], as_json=as_json)


def released(server: ApiServer, is_over: Callable[[Hold], bool], *, is_sure: bool) -> tuple[Hold, ...]:
    """End the holds that are over, and return them.

    Args:
        server: The API server.
        is_over: Which they are.
        is_sure: Whether room may be held at all; where it may not, having no right to look is no error.
    """
    try:
        return _ended(server, filter(is_over, holds_in(server)))
    except RefusedError as error:
        if not is_sure:
            return ()
        fix = "apply deploy/rbac/hold.yaml"
        raise InputError(str(error), where="holding", fix=fix) from error


def _ended(server: ApiServer, holds: Iterable[Hold]) -> tuple[Hold, ...]:
    """End holds and return those that were; one whose device was given to another meanwhile is over."""
    ended = []
    for hold in holds:
        with suppress(ConflictError):
            end(server, hold)
            ended.append(hold)
    return tuple(ended)


def hold_as_text(hold: Hold) -> str:
    """Return a hold as one line."""
    pool, device = hold.device
    what = f"{device or 'all devices'} of {pool or 'all nodes'}"
    return f"{hold.owner} holds {what} until {_until(hold)}: {hold.purpose}"


def hold_as_json(hold: Hold) -> Json:
    """Return a hold as JSON."""
    pool, device = hold.device
    held = {"owner": str(hold.owner), "pool": pool, "device": device}
    return {**held, "purpose": hold.purpose, "until": _until(hold)}


def _until(hold: Hold) -> str:
    if isinf(hold.until_s):
        return "no time that can be read"
    return datetime.fromtimestamp(hold.until_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
