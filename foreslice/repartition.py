"""Layouts of nodes ahead of what will be needed: planned off the tick, made one node at a time within it.

Nothing in memory is needed to go on: how far a node is stands on the node, and what it is to become in the
MIG manager's file; what it does not say any more, somebody else has ended. A node that failed is left alone
for a while (`actuator.layouts.rollout`); plans are made without it, so that the others carry the need. One
that is late is followed and no longer waited for: the next begins beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from actuator.gate import Terms, keeps
from actuator.guards import Halt
from actuator.inventory.layouts import card_layouts
from actuator.inventory.nodes import NodeView, node_view, shown_by
from actuator.layouts.format import Configs, configs_in
from actuator.layouts.hands import Door, turn
from actuator.layouts.named import entries_of, name_of
from actuator.layouts.node import CONFIG_LABEL, Wish, cards_of, changes_of, progress_of, unready
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.plugged import takes_pods
from actuator.objects.slices import Inventory
from allocator.decide import Question
from allocator.layouts import Cuts, NodeCuts, Relayout, frees_of, relayouts
from allocator.need import NeedTable
from fleet.boards import BOARDS
from fleet.cluster import Fleet, Standing
from fleet.errors import ConflictError, InputError, RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice.displaced import Begun, overtaken, raised, stranded, with_waiting
from foreslice.layout_rules import LayoutRules, is_under_way
from foreslice.under_way import UnderWay

LONGEST_S = 21_600.0
"""How far ahead layouts are planned at most: the longest window of a forecast."""


class Doors(Door, Protocol):
    """What planning layouts asks of a cluster besides."""

    def nodes(self) -> Sequence[Json]:
        """Return every Node."""
        ...


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
        self._under_way: UnderWay[Begun] = UnderWay()
        self._said: tuple[str, ...] = ()

    def plan(self, ask: Callable[[float], Question | None], now_s: float) -> None:
        """Work out which nodes should be cut otherwise.

        It is planned for the time by which all nodes that would have to change could have, one after the
        other: a change that is needed later than that is made later. See `Ahead.plan`.
        """
        followed = self._under_way.followed()
        try:
            bodies, configs = self._door.nodes(), configs_in(self._door.file()[0], "the MIG manager's file")
            inventory = self._door.published()
        except (InputError, RefusedError, UnavailableError) as error:
            self._planned, self._said = (), (f"layouts are not planned: {error}",)
            return
        self._under_way.forget(followed, {key_of(b).name for b in bodies if is_under_way(progress_of(b))})
        mine = self._rules.of(bodies)
        self._resume(mine, configs, inventory, now_s)
        cuts = ((key_of(body).name, self._cuts(body, configs, inventory, now_s)) for body in mine)
        free = {name: cut for name, cut in cuts if cut is not None}
        took_s = self._rules.took_s(map(changes_of, mine))
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
        needs = with_waiting(question)
        begun = self._under_way.begun  # once: plans ask beside the tick, which may end it
        return needs if begun is None else raised(replace(question, needs=needs), begun)

    def turn(
        self, question: Question, terms: Mapping[WorkloadKey, Terms], stops: Halt, now_s: float
    ) -> tuple[str, ...]:
        """Make the next step of nodes under way, or begin with another, see `Ahead.turn`."""
        if not self._rules.acting or stops.everything:
            return self._said
        first = self._under_way.begun
        if first is None and not stops.moves:
            first = self._next(question)
        if first is not None and overtaken(question, first):
            first = self._given_up(first, now_s)
        kept = _Keeper(question.fleet, {key: replace(one, at_s=now_s) for key, one in terms.items()}, stops)
        said = [line for one in self._under_way.followed(first) for line in self._turned(one, kept, now_s)]
        return (*said, *(self._said if self._under_way.begun is None else ()))

    def _turned(self, begun: Begun, kept: _Keeper, now_s: float) -> Iterator[str]:
        """Make the next step of a node, and yield what is to be said."""
        try:
            step = turn(self._door, begun.node, begun.wish, now_s, keeps=kept.why)
        except ConflictError:
            return
        except (InputError, RefusedError, UnavailableError) as error:
            yield f"node {begun.node}: {error}"
            return
        if self._under_way.note(begun, step, now_s):
            # What was planned, was with this node as it was to be.
            self._planned, self._said = (), ()
        yield f"node {begun.node}: {step.act}: {step.because}"

    def _resume(self, bodies: Sequence[Json], configs: Configs, inventory: Inventory, now_s: float) -> None:
        """Go on with nodes that somebody has begun with, an earlier process or a person by command."""
        followed = {begun.node for begun in self._under_way.followed()}
        for body in bodies:
            name, progress = key_of(body).name, progress_of(body)
            view, _ = node_view(body, configs, inventory.devices_of(name))
            if not is_under_way(progress) or name in followed or self._under_way.is_left(name, now_s):
                continue
            if progress.goal not in configs or view.board not in BOARDS:
                continue
            before, after = (_cut_by(view, configs.get(n, [])) for n in (progress.before, progress.goal))
            frees = frees_of(before, after) if len(before) == len(after) else None
            begun = Begun(name, Wish(progress.goal, configs[progress.goal]), frees)
            self._under_way.resume(begun, progress, now_s)

    def _let_go(self, bodies: Sequence[Json], configs: Configs) -> None:
        """Go on with a node that is held and of which nothing is written: as is planned now, or back."""
        held = [body for body in bodies if _is_only_held(body, configs)]
        planned = {one.node: one for one in self._planned}
        first = [planned.pop(name) for body in held if (name := key_of(body).name) in planned]
        self._planned = (*first, *planned.values())
        if self._under_way.begun is None and held and not first:
            self._under_way.begun = _as_it_is(held[0], configs)

    def _cuts(self, body: Json, configs: Configs, inventory: Inventory, now_s: float) -> NodeCuts | None:
        """Return what a node is cut into, `None` where its layout is not ours to change now."""
        name = key_of(body).name
        view, _ = node_view(body, configs, inventory.devices_of(name))
        shown = shown_by(view, configs)
        rests = self._rules.rests(progress_of(body), changes_of(body), now_s)
        is_closed = not takes_pods(body) and not _is_only_held(body, configs)
        if rests or self._under_way.is_left(name, now_s) or is_closed or any(unready(view)):
            return None
        if view.board not in BOARDS or shown is None or shown not in configs or view.layout_config == "":
            return None
        return NodeCuts(name, BOARDS[view.board], _cut_by(view, configs[shown]))

    def _next(self, question: Question) -> Begun | None:
        """Return the first planned node whose replicas can be carried elsewhere, `None` if there is none."""
        said = []
        for one in self._planned:
            entries = entries_of(one.cuts)
            begun = Begun(one.node, Wish(name_of(entries), entries), one.frees)
            why_not = stranded(question, begun)
            if not why_not:
                return begun
            said.append(f"node {one.node} should be cut otherwise and waits: {why_not}")
        self._said = tuple(said) or self._said
        return None

    def _given_up(self, begun: Begun, now_s: float) -> Begun:
        """Leave a node as it is, unless it was asked for another layout: those that add come first."""
        with suppress(ConflictError, InputError, RefusedError, UnavailableError):
            body, text = self._door.node(begun.node), self._door.file()[0]
            progress = progress_of(body)
            if progress is None or not progress.asked:
                self._under_way.leave(begun.node, now_s + self._rules.dwell_s)
                return _as_it_is(body, configs_in(text, "the MIG manager's file"))
        return begun


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


def _as_it_is(body: Json, configs: Configs) -> Begun:
    """Return a node that is to stay as it is."""
    now = str(labels_of(body).get(CONFIG_LABEL, ""))
    return Begun(key_of(body).name, Wish(now, configs.get(now, [])), frozenset())


def _is_only_held(body: Json, configs: Configs) -> bool:
    """Return whether a node is held for a change that the manager's file does not have yet."""
    progress = progress_of(body)
    return is_under_way(progress) and progress.goal not in configs


def _cut_by(view: NodeView, entries: list[Json]) -> Cuts:
    """Return what a configuration cuts the cards of a node into."""
    layouts = card_layouts(entries, cards_of(view), BOARDS[view.board])
    return tuple(None if each.is_whole else each.counts for each in layouts)
