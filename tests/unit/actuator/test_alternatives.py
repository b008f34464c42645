"""Workloads whose replicas take the next of several shapes where there is no room for the first."""

from actuator.diff import diff
from actuator.gate import Terms, refusal
from fleet.change import Step, Verb
from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.devices import Device
from fleet.shape import Configuration
from fleet.workload import Mode, Router
from foreslice.safety import Return
from tests.fakes.cluster import key, mig

LARGE, SMALL = mig("4g.40gb"), mig("1g.10gb")
CAPACITIES = {LARGE: 0.5, SMALL: 0.1}


def replica(number, shape):
    device = None if shape is None else Device("n", "n", f"d{number}", "mig", "GPU-0", shape.profile, {})
    return Replica(
        f"p{number}", "llama", shape or LARGE, device, shape is not None, is_leaving=False, created_at_s=0.0
    )


def standing(*shapes, wanted=None):
    """A workload that asks for the large shape, else the small one, with replicas on these; `None` waits."""
    replicas = tuple(replica(number, shape) for number, shape in enumerate(shapes))
    own = Variant("llama", LARGE, wanted or len(shapes), "1", True, replicas, (SMALL,))
    return Standing(key(), (own,))


def terms(need_keep=0.0, router=Router.LEAST_LOADED):
    return Terms(Mode.FULL, router, 1, CAPACITIES, need_keep)


def test_what_was_taken_counts_as_what_it_is_and_the_rest_as_what_is_asked_first():
    seen = standing(LARGE, SMALL, None)
    assert Configuration({LARGE: 1, SMALL: 1}) == seen.ready
    assert Configuration({LARGE: 2, SMALL: 1}) == seen.wanted


def test_a_removal_is_judged_as_if_it_took_the_largest():
    """Whoever scales down does not say which pods go."""
    two_fewer = Step(Verb.SCALE_DOWN, "llama", LARGE, 1, "1", "")
    seen = standing(LARGE, SMALL, SMALL)
    assert "1 x 1g.10gb would be ready and carry 0.10, 0.30 must stay" == refusal(seen, two_fewer, terms(0.3))
    assert refusal(seen, two_fewer, terms(0.1)) is None


def test_an_addition_is_judged_as_if_it_took_the_smallest():
    """Behind a router that spreads equally, two large ones carry 1.0, and with a small one 0.3."""
    one_more = Step(Verb.SCALE_UP, "llama", LARGE, 3, "1", "")
    assert "0.90 must stay" in refusal(standing(LARGE, LARGE), one_more, terms(0.9, Router.EQUAL))
    assert refusal(standing(LARGE, LARGE), one_more, terms(0.9)) is None


def test_what_is_there_in_any_alternative_is_not_ordered_again():
    fleet = Fleet("1", (), (), (), (standing(LARGE, SMALL),))
    goal = Return(key(), Configuration({LARGE: 1, SMALL: 1}), ("needed",))
    assert [()] == [change.steps for change in diff(fleet, [goal], 0.0)]
