"""What replicas take of cards, and what it takes to hold as many as before."""

import pytest

from fleet.boards import H100_80GB
from fleet.cards import CardShares
from fleet.shape import Configuration, Shape

WHOLE, HALF, SEVENTH = (Shape("h100-80gb", profile) for profile in ("whole", "3g.40gb", "1g.10gb"))
CARDS = CardShares([H100_80GB])


def test_a_slice_takes_the_larger_of_its_compute_and_memory():
    assert 1.0 == CARDS.of(WHOLE)
    assert 0.5 == CARDS.of(HALF)
    assert 16 / 132 <= CARDS.of(SEVENTH) < 0.15


def test_a_card_that_is_not_known_counts_whole():
    assert 1.0 == CARDS.of(Shape("a100-40gb", "1g.5gb"))


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
