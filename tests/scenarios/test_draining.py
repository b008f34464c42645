"""Nothing that serves is told to end sooner than its requests are done."""

from dataclasses import replace

import pytest

from actuator.gate import keeps, refusal
from tests.builders.fleet import standing as stands
from tests.builders.ticking import Scene, steady
from tests.scenarios.test_removal_gate import Case, standing


@pytest.mark.parametrize(
    ("drain_s", "step", "why"),
    [
        (30.0, "w=1", None),
        (84.2, "w=1", "terminationGracePeriodSeconds of w by 55 or more"),
        (84.2, "w=2", None),
        (84.2, "h=0", "requests of h may last 84 s, its pods are killed after 30 s"),
    ],
)
def test_pods_that_would_be_killed_before_their_requests_are_done_stay(drain_s, step, why):
    """The one that is not ready yet serves nothing."""
    has = "w! w! w? h!"
    case = Case("", has, step, 0.0)
    variants = tuple(replace(variant, grace_s=30.0) for variant in standing(has).variants)
    answer = refusal(
        replace(standing(has), variants=variants), case.parsed(), replace(case.terms(), drain_s=drain_s)
    )
    assert (why is None and answer is None) or why in answer


@pytest.mark.parametrize(("is_beside", "whose"), [(True, "h"), (False, "w")])
def test_who_made_the_deployment_is_told_where_to_give_them_time(is_beside, whose):
    has = "w! w! h!"
    case = Case("", has, "h=0", 0.0)
    own, other = (replace(variant, grace_s=30.0) for variant in standing(has).variants)
    stood = replace(standing(has), variants=(own, replace(other, is_beside=is_beside)))
    why = refusal(stood, case.parsed(), replace(case.terms(), drain_s=84.2))
    assert f"terminationGracePeriodSeconds of {whose} by 55 or more" in why


def test_nor_are_they_evicted_for_a_layout():
    has = "w! w! w?"
    stood = standing(has)
    variants = tuple(replace(variant, grace_s=30.0) for variant in stood.variants)
    pods = {r.serves: r.pod for variant in variants for r in variant.replicas}
    terms = replace(Case("", has, "w=1", 0.0).terms(), drain_s=84.2)
    why = keeps(replace(stood, variants=variants), pods[True], terms)
    assert "terminationGracePeriodSeconds of w by 55 or more" in why
    assert "" == keeps(replace(stood, variants=variants), pods[False], terms)
    assert "" == keeps(replace(stood, variants=variants), pods[True], replace(terms, drain_s=30.0))


@pytest.mark.parametrize(("itl_s", "shrinks"), [(0.02, True), (0.1, False)])
def test_with_the_default_of_30_s_short_requests_let_replicas_go_and_long_ones_do_not(itl_s, shrinks):
    """Answers of 200 tokens: 4.1 s in the mean, of which one is done after 12 s for certain; and 60 s."""
    [variant] = stands("chat", "9 x 3g.40gb").variants
    owner = {"variants": (replace(variant, grace_s=30.0),)}
    scene = Scene(steady(1.9), "9 x 3g.40gb", owner=owner)
    scene.metrics.itl_s = itl_s
    tick = scene.learn().tick()

    assert shrinks == (scene.written.get(variant.name, 9) < 9)
    assert shrinks != any("terminationGracePeriodSeconds" in result.reason for result in tick.results)
