"""Layouts of nodes ahead of what will be needed: planned off the tick, made one node at a time within it.

Nothing in memory is needed to go on: how far a node is stands on the node, and what it is to become in the
MIG manager's file. A node that failed is left alone for a while (`actuator.layouts.rollout`); plans are made
without it, so that the others carry the need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from actuator.gate import Terms, keeps
from actuator.guards import Halt
from actuator.inventory.layouts import card_layouts
from actuator.inventory.nodes import NodeView, node_view, shown_by
from actuator.layouts.format import Configs, configs_in
from actuator.layouts.hands import Door, turn
from actuator.layouts.named import entries_of, name_of
from actuator.layouts.node import CONFIG_LABEL, Wish, cards_of, changes_of, progress_of, unready
from actuator.layouts.rollout import BROKEN_FOR_S, Act, Step
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.plugged import takes_pods
from allocator.decide import Question
from allocator.layouts import Cuts, NodeCuts, Relayout, frees_of, relayouts
from allocator.need import NeedTable
from fleet.boards import BOARDS
from fleet.cluster import Fleet, Standing
from fleet.errors import ConflictError, InputError, RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice.displaced import Begun, raised, stranded, with_waiting

LONGEST_S = 21_600.0
"""How far ahead layouts are planned at most: the longest window of a forecast."""

DAY_S = 86_400.0


class Doors(Door, Protocol):
    """What planning layouts asks of a cluster besides."""

    def nodes(self) -> Sequence[Json]:
        """Return every Node."""
        ...


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """What the operator lets be done to nodes.

    Attributes:
        acting: Whether layouts are changed; else it is only said which would be.
        nodes: Labels of the nodes that may be.
        dwell_s: A node keeps a layout at least so long.
        per_day: Changes of one node in a day.
        lead_s: How long a change is reckoned to take until a first one was made: no figure is published.
    """

    acting: bool = False
    nodes: Mapping[str, str] = field(default_factory=dict)
    dwell_s: float = 3600.0
    per_day: int = 4
    lead_s: float = 600.0


class Repartition:
    """Keeps the layouts of nodes ahead of need.

    Args:
        door: How nodes are read and written.
        rules: What may be done.
    """

    def __init__(self, door: Doors, rules: LayoutRules) -> None:
        self._door = door
        self._rules = rules
        self._planned: tuple[Relayout, ...] = ()
        self._begun: Begun | None = None
        self._given_up_at_s: dict[str, float] = {}
        self._said: tuple[str, ...] = ()

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which nodes should be cut otherwise.

        It is planned for the time by which all nodes that would have to change could have, one after the
        other: a change that is needed later than that is made later.

        Args:
            ask: Returns what would be decided on if every addition took so many seconds longer.
            now_s: Time, seconds since the epoch.
        """
        try:
            bodies, configs = self._door.nodes(), configs_in(self._door.file()[0], "the MIG manager's file")
        except (InputError, RefusedError, UnavailableError) as error:
            self._planned, self._said = (), (f"layouts are not planned: {error}",)
            return
        mine = [body for body in bodies if self._rules.nodes.items() <= labels_of(body).items()]
        self._resume(mine, configs)
        free = {key_of(b).name: c for b in mine if (c := self._cuts(b, configs, now_s)) is not None}
        took_s = max((t for body in mine for _, t in changes_of(body)), default=self._rules.lead_s)
        nodes = list(free.values())
        self._planned, changing = (), len(nodes)
        for _ in range(2):
            question = ask(min(changing * took_s, LONGEST_S))
            self._planned = relayouts(question, nodes) if question is not None else ()
            changing = len(self._planned)
        self._said = tuple(f"node {one.node} should be cut otherwise: {one.because}" for one in self._planned)
        self._let_go(mine, configs)

    def raised(self, question: Question) -> NeedTable:
        """Return the needs with what cannot be counted on on top.

        That is what replicas carry that have to leave a node under way: it has to be carried elsewhere before
        they may go. And what those were to carry that wait for instances which no card is cut into any more.
        """
        needs, begun = with_waiting(question), self._begun  # plans ask beside the tick, which may end it
        return needs if begun is None else raised(replace(question, needs=needs), begun)

    def turn(
        self, question: Question, terms: Mapping[WorkloadKey, Terms], stops: Halt, now_s: float
    ) -> tuple[str, ...]:
        """Make the next step of the node under way, or begin with another, and return what is to be said.

        Args:
            question: What is decided on in this tick.
            terms: What must hold for each workload, without what `raised` adds.
            stops: Why nothing is written, or nothing moved.
            now_s: Time, seconds since the epoch.
        """
        if not self._rules.acting or stops.everything:
            return self._said
        if self._begun is None and not stops.moves:
            self._begin(question)
        if self._begun is None:
            return self._said
        node = self._begun.node
        kept = _Keeper(question.fleet, {key: replace(one, at_s=now_s) for key, one in terms.items()}, stops)
        try:
            step = turn(self._door, node, self._begun.wish, now_s, keeps=kept.why)
        except ConflictError:
            return self._said
        except (InputError, RefusedError, UnavailableError) as error:
            return (f"node {node}: {error}",)
        self._note(node, step, now_s)
        return (f"node {node}: {step.act}: {step.because}",)

    def _resume(self, bodies: Sequence[Json], configs: Configs) -> None:
        """Go on with a node that somebody has begun with, an earlier process or a person by command."""
        for body in bodies:
            name, progress = key_of(body).name, progress_of(body)
            view, _ = node_view(body, configs)
            if self._begun is not None or progress is None or progress.broken_at_s is not None:
                continue
            if name in self._given_up_at_s or progress.goal not in configs or view.board not in BOARDS:
                continue
            before, after = (_cut_by(view, configs.get(n, [])) for n in (progress.before, progress.goal))
            frees = frees_of(before, after) if len(before) == len(after) else None
            self._begun = Begun(name, Wish(progress.goal, configs[progress.goal]), frees)

    def _let_go(self, bodies: Sequence[Json], configs: Configs) -> None:
        """Go on with a node that is held and of which nothing is written: as is planned now, or back."""
        held = [body for body in bodies if _is_only_held(body, configs)]
        planned = {one.node: one for one in self._planned}
        first = [planned.pop(name) for body in held if (name := key_of(body).name) in planned]
        self._planned = (*first, *planned.values())
        if self._begun is None and held and not first:
            now = str(labels_of(held[0]).get(CONFIG_LABEL, ""))
            self._begun = Begun(key_of(held[0]).name, Wish(now, configs.get(now, [])), frozenset())

    def _cuts(self, body: Json, configs: Configs, now_s: float) -> NodeCuts | None:
        """Return what a node is cut into, `None` where its layout is not ours to change now."""
        view, _ = node_view(body, configs)
        name, progress, ended = view.name, progress_of(body), changes_of(body)
        shown = shown_by(view, configs)
        broken_s = now_s - self._given_up_at_s.get(name, float("-inf"))
        if progress is not None and progress.broken_at_s is not None:
            broken_s = min(broken_s, now_s - progress.broken_at_s)
        is_spent = sum(now_s - at_s < DAY_S for at_s, _ in ended) >= self._rules.per_day
        is_new = bool(ended) and now_s - ended[0][0] < self._rules.dwell_s
        is_closed = not takes_pods(body) and not _is_only_held(body, configs)
        if broken_s < BROKEN_FOR_S or is_spent or is_new or is_closed or any(unready(view)):
            return None
        if view.board not in BOARDS or shown is None or shown not in configs or view.layout_config == "":
            return None
        return NodeCuts(name, BOARDS[view.board], _cut_by(view, configs[shown]))

    def _begin(self, question: Question) -> None:
        """Begin with the first planned node whose replicas can be carried elsewhere."""
        said = []
        for one in self._planned:
            entries = entries_of(one.cuts)
            begun = Begun(one.node, Wish(name_of(entries), entries), one.frees)
            if why_not := stranded(question, begun):
                said.append(f"node {one.node} should be cut otherwise and waits: {why_not}")
                continue
            self._begun = begun
            return
        self._said = tuple(said) or self._said

    def _note(self, node: str, step: Step, now_s: float) -> None:
        if step.act is Act.REFUSE:
            self._given_up_at_s[node] = now_s
        if step.act in {Act.NOTHING, Act.REFUSE, Act.RELEASE}:
            self._begun, self._planned, self._said = None, (), ()


class _Keeper:
    """Judges evictions in one tick, one after the other: who may go is gone for those asked of later.

    Args:
        fleet: The cluster as it stands.
        terms: What must hold for each workload.
        stops: Why nothing is moved.
    """

    def __init__(self, fleet: Fleet, terms: Mapping[WorkloadKey, Terms], stops: Halt) -> None:
        self._standings = {standing.key: standing for standing in fleet.standings}
        self._terms = terms
        self._stops = stops

    def why(self, pod: Json) -> str:
        """Return why a pod may not be evicted now, empty = it may; whose pod it is, our own view says."""
        if self._stops.moves:
            return self._stops.moves[0]
        key = key_of(pod)
        for owner, standing in self._standings.items():
            is_its = any(r.pod == key.name for variant in standing.variants for r in variant.replicas)
            if owner.namespace == key.namespace and is_its:
                why_not = keeps(standing, key.name, self._terms[owner])
                if not why_not:
                    self._standings[owner] = _without(standing, key.name)
                return why_not
        return "it is of no workload in the settings"


def _without(standing: Standing, pod: str) -> Standing:
    """Return a workload one of whose pods leaves."""
    variants = tuple(
        replace(v, replicas=tuple(replace(r, is_leaving=True) if r.pod == pod else r for r in v.replicas))
        for v in standing.variants
    )
    return replace(standing, variants=variants)


def _is_only_held(body: Json, configs: Configs) -> bool:
    """Return whether a node is held for a change that the manager's file does not have yet."""
    progress = progress_of(body)
    return progress is not None and progress.broken_at_s is None and progress.goal not in configs


def _cut_by(view: NodeView, entries: list[Json]) -> Cuts:
    """Return what a configuration cuts the cards of a node into."""
    layouts = card_layouts(entries, cards_of(view), BOARDS[view.board])
    return tuple(None if each.is_whole else each.counts for each in layouts)
