"""Nodes whose cards are changed: one at a time is emptied, and one that is late is followed beside it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from actuator.gate import Terms
from actuator.guards import Halt
from actuator.layouts.rollout import BROKEN_FOR_S, Act, Progress, Step
from allocator.decide import Question
from allocator.need import NeedTable
from fleet.workload import WorkloadKey

LATE_AFTER_S = 300.0
"""How long a node's agent is waited for: as long as a MIG manager waits for one operand to end
(NVIDIA/mig-parted pkg/mig/reconfigure)."""


class Ahead(Protocol):
    """Keeps what nodes offer ahead of need."""

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which nodes should offer something else.

        Args:
            ask: Returns what would be decided on if every addition took so many seconds longer.
            now_s: Time, seconds since the epoch.
        """
        ...

    def raised(self, question: Question) -> NeedTable:
        """Return the needs with what cannot be counted on on top."""
        ...

    def turn(
        self, question: Question, terms: Mapping[WorkloadKey, Terms], stops: Halt, now_s: float
    ) -> tuple[str, ...]:
        """Make the next step of nodes under way, or begin with another, and return what is to be said.

        Args:
            question: What is decided on in this tick.
            terms: What must hold for each workload, without what `raised` adds.
            stops: Why nothing is written, or nothing moved.
            now_s: Time, seconds since the epoch.
        """
        ...


class _OfNode(Protocol):
    @property
    def node(self) -> str: ...


Change = TypeVar("Change", bound=_OfNode)


class UnderWay(Generic[Change]):
    """What is being made of which node.

    How far a node is, it says itself: nothing of this is needed to go on. Plans are made beside the ticks,
    which may end what a plan has just looked at.

    Attributes:
        begun: What is made of the node that is being emptied or changed, `None` = there is none.
    """

    def __init__(self) -> None:
        self.begun: Change | None = None
        self._late: dict[str, Change] = {}
        self._left_until_s: dict[str, float] = {}

    def followed(self, first: Change | None = None) -> list[Change]:
        """Return what is made of nodes that are late, and then `first`, or else what is begun."""
        first = first or self.begun
        return [*self._late.values(), *([first] if first is not None else [])]

    def forget(self, followed: Iterable[Change], under_way: Container[str]) -> None:
        """Follow nodes no longer that are gone, or with which somebody else has ended.

        `followed` is what was followed before they were read: what is begun since, they need not show.
        """
        for change in followed:
            if change.node not in under_way:
                self._late.pop(change.node, None)
                self.begun = None if change == self.begun else self.begun

    def resume(self, change: Change, progress: Progress, now_s: float) -> None:
        """Go on with a node that somebody has begun with, if it is late, or no other is begun."""
        if _is_late(progress, now_s):
            self._late[change.node] = change
        elif self.begun is None:
            self.begun = change

    def leave(self, node: str, until_s: float) -> None:
        """Leave a node alone until then."""
        self._left_until_s[node] = until_s

    def is_left(self, node: str, now_s: float) -> bool:
        """Return whether a node is left alone."""
        return now_s < self._left_until_s.get(node, 0.0)

    def note(self, change: Change, step: Step, now_s: float) -> bool:
        """Note the step that was made, and return whether what was planned counted on it otherwise."""
        is_over = step.act in {Act.NOTHING, Act.REFUSE, Act.RELEASE}
        is_late = not is_over and step.progress is not None and _is_late(step.progress, now_s)
        was_late = self._late.pop(change.node, None) is not None
        if step.act is Act.REFUSE:
            self.leave(change.node, now_s + BROKEN_FOR_S)
        if is_late:
            self._late[change.node] = change
        if not was_late:
            self.begun = None if is_over or is_late else change
        return is_over or (is_late and not was_late)


def _is_late(progress: Progress, now_s: float) -> bool:
    """Return whether a node that is asked for a layout can no longer be counted on: it is empty by then."""
    waited_s = now_s - progress.asked_at_s
    return bool(progress.asked) and (progress.tries > 1 or progress.is_back or waited_s > LATE_AFTER_S)
