"""The gate: whether a step may start, judged by what is ready after it and in between.

Capacity is what the router can use of it. A step that removes is allowed only on trusted evidence and
if ready capacity stays at need-keep at every state on the way; so is an addition that lowers it, as a
smaller replica does behind a router that spreads equally.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil, inf

from capacity.routing import carried
from fleet.change import Step, Verb
from fleet.cluster import Standing, Variant
from fleet.shape import Configuration, Shape
from fleet.switching import obstacle
from fleet.workload import Mode, Router

# Sums of the same capacities in another order differ by this much; no removal should wait for that.
_ROUNDING = 1e-9


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
        hour_peak: The highest work of the last hour; infinite where that is not known.
        proven: Shapes that a removal may rely on, `None` = all.
        is_fall_foreseen: Whether the forecast of an hour ago thought possible that demand is as low as now.
        drain_s: How long its requests may last that are being served now, in seconds; 0 = not known.
        trial_s: A new shape serves one replica so long before more is built on it, in seconds.
        goal: What the change is to make, as text: what an approval is held against.
        at_s: Time, seconds since the epoch.
        answered: Pods that were seen to answer requests lately.
    """

    mode: Mode
    router: Router
    minimum: int
    capacities: Mapping[Shape, float]
    need_keep: float
    distrust: tuple[str, ...] = ()
    hour_peak: float = inf
    is_fall_foreseen: bool = True
    goal: str = ""
    at_s: float = 0.0
    answered: frozenset[str] = frozenset()
    proven: frozenset[Shape] | None = None
    drain_s: float = 0.0
    trial_s: float = 0.0


def refusal(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why a step may not start, one line; `None` = it may."""
    if why_not := _not_permitted(standing, step, terms) or standing.forbidden:
        return why_not
    match step.verb:
        case Verb.CREATE_VARIANT:
            return None
        case Verb.SCALE_UP:
            return _may_add(standing, step, terms)
        case Verb.SCALE_DOWN:
            return _held(standing, terms) or _may_remove(standing, step, terms)
        case Verb.SWITCH:
            return _held(standing, terms) or _may_switch(standing, step, terms)


def keeps(standing: Standing, pod: str, terms: Terms) -> str:
    """Return why a pod of a workload may not be evicted now, one line; empty = it may.

    Of one that does not serve nothing is lost. PodDisruptionBudgets are asked by the eviction itself.
    """
    allowed = min(terms.mode, standing.permits)
    if not allowed.may_remove:
        return f"mode {allowed.label} removes nothing"
    if why_not := standing.forbidden or _held(standing, terms):
        return why_not
    serving = {r.pod: (v, r.shape) for v in standing.variants for r in v.replicas if r.serves}
    if pod not in serving:
        return ""
    variant, shape = serving[pod]
    left = standing.ready.plus(shape, -1)
    if left.replicas < terms.minimum:
        return f"{left} would be ready, at least {terms.minimum} replicas must be"
    if terms.distrust and _carried(left, terms) < _carried(standing.ready, terms):
        return _not_trusted(terms)
    return _cut_off(standing, variant, terms) or _worse(left, standing.ready, terms) or ""


def _not_permitted(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why settings, or what an annotation makes of them, do not let a kind of step be done."""
    allowed = min(terms.mode, standing.permits)
    by = "annotated " if allowed < terms.mode else ""
    if allowed is Mode.ADVISE:
        agreed = standing.approval
        if agreed is not None and agreed.goal == terms.goal and terms.at_s < agreed.until_s:
            return None
        return f"{by}mode advise waits for the approval of {terms.goal}"
    if step.is_irreversible:
        does = "changes no shape" if step.verb is Verb.SWITCH else "removes nothing"
        problem = "" if allowed.may_remove else does
    else:
        problem = "" if allowed.may_add else "adds nothing"
    return f"{by}mode {allowed.label} {problem}" if problem else None


def _held(standing: Standing, terms: Terms) -> str | None:
    return "its owner has it held" if terms.at_s < standing.held_until_s else None


def _may_add(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why replicas may not be added, one line; `None` = they may.

    Only an addition that lowers what the router can use is judged; any other is safe on any evidence. During
    a rollout replicas of its shape come whatever is asked for: more of them can only help.
    """
    variant = standing.named(step.variant)
    if variant is not None and variant.is_rolling:
        return None
    ready = variant.ready if variant is not None else 0
    may_be = (step.shape, *(variant.alternatives if variant is not None else ()))
    now = standing.ready
    for shape, more in product(may_be, range(1, step.replicas - ready + 1)):
        state = now.plus(shape, more)
        if _carried(state, terms) < _carried(now, terms):
            if terms.distrust:
                return _not_trusted(terms)
            if problem := _worse(state, now, terms):
                return problem
    return None


def _may_remove(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why replicas may not be removed, one line; `None` = they may.

    A removal that gives up nothing, as of small replicas behind a router that spreads equally, may start
    even while capacity is short, and on any evidence.
    """
    variant = standing.named(step.variant)
    if variant is None:
        return f"{step.variant} is gone"
    rolls = f"a rollout of {variant.name} is on its way" if variant.is_rolling else None
    if problem := rolls or _disrupts(standing, variant, step) or _cuts(standing, variant, step, terms):
        return problem
    for state, otherwise in _futures(standing, variant, step, terms):
        if state.replicas < terms.minimum:
            return f"{state} would be ready, at least {terms.minimum} replicas must be"
        if terms.distrust and _carried(state, terms) < _carried(otherwise, terms):
            return _not_trusted(terms)
        if problem := _worse(state, otherwise, terms) or _on_trial(state, otherwise, terms):
            return problem
    return None


def _may_switch(standing: Standing, step: Step, terms: Terms) -> str | None:
    """Return why a Deployment may not be pointed to another shape, one line; `None` = it may.

    Its controller makes a new pod before it ends an old one, so that never fewer serve than are asked for: at
    each state so many, the new ones of the new shape. A budget that lets nothing go forbids movement, though
    this one would go unseen by it.
    """
    variant = standing.named(step.variant)
    if variant is None:
        return f"{step.variant} is gone"
    template = variant.rollout.template
    if template != step.template:
        return f"{variant.name} names claim template {template} by now, not {step.template}"
    return (
        obstacle(standing, step.shape, terms.trial_s)
        or (_not_trusted(terms) if terms.distrust else None)
        or _cut_off(standing, variant, terms)
        or _falls_short(standing, variant, step, terms)
    )


def _falls_short(standing: Standing, variant: Variant, step: Step, terms: Terms) -> str | None:
    """Return which state of a rollout would carry too little, `None` if none would."""
    serving = sorted(variant.serving.elements(), key=lambda shape: terms.capacities.get(shape, 0.0))
    stay = min(len(serving), variant.wanted)
    if stay < max(step.replicas, terms.minimum):
        return f"{stay} replicas serve, {max(step.replicas, terms.minimum)} must before they change shape"
    for new in range(1, stay + 1):
        state = Configuration(Counter({step.shape: new}) + Counter(serving[: stay - new]))
        if problem := _worse(state, standing.ready, terms):
            return problem
    return None


def _on_trial(state: Configuration, otherwise: Configuration, terms: Terms) -> str | None:
    """Return why a state rests on replicas whose shape is not proven, `None` if it does not.

    Replicas on trial are left out of both sides: what they carry is no reason to let others go.
    """
    if terms.proven is None or all(shape in terms.proven for shape in otherwise):
        return None
    left, before = (
        Configuration({shape: n for shape, n in each.counts.items() if shape in terms.proven})
        for each in (state, otherwise)
    )
    if _worse(left, before, terms) is None:
        return None
    trial = next(shape for shape in otherwise if shape not in terms.proven)
    return f"{trial} is on trial: until it is proven, {left} would have to carry {terms.need_keep:.2f}"


def _disrupts(standing: Standing, variant: Variant, step: Step) -> str | None:
    """Return what a removal would disrupt that its owner asked to be spared.

    Controllers that scale down look at neither: budgets bind evictions only, marks those who evict. Which
    pods go is not ours to say, so one that is marked keeps all of its Deployment.
    """
    if spared := next((replica for replica in variant.replicas if replica.spared_by), None):
        return f"pod {spared.pod} is not to be disrupted ({spared.spared_by})"
    lost = _lost(variant, step)
    short = next((budget for budget in standing.budgets if lost > budget.allowed), None)
    if short is None:
        return None
    return f"PodDisruptionBudget {short.name} lets {short.allowed} ready replicas go, {lost} would"


def _cuts(standing: Standing, variant: Variant, step: Step, terms: Terms) -> str | None:
    """Return why pods that go would be killed before their requests are done, `None` if they would not."""
    return _cut_off(standing, variant, terms) if _lost(variant, step) else None


def _cut_off(standing: Standing, variant: Variant, terms: Terms) -> str | None:
    """Return why requests of a pod that goes would be cut off, `None` if they would not."""
    lacking_s = terms.drain_s - variant.grace_s
    if lacking_s <= 0:
        return None
    owner = standing.own.name if variant.is_copy else variant.name
    return (
        f"requests of {variant.name} may last {terms.drain_s:.0f} s, its pods are killed after "
        f"{variant.grace_s:.0f} s: raise spec.template.spec.terminationGracePeriodSeconds of "
        f"{owner} by {ceil(lacking_s)} or more"
    )


def _worse(state: Configuration, otherwise: Configuration, terms: Terms) -> str | None:
    """Return what is wrong with a state, compared with what would be ready without the step."""
    capacity = _carried(state, terms)
    if capacity >= min(terms.need_keep, _carried(otherwise, terms)) - _ROUNDING:
        return None
    return f"{state} would be ready and carry {capacity:.2f}, {terms.need_keep:.2f} must stay"


def _futures(
    standing: Standing, variant: Variant, step: Step, terms: Terms
) -> Iterator[tuple[Configuration, Configuration]]:
    """Yield what may be ready with a removal, and at the same moment without it.

    After the replicas have gone, and then with the first one that is on its way. Those of one write go
    in one sync of the ReplicaSet controller: what stands for the moment in between is no state that
    demand is served at, and where some of a shape stay the end is the least. The controller ends pods
    first that are bound to no node (kubernetes pkg/controller/controller_utils.go, ActivePodsWithRanks);
    such have no device yet. Of the others it may take any: it does not know of our evidence, so the worst
    case is that it takes ready ones.
    """
    now, ready, lost = standing.ready, variant.ready, _lost(variant, step)
    live = [replica for replica in variant.replicas if not replica.is_leaving]
    left = _without(now, variant, lost, terms)
    if len(live) - step.replicas > lost:
        yield left, now.plus(step.shape, 1)
    coming = {v.shape for v in standing.variants if v is not variant and v.wanted > v.ready}
    if step.replicas > ready - lost:
        coming.add(step.shape)
    if lost:
        yield left, now
        for shape in sorted(coming):
            yield left.plus(shape, 1), now.plus(shape, 1)


def _lost(variant: Variant, step: Step) -> int:
    """Return how many ready replicas a removal may take at worst."""
    placed = sum(not replica.is_leaving and replica.device is not None for replica in variant.replicas)
    return min(max(placed - step.replicas, 0), variant.ready)


def _without(now: Configuration, variant: Variant, lost: int, terms: Terms) -> Configuration:
    """Return what is left if so many ready replicas go, those that carry most first: it is the worst case."""
    serving = sorted(variant.serving.elements(), key=lambda shape: -terms.capacities.get(shape, 0.0))
    for shape in serving[:lost]:
        now = now.plus(shape, -1)
    return now


def _not_trusted(terms: Terms) -> str:
    return f"the need is not trusted: {terms.distrust[0]}"


def _carried(configuration: Configuration, terms: Terms) -> float:
    return carried(configuration, terms.capacities, terms.router)
