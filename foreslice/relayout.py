"""``foreslice layout apply``: one node brought to a layout of the MIG manager, step by step."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.nodes import NodeDoor
from actuator.layouts.format import configs_in
from actuator.layouts.hands import Door, turn
from actuator.layouts.named import Cut, entries_of, name_of
from actuator.layouts.node import Wish
from actuator.layouts.rollout import Act, Step
from fleet.errors import ConflictError, InputError, RefusedError, UnavailableError
from foreslice import output, show
from foreslice.clock import WallClock
from foreslice.doors import api_server_of
from foreslice.settings.load import load
from foreslice.settings.schema import KubernetesCluster

TURN_S = 5.0

_CARDS = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?")
_INSTANCES = re.compile(r"(?:(\d+)\s*x\s*)?(\d+g\.\d+gb(?:[+-][a-z.]+)?)")
_CUT_FIX = 'write e.g. "0: 3g.40gb + 4g.40gb; 1-3: 7 x 1g.10gb; 4-7: whole"'


Turn = Callable[[float], Step]
"""Takes one turn at a time, seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Files:
    """The ConfigMap that an agent on nodes reads.

    Attributes:
        named: Its namespace and name, as given.
        option: By which option.
        agent: Whose it is.
        example: How it may be called.
    """

    named: str
    option: str
    agent: str
    example: str


@dataclass(frozen=True, slots=True)
class Order:
    """What is to become of which node.

    Attributes:
        node: Its name.
        to: A configuration of the manager's file, empty where `cut` says it.
        cut: What its cards are cut into.
        manager: Namespace and name of the manager's ConfigMap.
    """

    node: str
    to: str
    cut: str
    manager: str


def apply_layout(config: Path, order: Order, *, is_dry: bool, as_json: bool) -> bool:
    """Bring a node to a layout, or say what the next step would be, and return whether it is there.

    It may be stopped and run again: how far it is stands on the node.

    Raises:
        InputError: What was given cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """

    def taken(server: ApiServer, namespace: str, name: str) -> Turn:
        door = NodeDoor(server, namespace, name, lambda: None)
        wish = _wish(door, order)
        return lambda now_s: turn(door, order.node, wish, now_s, is_dry=is_dry)

    files = Files(order.manager, "--manager", "MIG manager", "gpu-operator/default-mig-parted-config")
    return follow(config, order.node, files, taken, is_dry=is_dry, as_json=as_json)


def follow(
    config: Path,
    node: str,
    files: Files,
    taken: Callable[[ApiServer, str, str], Turn],
    *,
    is_dry: bool,
    as_json: bool,
) -> bool:
    """Take turns of a node until nothing is left to do, and return whether it is as it should be.

    Args:
        config: The settings, which name the cluster.
        node: Name of the node.
        files: The ConfigMap that its agent reads.
        taken: Returns how turns are taken, for an API server, and namespace and name of the ConfigMap.
        is_dry: Only say what the next step would be.
        as_json: Print JSON.

    Raises:
        InputError: What was given cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """
    settings = load(config)
    if not isinstance(settings.cluster, KubernetesCluster):
        fix = "it takes kind: kubernetes"
        raise InputError("there is no Kubernetes cluster in the settings", where="cluster.kind", fix=fix)
    namespace, _, name = files.named.partition("/")
    if not (namespace and name):
        fix = f"name the {files.agent}'s ConfigMap, as {files.example}"
        raise InputError(f"{files.named} is no namespace/name", where=files.option, fix=fix)
    with closing(api_server_of(settings.cluster, config.parent)) as server:
        try:
            steps = list(_steps(node, taken(server, namespace, name), is_dry=is_dry))
        except RefusedError as error:
            fix = "use a kubeconfig that may do it"
            raise InputError(str(error), where=f"--node {node}", fix=fix) from error
        except ConflictError as error:
            fix = "name a node of the cluster"
            raise InputError(str(error), where=f"--node {node}", fix=fix) from error
    is_there = steps[-1].act is Act.NOTHING
    if as_json:
        answer = [
            {"act": step.act, "pods": list(step.pods), "label": step.label or None, "because": step.because}
            for step in steps
        ]
        output.print_json({"node": node, "is_there": is_there, "is_dry": is_dry, "steps": answer})
    elif is_dry:
        show.console().print(f"next: {_said(node, steps[-1])}", soft_wrap=True)
    return is_there


def cuts_in(text: str) -> list[Cut]:
    """Return what a text says that a node's cards are cut into; `InputError` if it does not say it of all."""
    found: dict[int, Cut] = {}
    for part in text.split(";"):
        cards, colon, wanted = part.partition(":")
        run = _CARDS.fullmatch(cards.strip())
        if run is None or not colon:
            raise InputError(f"{part.strip()!r} names no cards", where="--cut", fix=_CUT_FIX)
        first, last = int(run[1]), int(run[2] or run[1])
        if first > last:
            raise InputError(f"{part.strip()!r} names no cards", where="--cut", fix=_CUT_FIX)
        found |= dict.fromkeys(range(first, last + 1), _cut(wanted.strip()))
    if sorted(found) != list(range(len(found))):
        missing = next(index for index in range(len(found)) if index not in found)
        raise InputError(
            f"nothing is said of card {missing}", where="--cut", fix="name every card of the node"
        )
    return [found[index] for index in sorted(found)]


def _cut(text: str) -> Cut:
    if text == "whole":
        return None
    counts: dict[str, int] = {}
    for part in text.split("+ ") if text else ():
        read = _INSTANCES.fullmatch(part.strip())
        if read is None:
            raise InputError(f"{part.strip()!r} is no instance", where="--cut", fix=_CUT_FIX)
        counts[read[2]] = counts.get(read[2], 0) + int(read[1] or 1)
    return counts


def _wish(door: Door, order: Order) -> Wish:
    if bool(order.to) == bool(order.cut):
        raise InputError(
            "a layout is named or written out", where="layout", fix="give --to NAME, or --cut TEXT"
        )
    if order.cut:
        entries = entries_of(cuts_in(order.cut))
        return Wish(name_of(entries), entries)
    configs: Mapping[str, list[dict[str, object]]] = configs_in(door.file()[0], order.manager)
    if order.to not in configs:
        raise InputError(
            f"no configuration {order.to}", where=order.manager, fix=f"one of {', '.join(configs)}"
        )
    return Wish(order.to, configs[order.to])


def _steps(node: str, take: Turn, *, is_dry: bool) -> Iterator[Step]:
    """Yield steps until nothing is left to do; what was changed meanwhile is looked at again.

    Once a first turn was taken, a server that does not answer is waited for.
    """
    told = show.console(to_stderr=True)
    last = ""
    with told.status(f"{node}: looking") as status:
        while True:
            try:
                step = take(WallClock().now_s())
            except ConflictError as error:
                if "does not exist" in str(error) or "not found" in str(error):
                    raise
                time.sleep(TURN_S)
                continue
            except UnavailableError as error:
                if not last:
                    raise
                status.update(f"{node}: {error}; trying again")
                time.sleep(TURN_S)
                continue
            line = _said(node, step)
            if step.act is not Act.WAIT and line != last and not is_dry:
                told.print(line)
            status.update(line)
            last = line
            yield step
            if is_dry or step.act in {Act.NOTHING, Act.REFUSE}:
                return
            time.sleep(TURN_S)


def _said(node: str, step: Step) -> str:
    about = ", ".join(step.pods) or step.label
    return f"{node}: {step.act}{about and f' {about}'}: {step.because}"
