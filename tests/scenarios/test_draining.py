"""Nothing that serves is told to end sooner than its requests are done."""

from dataclasses import replace

import pytest

from actuator.gate import refusal
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
