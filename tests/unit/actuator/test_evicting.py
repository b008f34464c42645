"""May this pod be evicted: the gate for changes of nodes, which name the pod instead of a number."""

from dataclasses import replace
from math import inf

import pytest

from actuator.gate import keeps
from fleet.workload import Mode, Router
from tests.scenarios.test_removal_gate import Case, standing

STALE = ("the metrics are stale",)
CASES = {
    "enough stays": ("w! w!", 1.0, {}, {}, ""),
    "too little stays": ("w! w!", 1.5, {}, {}, "1 x whole would be ready and carry 1.00, 1.50 must stay"),
    "fewer than must be ready": ("w!", 0.0, {}, {}, "nothing would be ready, at least 1 replicas must be"),
    "as many as must be ready": ("w!", 0.0, {}, {"minimum": 0}, ""),
    "it does not serve yet": ("w~ w!", 9.0, {}, {"distrust": STALE}, ""),
    "it has no device yet": ("w? w!", 9.0, {}, {}, ""),
    "it is leaving": ("w- w!", 9.0, {}, {}, ""),
    "the need is not trusted": (
        "w! w!",
        0.0,
        {},
        {"distrust": STALE},
        "the need is not trusted: the metrics are stale",
    ),
    "not trusted, and it carries nothing": (
        "h! w!",
        0.0,
        {},
        {"distrust": STALE, "router": Router.LEAST_LOADED, "capacities": {}},
        "",
    ),
    "held by its owner": ("w! w!", 0.0, {"held_until_s": inf}, {}, "its owner has it held"),
    "held until now": ("w! w!", 0.0, {"held_until_s": 0.0}, {}, ""),
    "kept by another": ("w! w!", 0.0, {"forbidden": "kept by argocd"}, {}, "kept by argocd"),
    "kept by another, and it does not serve": ("w~ w!", 0.0, {"forbidden": "argocd"}, {}, "argocd"),
    "a mode that removes nothing": (
        "w! w!",
        0.0,
        {},
        {"mode": Mode.SCALE_UP_ONLY},
        "mode scale-up-only removes nothing",
    ),
    "an annotation that removes nothing": (
        "w! w!",
        0.0,
        {"permits": Mode.OFF},
        {},
        "mode off removes nothing",
    ),
    "requests last longer than it is given": (
        "w! w!",
        0.0,
        {},
        {"drain_s": 90.0},
        (
            "requests of w may last 90 s, its pods are killed after 30 s: raise "
            "spec.template.spec.terminationGracePeriodSeconds of w by 60 or more"
        ),
    ),
    "requests last as long as it is given": ("w! w!", 0.0, {}, {"drain_s": 30.0}, ""),
}


@pytest.mark.parametrize(("has", "need_keep", "stands", "terms", "why"), CASES.values(), ids=CASES)
def test_the_first_pod_is_evicted_only_where_a_replica_could_be_removed(has, need_keep, stands, terms, why):
    seen = standing(has)
    patient = tuple(replace(variant, grace_s=30.0) for variant in seen.variants)
    seen = replace(seen, variants=patient, **stands)
    assert why == keeps(seen, "p0", replace(Case("", has, "w=1", need_keep).terms(), **terms))


def test_of_a_pod_that_is_nobody_s_nothing_is_lost():
    assert "" == keeps(standing("w!"), "p9", Case("", "w!", "w=0", 9.0).terms())
