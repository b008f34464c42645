"""Which Deployments are variants of another one: behind one Service, for one model, on other shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actuator.objects.servings import Serving


def variants_among(
    servings: Iterable[Serving], models: Callable[[Serving], frozenset[str]]
) -> dict[Serving, Serving]:
    """Return the Deployments that are a variant of another, each with that one.

    The one with most replicas is the workload's own. What stands at zero serves no model that could differ.
    What something else scales is nobody's variant, because `variants` takes way `own`. Of one shape there is
    one: two that ask for the same are a release beside another.

    Args:
        servings: What holds GPUs.
        models: Returns the models that the ready pods of one say they serve.
    """
    bases: dict[Serving, Serving] = {}
    may = [one for one in servings if one.kind == "Deployment" and not _is_scaled(one)]
    by_size = sorted(may, key=lambda one: (-one.replicas, one.key))
    for base in by_size:
        served = models(base)
        if base in bases or len(served) != 1:
            continue
        asked = {base.grant.asks}
        for one in by_size:
            is_free = one is not base and one not in bases and one not in bases.values()
            is_like = models(one) == served if one.replicas else True
            if is_free and is_like and _is_beside(one, base) and one.grant.asks not in asked:
                bases[one] = base
                asked.add(one.grant.asks)
    return bases


def _is_scaled(serving: Serving) -> bool:
    return any(writer.is_of_replicas for writer in serving.writers)


def _is_beside(one: Serving, base: Serving) -> bool:
    is_near = one.key.namespace == base.key.namespace and one.grant.mechanism == base.grant.mechanism
    return is_near and bool(one.services & base.services) and not one.pods & base.pods
