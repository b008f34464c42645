"""A node as its objects show it, for the way to another number of time slices of its cards.

A plugin that offers fewer evicts nobody, and on which card a tenant is, nobody says: it goes on with a
replica that does not exist any more, beside as many new ones as the card now has. So whoever is there goes
first, but where the arithmetic holds on whatever card it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from actuator.layouts.named import is_ours, name_of, other_of
from actuator.layouts.node import is_held, progress_of
from actuator.layouts.rollout import Seen
from actuator.manifest import GROUP, Json, key_of, labels_of
from actuator.mechanisms.device_plugin import GPU, SHARED_GPU, are_kept
from actuator.objects.granted import resources_asked
from actuator.objects.nodes import board_of, offered_by
from actuator.objects.pods import is_over
from actuator.objects.restraints import spared_by
from actuator.quantity import amount
from actuator.slicing.config import Config, config_in, replicas_in, with_replicas
from fleet.boards import Board
from fleet.errors import RefusedError
from fleet.ledgers.time_slicing import SlicedNode
from fleet.shape import SHARE_UNITS, time_slice

CONFIG_LABEL = "nvidia.com/device-plugin.config"
COUNT_LABEL = f"{GPU}.count"

PROGRESS, CHANGES = f"{GROUP}/time-slices", f"{GROUP}/time-slice-changes"
"""Annotations of a node: how far a change is, and when the last ones ended."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a node is to have.

    Attributes:
        name: Name of the config, empty where there can be none.
        config: What is in it.
        objection: Why there can be none.
    """

    name: str
    config: Config
    objection: str = ""


def goal_of(node: Json, texts: Mapping[str, str], replicas: int) -> Goal:
    """Return the config by which a node's cards would be offered so many times.

    It is the one that the node has now but for that number; while a change is under way, the one before it.

    Args:
        node: The Node.
        texts: Texts of the plugin's configs by name.
        replicas: How often, at least once.

    Raises:
        InputError: The plugin does not take the config that the node has now.
    """
    label, progress = str(labels_of(node).get(CONFIG_LABEL, "")), progress_of(node, PROGRESS)
    base = label if progress is None else progress.before
    if base not in texts:
        return Goal("", {}, f"its config {base or '(no label)'} is not in the ConfigMap")
    try:
        config = with_replicas(config_in(texts[base], f"config {base}"), replicas)
    except RefusedError as error:
        return Goal("", {}, str(error))
    name = name_of([config], after=label)
    if progress is not None and progress.goal in {name, other_of(name)}:
        name = progress.goal
    elif replicas_in(config_in(texts[base], f"config {base}")) == replicas:
        name = base
    return Goal(name, config)


def seen_of(
    node: Json, pods: Sequence[Json], texts: Mapping[str, str], goal: Goal, keeps: Callable[[Json], str]
) -> Seen:
    """Return a node as it is, and what the change of its time slices takes.

    Args:
        node: The Node.
        pods: Pods that run on it.
        texts: Texts of the plugin's configs by name.
        goal: What it is to have.
        keeps: Why a pod may not be evicted now, empty = it may.
    """
    progress, label = progress_of(node, PROGRESS), str(labels_of(node).get(CONFIG_LABEL, ""))
    before = label if progress is None else progress.before
    had = replicas_in(config_in(texts[before], f"config {before}")) if before in texts else 0
    wanted = replicas_in(goal.config)
    names = {goal.name, other_of(goal.name)} if is_ours(goal.name) else {goal.name}
    written = (name in texts and config_in(texts[name], f"config {name}") == goal.config for name in names)
    return Seen(
        label=label,
        state="",  # the plugin has no word for it
        is_paused=False,
        shows_goal=not goal.objection and _shows(node, wanted),
        shows_before=_shows(node, had),
        is_written=goal.name in texts and (not is_ours(goal.name) or all(written)),
        is_held=is_held(node),
        in_the_way=tuple(_in_the_way(node, pods, had, wanted, keeps)),
        objections=tuple(_objections(node, goal, wanted, is_begun=progress is not None)),
        progress=progress,
    )


def _shows(node: Json, replicas: int) -> bool:
    """Return whether a node offers all its cards so many times, by what can be allocated.

    Feature discovery has to have seen it too: by its label we tell a time slice from a card.
    """
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    offered = sum(amount(allocatable.get(name, 0)) for name in (GPU, SHARED_GPU))
    return offered == SlicedNode(_cards(node), replicas).offered > 0 and offered_by(node).replicas == replicas


def _cards(node: Json) -> int:
    """Return how many cards a node has, 0 where feature discovery does not say."""
    return amount(labels_of(node).get(COUNT_LABEL, 0))


def _objections(node: Json, goal: Goal, wanted: int, *, is_begun: bool) -> Iterator[str]:
    if goal.objection:
        yield goal.objection
    if not 1 <= wanted <= SHARE_UNITS:
        yield f"a card can be offered 1 to {SHARE_UNITS} times"
    offered = offered_by(node)
    if board_of(offered.product) is None:
        yield f"product {offered.product or '-'} is not known"
    if not _cards(node):
        yield f"label {COUNT_LABEL} does not say how many cards it has"
    if offered.single or any(offered.instances.values()):
        yield "its cards are cut into instances: one card, one mechanism"
    if offered.unhealthy and not is_begun:
        yield f"{offered.unhealthy} of its devices are unhealthy"


def _in_the_way(
    node: Json, pods: Sequence[Json], had: int, wanted: int, keeps: Callable[[Json], str]
) -> Iterator[tuple[str, str]]:
    """Yield pods that have to go first, with why one may not."""
    board = board_of(offered_by(node).product)
    tenants = [pod for pod in pods if not is_over(pod) and _holds_card(pod)]
    if board is None:
        return
    may_stay = sorted((p for p in tenants if had > 1 and _may_stay(p, board, wanted)), key=_is_easily_gone)
    if wanted < had:  # on one card what the scheduler counts is the card's own; on several it is not
        may_stay = may_stay[: wanted if _cards(node) == 1 else 0]
    going = [pod for pod in tenants if pod not in may_stay]
    for pod in going:
        is_going = "deletionTimestamp" in pod["metadata"]
        yield str(key_of(pod)), "it is ending" if is_going else spared_by(pod) or keeps(pod)


def _is_easily_gone(pod: Json) -> tuple[bool, bool, str]:
    """Return a key by which pods come last that are ending, and before them those that may be evicted."""
    return "deletionTimestamp" in pod["metadata"], not spared_by(pod), str(key_of(pod))


def _holds_card(pod: Json) -> bool:
    return not {GPU, SHARED_GPU}.isdisjoint(resources_asked(pod["spec"]))


def _may_stay(pod: Json, board: Board, wanted: int) -> bool:
    """Return whether a tenant leaves the memory of so many others alone."""
    return wanted > 1 and are_kept(pod["spec"], time_slice(board, wanted))
