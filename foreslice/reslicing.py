"""Time slices of idle nodes ahead of what will be needed: planned off the tick, made one by one within it.

Nobody is evicted: a node that somebody has come to meanwhile is given back as it is. Nothing in memory is
needed to go on: how far a node is stands on the node; what it does not say any more, somebody else has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from actuator.gate import Terms
from actuator.guards import Halt
from actuator.layouts.node import changes_of, progress_of
from actuator.layouts.rollout import BROKEN_FOR_S, Act
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
        self._begun: tuple[str, int] | None = None
        self._left_until_s: dict[str, float] = {}
        self._said: tuple[str, ...] = ()

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which idle nodes should offer their cards how often by the time that one can be changed.

        Args:
            ask: Returns what would be decided on if every addition took so many seconds longer.
            now_s: Time, seconds since the epoch.
        """
        followed = self._begun
        try:
            bodies, (texts, _) = self._door.nodes(), self._door.configs()
            mine = self._rules.of(bodies)
            open_ = [body for body in mine if now_s >= self._left_until_s.get(key_of(body).name, 0.0)]
            if followed is not None and followed == self._begun and not _is_under_way(followed[0], bodies):
                self._begun = None
            self._begun = self._begun or next(_under_way(open_, texts), None)
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
        """Make the next step of the node under way, or begin with another, and return what is to be said."""
        del question, terms  # nobody is moved
        if not self._rules.acting or stops.everything:
            return self._said
        begun = self._begun
        if begun is None and self._planned and not stops.moves:
            begun = self._planned[0].node, self._planned[0].replicas
        if begun is None:
            return self._said
        node, replicas = begun
        try:
            step = turn(self._door, node, replicas, now_s, keeps=lambda _: "nobody is moved for time slices")
            if step.act is Act.WAIT and step.progress is not None and not step.progress.asked:
                begun = node, _replicas(self._door.configs()[0], step.progress.before)
        except ConflictError:
            return self._said
        except (InputError, RefusedError, UnavailableError) as error:
            return (f"node {node}: {error}",)
        self._begun = begun
        if step.act is Act.REFUSE:
            self._left_until_s[node] = now_s + BROKEN_FOR_S
        if step.act in {Act.NOTHING, Act.REFUSE, Act.RELEASE}:
            self._begun, self._planned, self._said = None, (), ()
        return (f"node {node}: {step.act}: {step.because}",)

    def _may_change(self, body: Json, texts: Mapping[str, str], now_s: float) -> bool:
        """Return whether a node's time slices are ours to change now."""
        rests = self._rules.rests(progress_of(body, PROGRESS), changes_of(body, CHANGES), now_s)
        return labels_of(body).get(CONFIG_LABEL) in texts and takes_pods(body) and not rests


def _is_under_way(node: str, bodies: Iterable[Json]) -> bool:
    """Return whether a node is there, and somebody has begun with it and has not ended."""
    return any(key_of(body).name == node and is_under_way(progress_of(body, PROGRESS)) for body in bodies)


def _under_way(bodies: Sequence[Json], texts: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield nodes that somebody has begun with, an earlier process or a person by command, and their goal."""
    for body in bodies:
        progress = progress_of(body, PROGRESS)
        if is_under_way(progress) and progress.before in texts:
            name = progress.goal if progress.goal in texts else progress.before
            yield key_of(body).name, _replicas(texts, name)


def _replicas(texts: Mapping[str, str], name: str) -> int:
    return replicas_in(config_in(texts[name], f"config {name}"))
