"""What replicas take of cards, and what it takes to hold as many as before."""

import pytest

from fleet.boards import H100_80GB
from fleet.cards import CardShares
from fleet.cluster import Standing, Variant
from fleet.rollout import Rollout
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from fleet.writers import Scaler

WHOLE, HALF, SEVENTH = (Shape("h100-80gb", profile) for profile in ("whole", "3g.40gb", "1g.10gb"))
CARDS = CardShares([H100_80GB])


def test_a_slice_takes_the_larger_of_its_compute_and_memory():
    assert 1.0 == CARDS.of(WHOLE)
    assert 0.5 == CARDS.of(HALF)
    assert 16 / 132 <= CARDS.of(SEVENTH) < 0.15


def test_a_card_that_is_not_known_counts_whole():
    assert 1.0 == CARDS.of(Shape("a100-40gb", "1g.5gb"))
    assert 4.0 == CARDS.of(Shape("a100-40gb", cards=4))


def test_configurations_add_up():
    held = [Configuration({WHOLE: 2, HALF: 3}), Configuration({HALF: 1})]
    assert 4.0 == CARDS.total(held)


@pytest.mark.parametrize(
    ("wanted", "safe", "raised"),
    [
        ({WHOLE: 1}, {WHOLE: 3}, {WHOLE: 3}),
        ({WHOLE: 4}, {WHOLE: 3}, {WHOLE: 4}),
        ({HALF: 6}, {WHOLE: 3}, {HALF: 6}),
        ({HALF: 5}, {WHOLE: 3}, {HALF: 5, WHOLE: 1}),
        ({HALF: 1}, {WHOLE: 3}, {HALF: 1, WHOLE: 3}),
        ({}, {WHOLE: 1, HALF: 2}, {WHOLE: 1, HALF: 2}),
        ({WHOLE: 2}, {}, {WHOLE: 2}),
        ({WHOLE: 1, HALF: 1}, {WHOLE: 1, HALF: 2}, {WHOLE: 1, HALF: 2}),
    ],
    ids=str,
)
def test_what_is_asked_for_is_raised_to_as_many_cards_as_the_safe_configuration(wanted, safe, raised):
    assert Configuration(raised) == CARDS.raised(Configuration(wanted), Configuration(safe))


def stands(own, before, beside=(), copies=(), **more):
    """A workload with Deployments of its owner's beside its own and copies, one replica each by now."""
    made = (
        Variant(f"chat-{number}", shape, 1, "1", is_base=False, is_beside=number < len(beside))
        for number, shape in enumerate((*beside, *copies))
    )
    deployment = Variant("chat", own, 1, "1", is_base=True, rollout=Rollout("theirs", "theirs"))
    return Standing(WorkloadKey("llm", "chat"), (deployment, *made), before=Configuration(before), **more)


GONE = {
    "all stand as they did": (stands(WHOLE, {WHOLE: 2, HALF: 3}, [HALF]), {WHOLE: 2, HALF: 3}),
    "a smaller one has gone": (stands(WHOLE, {WHOLE: 2, HALF: 4}), {WHOLE: 4}),
    "a larger one has gone": (stands(HALF, {HALF: 2, WHOLE: 3}), {HALF: 8}),
    "one of two has gone": (stands(WHOLE, {WHOLE: 1, HALF: 2, SEVENTH: 2}, [HALF]), {WHOLE: 2, HALF: 2}),
    "several have, each a part of one card": (stands(WHOLE, {HALF: 1, SEVENTH: 2}), {WHOLE: 1}),
    "one has gone, of which nothing stood": (stands(WHOLE, {WHOLE: 2, HALF: 0}), {WHOLE: 2}),
    "one came later": (stands(WHOLE, {WHOLE: 2}, [HALF]), {WHOLE: 2}),
    "one has another shape now": (stands(WHOLE, {WHOLE: 1, HALF: 4}, [SEVENTH]), {WHOLE: 3}),
    "one has the shape of its own": (stands(WHOLE, {WHOLE: 3, HALF: 2}, [WHOLE]), {WHOLE: 4}),
    "a copy stood there": (stands(WHOLE, {WHOLE: 1, HALF: 2}, copies=[HALF]), {WHOLE: 2}),
    "its own has another shape now": (stands(HALF, {WHOLE: 2}), {HALF: 4}),
    "its own took that of one that has gone": (stands(HALF, {WHOLE: 2, HALF: 2}), {HALF: 6}),
    "its floor is a number of replicas": (
        stands(HALF, {WHOLE: 2}, scalers=(Scaler("HorizontalPodAutoscaler", "h", 1, 9, "1"),)),
        {HALF: 2},
    ),
    "nothing stood": (stands(WHOLE, {}), {}),
}


@pytest.mark.parametrize(("standing", "safe"), GONE.values(), ids=GONE)
def test_what_stood_on_shapes_that_have_gone_is_safe_on_as_many_cards_of_its_own(standing, safe):
    assert Configuration(safe) == CARDS.safe(standing)


def test_what_was_never_changed_has_nothing_to_return_to():
    own = Variant("chat", WHOLE, 1, "1", is_base=True)
    assert CARDS.safe(Standing(WorkloadKey("llm", "chat"), (own,))) is None
