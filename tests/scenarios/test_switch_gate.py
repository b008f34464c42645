"""May a Deployment be pointed to another claim template now? One row per situation."""

from dataclasses import replace

import pytest

from actuator.gate import Terms, refusal
from fleet.change import Step, Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.devices import Device
from fleet.restraints import DisruptionBudget
from fleet.rollout import Rollout
from fleet.shape import Shape
from fleet.workload import Mode, Router, WorkloadKey

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
DEVICE = Device("n", "n", "d", "gpu", "GPU-0", None, {})
REST = Rollout(template="whole-gpu", owners="whole-gpu", min_ready_s=600.0)


def standing(ready=2, wanted=2, rollout=REST, grace_s=600.0, replica=None, **more):
    """A workload on whole cards; of its replicas so many serve."""
    replicas = tuple(
        Replica(
            f"p{n}", "web", WHOLE, DEVICE, n < ready, is_leaving=False, created_at_s=0.0, **(replica or {})
        )
        for n in range(max(ready, wanted))
    )
    own = Variant("web", WHOLE, wanted, "1", True, replicas, rollout=rollout, grace_s=grace_s)
    return Standing(WorkloadKey("shop", "web"), (own,), **({"switches": True, "proven": ()} | more))


def terms(need_keep=0.8, router=Router.EQUAL, **more):
    given = {"mode": Mode.FULL, "minimum": 1, "capacities": {WHOLE: 1.0, HALF: 0.45}, "trial_s": 600.0}
    return Terms(router=router, need_keep=need_keep, **(given | more))


def step(replicas=2, template="whole-gpu"):
    return Step(Verb.SWITCH, "web", HALF, replicas, "1", "a quiet night", template)


def why_not(one=None, held=None, asked=None):
    return refusal(one or standing(), asked or step(), held or terms())


ALLOWED = {
    "at rest, and enough on the way": {},
    "what is short already gets no worse": {
        "one": standing(ready=1, wanted=1),
        "asked": step(1),
        "held": terms(0.4),
    },
    "a budget that lets one go": {"one": standing(budgets=(DisruptionBudget("web", 1),))},
    "proven before": {"one": standing(rollout=replace(REST, min_ready_s=0.0), proven=(HALF,))},
    "more serve than are asked for": {"one": standing(ready=4)},
}
REFUSED = {
    "it may end pods first": (
        {"one": standing(rollout=replace(REST, obstacle="set maxUnavailable to 0"))},
        "set maxUnavailable to 0",
    ),
    "a rollout runs": (
        {"one": standing(rollout=replace(REST, is_running=True))},
        "a rollout of web is on its",
    ),
    "a rollout is stuck": ({"one": standing(rollout=replace(REST, stuck="timed out"))}, "web: timed out"),
    "somebody was quicker": (
        {"asked": step(template="other")},
        "names claim template whole-gpu by now, not other",
    ),
    "a budget lets none go": (
        {"one": standing(budgets=(DisruptionBudget("web", 0),))},
        "Budget web lets no ready",
    ),
    "a pod is spared": ({"one": standing(replica={"spared_by": "x: y"})}, "p0 is not to be disrupted (x: y)"),
    "not tried first": (
        {"one": standing(rollout=replace(REST, min_ready_s=599.0))},
        "3g.40gb has not proven itself: with minReadySeconds of Deployment web at 600 or more",
    ),
    "the smallest sets the pace": ({"held": terms(1.0)}, "would be ready and carry 0.90, 1.00 must stay"),
    "in the end there is too little": (
        {"held": terms(1.0, router=Router.WEIGHTED)},
        "2 x 3g.40gb would be ready and carry 0.90, 1.00 must stay",
    ),
    "what is not asked for may go at any time": (
        {"one": standing(ready=4, wanted=2), "held": terms(1.0)},
        "carry 0.90, 1.00 must stay",
    ),
    "more have to serve first": ({"asked": step(3)}, "2 replicas serve, 3 must before they change shape"),
    "the least have to serve": ({"held": terms(minimum=3)}, "2 replicas serve, 3 must before"),
    "the need is not trusted": (
        {"held": terms(distrust=("no metrics",))},
        "the need is not trusted: no metrics",
    ),
    "requests last longer": ({"held": terms(drain_s=900.0)}, "requests of web may last 900 s"),
    "its owner has it held": ({"one": standing(held_until_s=10.0)}, "its owner has it held"),
    "it may only be added to": ({"held": terms(mode=Mode.SCALE_UP_ONLY)}, "scale-up-only changes no shape"),
    "it is gone": ({"asked": replace(step(), variant="web-2")}, "web-2 is gone"),
}


@pytest.mark.parametrize("given", ALLOWED.values(), ids=ALLOWED)
def test_it_may(given):
    assert why_not(**given) is None


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_it_may_not(given, why):
    assert why in why_not(**given)


def test_while_pods_of_an_earlier_template_stand_no_replicas_are_taken():
    asked = Step(Verb.SCALE_DOWN, "web", WHOLE, 1, "1", "less is needed")
    assert refusal(standing(), asked, terms()) is None
    assert "a rollout of web is on its way" == refusal(standing(replica={"is_old": True}), asked, terms())


def test_replicas_are_added_on_the_way_though_the_first_small_ones_would_lower_what_is_carried():
    """The rollout brings a small one anyway, and behind an equal router each further one raises capacity."""
    asked = Step(Verb.SCALE_UP, "web", HALF, 4, "1", "a peak ahead")
    short = terms(need_keep=1.9, distrust=("no metrics",))
    assert "the need is not trusted: no metrics" == refusal(standing(), asked, short)
    assert refusal(standing(replica={"is_old": True}), asked, short) is None
