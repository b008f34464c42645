"""The way of one node from a layout to another: what to do next, from what is seen now and nothing else.

The MIG manager never drains pods, acts on a change of its label's value only, and its state label is no
evidence: `success` comes without devices, `pending` may stay for ever with its operands paused
(NVIDIA/gpu-operator issues 603 and 2833, NVIDIA/mig-parted pkg/mig/reconfigure). So pods that are in the way
go first, by eviction; what counts is what the node offers; what does not come is taken back, and then left to
people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from actuator.layouts.named import other_of

WEDGED_AFTER_S = 900.0
"""Longest time in `pending`: the manager waits up to five minutes for each of five operands, and gives none
of them back when it gives up."""

SHOWN_WITHIN_S = 180.0
"""From a state that says it is over to devices on offer: the device plugin starts anew."""

FAILED_FOR_S = 60.0
"""How long `failed` has to last: a file that was written reaches the manager's pod within about a minute."""

DRAINED_WITHIN_S = 1800.0
"""How long a node is kept free of new pods for a change whose pods do not go."""

TRIES = 3
"""How often a layout is asked for, there or back: the first time the manager may not have the file yet."""

BROKEN_FOR_S = 3600.0
"""How long a node whose change failed is left alone."""

_UNDER_WAY = frozenset({"pending", "rebooting"})


class Act(StrEnum):
    """What is done to the node next."""

    NOTHING = "nothing"
    REFUSE = "refuse"
    HOLD = "hold"
    EVICT = "evict"
    WRITE = "write"
    LABEL = "label"
    RESTORE = "restore"
    WAIT = "wait"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a change is; kept on the node, so that whoever goes on finds it.

    Attributes:
        goal: Configuration that is wanted.
        before: What the label was.
        begun_at_s: When the node was first held.
        asked: Value of the label as last written by us, empty before.
        asked_at_s: When that was.
        tries: How often it was asked for, there or back.
        is_back: It is being taken back.
        broken_at_s: When it was given up, `None` = it was not.
    """

    goal: str
    before: str
    begun_at_s: float
    asked: str = ""
    asked_at_s: float = 0.0
    tries: int = 0
    is_back: bool = False
    broken_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A node as it is.

    Attributes:
        label: Value of the label now.
        state: What the manager says of it.
        is_paused: Operands of the node wait for the manager to let them go on.
        shows_goal: It offers what the goal makes of it.
        shows_before: It offers what the label before the change made of it.
        is_written: The manager's file has the goal.
        is_held: It is kept free of new pods by us.
        in_the_way: Pods on cards that are cleared, with why one may not go, empty = it may.
        objections: Why the change may not be made.
        progress: How far a change is, `None` = there is none.
    """

    label: str
    state: str
    is_paused: bool
    shows_goal: bool
    shows_before: bool
    is_written: bool
    is_held: bool
    in_the_way: tuple[tuple[str, str], ...] = ()
    objections: tuple[str, ...] = ()
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One write, evictions of several pods, or none.

    Attributes:
        act: What is done.
        because: Why, one clause.
        pods: Whom it is about, for an eviction.
        label: Value that is written.
        progress: What is kept on the node along with it, `None` = nothing any more.
        took_s: How long the change took, once it is made: from the first hold to devices on offer.
    """

    act: Act
    because: str
    pods: tuple[str, ...] = ()
    label: str = ""
    progress: Progress | None = None
    took_s: float | None = None


def next_step(seen: Seen, goal: str, now_s: float) -> Step:
    """Return what is to be done to a node that is to have the layout `goal`."""
    progress = seen.progress
    if progress is not None and progress.broken_at_s is not None:
        if now_s - progress.broken_at_s < BROKEN_FOR_S:
            why = f"its change to {progress.goal} failed, and it is left alone for an hour"
            return Step(Act.REFUSE, why, progress=progress)
        progress = None
    if progress is None:
        return _begin(seen, goal, now_s)
    if not progress.asked:
        return _prepare(seen, progress, goal, now_s)
    return _follow(seen, progress, now_s)


def _begin(seen: Seen, goal: str, now_s: float) -> Step:
    if seen.shows_goal and seen.state not in _UNDER_WAY:
        return Step(Act.RELEASE if seen.is_held else Act.NOTHING, "it offers what is wanted")
    if seen.objections:
        return Step(Act.REFUSE, "; ".join(seen.objections))
    if not seen.label:
        return Step(Act.REFUSE, "it has no configuration to go back to")
    progress = Progress(goal, seen.label, now_s)
    return Step(Act.HOLD, "no new pod may come while it changes", progress=progress)


def _prepare(seen: Seen, progress: Progress, goal: str, now_s: float) -> Step:
    """Return what comes before the label: until it is written, everything can still be left as it is."""
    if progress.goal != goal or seen.label != progress.before:
        return Step(Act.RELEASE, "something else is wanted meanwhile")
    if seen.objections:
        return Step(Act.RELEASE, "; ".join(seen.objections))
    if not seen.is_held:
        return Step(Act.HOLD, "no new pod may come while it changes", progress=progress)
    if not seen.is_written:
        return Step(Act.WRITE, "the manager has to know the layout before it is asked for", progress=progress)
    if seen.in_the_way:
        return _clear(seen, progress, now_s)
    return _ask(progress, goal, now_s, "its cards are free")


def _clear(seen: Seen, progress: Progress, now_s: float) -> Step:
    """Return who is to be evicted; who may not go is waited for, but not for ever."""
    if pods := tuple(pod for pod, kept in seen.in_the_way if not kept):
        return Step(Act.EVICT, "they may be on cards that are cleared", pods=pods, progress=progress)
    (first, why), *more = seen.in_the_way
    kept = f"{first} ({why})" + (f" and {len(more)} more" if more else "")
    if now_s - progress.begun_at_s > DRAINED_WITHIN_S:
        # Begun again at once it would close the node to new pods for as long, again and again.
        left = replace(progress, broken_at_s=now_s)
        return Step(Act.RELEASE, f"pods do not go: {kept}", progress=left)
    return Step(Act.WAIT, f"pods have to go first: {kept}", progress=progress)


def _follow(seen: Seen, progress: Progress, now_s: float) -> Step:
    """Return what comes after the label was written."""
    if seen.label != progress.asked:
        return Step(Act.RELEASE, f"somebody else wrote {seen.label or 'no label'} over {progress.asked}")
    waited_s = now_s - progress.asked_at_s
    if seen.state in _UNDER_WAY:
        return _under_way(seen, progress, waited_s, now_s)
    if (seen.shows_before if progress.is_back else seen.shows_goal) and not seen.is_paused:
        return _arrived(progress, waited_s, now_s)
    state = f"state {seen.state or 'none'}"
    if waited_s <= (FAILED_FOR_S if seen.state == "failed" else SHOWN_WITHIN_S):
        return Step(Act.WAIT, f"{state}, and its devices are not there yet", progress=progress)
    return _again(progress, now_s, f"{state} without the devices", may_retry=True)


def _arrived(progress: Progress, waited_s: float, now_s: float) -> Step:
    if not progress.is_back:
        return Step(Act.RELEASE, "it offers what is wanted", took_s=now_s - progress.begun_at_s)
    if waited_s <= SHOWN_WITHIN_S:
        why = "it offers what it did, or still: the device plugin may not have started anew"
        return Step(Act.WAIT, why, progress=progress)
    broken = replace(progress, broken_at_s=now_s)
    return Step(Act.RELEASE, f"{progress.goal} failed; it is as it was before", progress=broken)


def _under_way(seen: Seen, progress: Progress, waited_s: float, now_s: float) -> Step:
    if waited_s <= WEDGED_AFTER_S:
        return Step(Act.WAIT, f"the manager is at it since {waited_s:.0f} s", progress=progress)
    if seen.is_paused:
        return Step(Act.RESTORE, "the manager has left its operands paused", progress=progress)
    return _again(progress, now_s, f"the manager has not ended in {waited_s:.0f} s", may_retry=False)


def _again(progress: Progress, now_s: float, why: str, *, may_retry: bool) -> Step:
    """Return another try, then the way back, then nothing: a person is needed."""
    if not progress.is_back:
        if may_retry and progress.tries < TRIES:
            return _ask(progress, other_of(progress.asked), now_s, why)
        back = replace(progress, is_back=True, tries=0)
        return _ask(back, other_of(progress.before), now_s, f"{why}; it is taken back")
    if progress.tries < TRIES:
        return _ask(progress, other_of(progress.asked), now_s, why)
    return Step(Act.REFUSE, f"{why}, there and back: a person is needed; it is kept free", progress=progress)


def _ask(progress: Progress, label: str, now_s: float, why: str) -> Step:
    asked = replace(progress, asked=label, asked_at_s=now_s, tries=progress.tries + 1)
    return Step(Act.LABEL, why, label=label, progress=asked)
