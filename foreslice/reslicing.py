"""Time slices of idle nodes ahead of what will be needed: planned off the tick, made one by one within it.

Nobody is evicted: a node that somebody has come to meanwhile is given back as it is. Nothing in memory is
needed to go on: how far a node is stands on the node; what it does not say any more, somebody else has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from actuator.gate import Terms
from actuator.guards import Halt
from actuator.layouts.node import changes_of, progress_of
from actuator.layouts.rollout import Act, Progress
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.plugged import takes_pods
from actuator.slicing.config import config_in, replicas_in
from actuator.slicing.hands import Door, turn
from actuator.slicing.node import CHANGES, CONFIG_LABEL, PROGRESS
from allocator.decide import Question
from allocator.need import NeedTable
from allocator.slicing import Reslice, reslices
from fleet.errors import ConflictError, InputError, RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice.layout_rules import LayoutRules, is_under_way
from foreslice.under_way import UnderWay


class Reslicing:
    """Keeps the time slices of idle nodes ahead of need.

    Args:
        door: How nodes are read and written.
        rules: What may be done.
    """

    def __init__(self, door: Door, rules: LayoutRules) -> None:
        self._door = door
        self._rules = rules
        self._planned: tuple[Reslice, ...] = ()
        self._under_way: UnderWay[Reslice] = UnderWay()
        self._said: tuple[str, ...] = ()

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which idle nodes should offer their cards how often by the time that one can be changed.

        See `Ahead.plan`.
        """
        followed = self._under_way.followed()
        try:
            bodies, (texts, _) = self._door.nodes(), self._door.configs()
            mine = self._rules.of(bodies)
            open_ = [body for body in mine if not self._under_way.is_left(key_of(body).name, now_s)]
            self._under_way.forget(followed, {key_of(b).name for b in bodies if is_under_way(_progress(b))})
            self._resume(open_, texts, now_s)
        except (InputError, RefusedError, UnavailableError) as error:
            self._planned, self._said = (), (f"time slices are not planned: {error}",)
            return
        question = ask(self._rules.took_s(changes_of(body, CHANGES) for body in mine))
        free = {key_of(body).name for body in open_ if self._may_change(body, texts, now_s)}
        self._planned = reslices(question, free) if question is not None else ()
        self._said = tuple(
            f"node {one.node} should offer its cards {one.replicas} times: {one.because}"
            for one in self._planned
        )

    def raised(self, question: Question) -> NeedTable:
        """Return the needs as they are: nobody has to leave for a change."""
        return question.needs

    def turn(
        self, question: Question, terms: Mapping[WorkloadKey, Terms], stops: Halt, now_s: float
    ) -> tuple[str, ...]:
        """Make the next step of nodes under way, or begin with another, see `Ahead.turn`."""
        del question, terms  # nobody is moved
        if not self._rules.acting or stops.everything:
            return self._said
        first = self._under_way.begun
        if first is None and self._planned and not stops.moves:
            first = self._planned[0]
        said = [line for one in self._under_way.followed(first) for line in self._turned(one, now_s)]
        return (*said, *(self._said if self._under_way.begun is None else ()))

    def _turned(self, begun: Reslice, now_s: float) -> Iterator[str]:
        """Make the next step of a node, and yield what is to be said."""
        node = begun.node
        try:
            step = turn(
                self._door, node, begun.replicas, now_s, keeps=lambda _: "nobody is moved for time slices"
            )
            if step.act is Act.WAIT and step.progress is not None and not step.progress.asked:
                begun = replace(begun, replicas=_replicas(self._door.configs()[0], step.progress.before))
        except ConflictError:
            return
        except (InputError, RefusedError, UnavailableError) as error:
            yield f"node {node}: {error}"
            return
        if self._under_way.note(begun, step, now_s):
            self._planned, self._said = (), ()
        yield f"node {node}: {step.act}: {step.because}"

    def _resume(self, bodies: Iterable[Json], texts: Mapping[str, str], now_s: float) -> None:
        """Go on with nodes that somebody has begun with, an earlier process or a person by command."""
        followed = {begun.node for begun in self._under_way.followed()}
        for body in bodies:
            name, progress = key_of(body).name, _progress(body)
            if is_under_way(progress) and progress.before in texts and name not in followed:
                goal = progress.goal if progress.goal in texts else progress.before
                begun = Reslice(name, _replicas(texts, goal), "somebody has begun with it")
                self._under_way.resume(begun, progress, now_s)

    def _may_change(self, body: Json, texts: Mapping[str, str], now_s: float) -> bool:
        """Return whether a node's time slices are ours to change now."""
        rests = self._rules.rests(_progress(body), changes_of(body, CHANGES), now_s)
        return labels_of(body).get(CONFIG_LABEL) in texts and takes_pods(body) and not rests


def _progress(body: Json) -> Progress | None:
    return progress_of(body, PROGRESS)


def _replicas(texts: Mapping[str, str], name: str) -> int:
    return replicas_in(config_in(texts[name], f"config {name}"))
