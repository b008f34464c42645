"""Time slices of idle nodes ahead of what will be needed: planned off the tick, made one by one within it.

Nobody is evicted: a node that somebody has come to meanwhile is given back as it is. Nothing in memory is
needed to go on: how far a node is stands on the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
from foreslice.repartition import DAY_S, LayoutRules


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
        self._said: tuple[str, ...] = ()

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which idle nodes should offer their cards how often by the time that one can be changed.

        Args:
            ask: Returns what would be decided on if every addition took so many seconds longer.
            now_s: Time, seconds since the epoch.
        """
        try:
            bodies, (texts, _) = self._door.nodes(), self._door.configs()
        except (InputError, RefusedError, UnavailableError) as error:
            self._planned, self._said = (), (f"time slices are not planned: {error}",)
            return
        mine = [body for body in bodies if self._rules.nodes.items() <= labels_of(body).items()]
        self._begun = self._begun or next(_under_way(mine, texts), None)
        took_s = max((t for body in mine for _, t in changes_of(body, CHANGES)), default=self._rules.lead_s)
        question = ask(took_s)
        free = {key_of(body).name for body in mine if self._may_change(body, texts, now_s)}
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
        if self._begun is None and self._planned and not stops.moves:
            self._begun = self._planned[0].node, self._planned[0].replicas
        if self._begun is None:
            return self._said
        node, replicas = self._begun
        try:
            step = turn(self._door, node, replicas, now_s, keeps=lambda _: "nobody is moved for time slices")
        except ConflictError:
            return self._said
        except (InputError, RefusedError, UnavailableError) as error:
            return (f"node {node}: {error}",)
        if step.act is Act.WAIT and step.progress is not None and not step.progress.asked:
            self._begun = node, _replicas(self._door.configs()[0], step.progress.before)
        if step.act in {Act.NOTHING, Act.REFUSE, Act.RELEASE}:
            self._begun, self._planned, self._said = None, (), ()
        return (f"node {node}: {step.act}: {step.because}",)

    def _may_change(self, body: Json, texts: Mapping[str, str], now_s: float) -> bool:
        """Return whether a node's time slices are ours to change now."""
        progress, ended = progress_of(body, PROGRESS), changes_of(body, CHANGES)
        is_broken = (
            progress is not None
            and progress.broken_at_s is not None
            and now_s - progress.broken_at_s < BROKEN_FOR_S
        )
        is_new = bool(ended) and now_s - ended[0][0] < self._rules.dwell_s
        is_spent = sum(now_s - at_s < DAY_S for at_s, _ in ended) >= self._rules.per_day
        is_configured = labels_of(body).get(CONFIG_LABEL) in texts
        return is_configured and takes_pods(body) and not (is_broken or is_new or is_spent)


def _under_way(bodies: Sequence[Json], texts: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield nodes that somebody has begun with, an earlier process or a person by command, and their goal."""
    for body in bodies:
        progress = progress_of(body, PROGRESS)
        if progress is not None and progress.broken_at_s is None and progress.before in texts:
            name = progress.goal if progress.goal in texts else progress.before
            yield key_of(body).name, _replicas(texts, name)


def _replicas(texts: Mapping[str, str], name: str) -> int:
    return replicas_in(config_in(texts[name], f"config {name}"))
