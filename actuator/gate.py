"""The gate: whether a step may start, judged by what is ready after it and in between.

Capacity is what the router can use of it. A step that removes is allowed only on trusted evidence and
if ready capacity stays at need-keep at every state on the way; so is an addition that lowers it, as a
smaller replica does behind a router that spreads equally.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from capacity.routing import carried
from fleet.change import Step, Verb
from fleet.cluster import Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Router


@dataclass(frozen=True, slots=True)
class Terms:
    """What must hold for a workload while it is changed.

    Attributes:
        mode: How far foreslice may go.
        router: How requests are spread.
        minimum: Fewest ready replicas.
        capacities: Work that a replica carries, lower bound, by shape; a shape that is missing counts 0.
        need_keep: Work that must stay carried.
        distrust: Why the need must not support a removal; empty = it may.
    """

    mode: Mode
    router: Router
    minimum: int
    capacities: Mapping[Shape, float]
    need_keep: float
    distrust: tuple[str, ...] = ()


def refusal(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why a step may not start, one line; `None` = it may."""
    match step.verb:
        case Verb.CREATE_VARIANT:
            return None if terms.mode.may_add else f"mode {terms.mode.name.lower()} adds nothing"
        case Verb.SCALE_UP:
            return may_add(standing, step, terms)
        case Verb.SCALE_DOWN:
            return may_remove(standing, step, terms)


def may_add(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why replicas may not be added, one line; `None` = they may.

    Only an addition that lowers what the router can use is judged; any other is safe on any evidence.
    """
    if not terms.mode.may_add:
        return f"mode {terms.mode.name.lower()} adds nothing"
    now = _carried(standing.ready, terms)
    lowering = [state for state in _states_up(standing, step) if _carried(state, terms) < now]
    return _first_problem(lowering, terms, least=0)


def may_remove(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why replicas may not be removed, one line; `None` = they may."""
    if not terms.mode.may_remove:
        return f"mode {terms.mode.name.lower()} removes nothing"
    return _first_problem(_states_down(standing, step), terms, least=terms.minimum)


def _first_problem(states: list[Configuration], terms: Terms, least: int) -> str | None:
    if states and terms.distrust:
        return f"the need is not trusted: {terms.distrust[0]}"
    for state in states:
        if state.replicas < least:
            return f"{state} would be ready, at least {least} replicas must be"
        capacity = _carried(state, terms)
        if capacity < terms.need_keep:
            return f"{state} would be ready and carry {capacity:.2f}, {terms.need_keep:.2f} must stay"
    return None


def _states_up(standing: Standing, step: Step) -> list[Configuration]:
    variant = _variant(standing, step)
    ready = _ready(variant) if variant is not None else 0
    return [standing.ready.plus(step.shape, more) for more in range(1, step.replicas - ready + 1)]


def _states_down(standing: Standing, step: Step) -> list[Configuration]:
    """Return what is ready after each removal, worst case.

    The ReplicaSet controller ends pods first that are bound to no node (kubernetes
    pkg/controller/controller_utils.go, ActivePodsWithRanks); such have no device yet. Of the others it may
    take any: it does not know of our evidence.
    """
    variant = _variant(standing, step)
    if variant is None:
        return [standing.ready]
    live = [replica for replica in variant.replicas if not replica.is_leaving]
    placed = sum(replica.device is not None for replica in live)
    lost = min(max(placed - step.replicas, 0), _ready(variant))
    return [standing.ready.plus(step.shape, -fewer) for fewer in range(min(1, lost), lost + 1)]


def _variant(standing: Standing, step: Step) -> Variant | None:
    return next((variant for variant in standing.variants if variant.name == step.variant), None)


def _ready(variant: Variant) -> int:
    return sum(replica.is_ready and not replica.is_leaving for replica in variant.replicas)


def _carried(configuration: Configuration, terms: Terms) -> float:
    return carried(
        configuration, {shape: terms.capacities.get(shape, 0.0) for shape in configuration}, terms.router
    )
