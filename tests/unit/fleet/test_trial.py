"""How long a shape rests after a trial that was given up, and after one that found no room."""

import pytest

from fleet.cluster import Standing, Variant
from fleet.rollout import Rollout
from fleet.shape import Shape
from fleet.trial import GIVEN_UP_S, ROOMLESS_S, Trial
from tests.builders.fleet import key

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")


def rests_s(*tried_at_s):
    """Return how long a shape rests after each of these attempts that found no device."""
    trial, rests = Trial(), []
    for at_s in tried_at_s:
        trial = trial.without_room("no room", at_s)
        rests.append(trial.until_s - at_s)
    return rests


@pytest.mark.parametrize(
    ("rests", "tried_at_s"),
    [
        ([900.0], [0.0]),
        ([900.0, 1800.0, 3600.0], [0.0, 900.0, 5000.0]),
        # Two days of attempts, each as soon as it may be: never longer than a failed shape rests.
        (
            [900.0 * 2**n for n in range(7)] + [86400.0] * 2,
            [900.0 * (2**n - 1) for n in range(8)] + [201600.0],
        ),
        ([900.0, 1800.0], [0.0, ROOMLESS_S + GIVEN_UP_S - 1.0]),
        ([900.0, 900.0], [0.0, ROOMLESS_S + GIVEN_UP_S]),
    ],
    ids=["first", "doubled", "at most a day", "within a day of the rest", "a day after it"],
)
def test_what_found_no_room_rests_twice_as_long_each_time_in_a_row(rests, tried_at_s):
    assert rests == rests_s(*tried_at_s)


@pytest.mark.parametrize(
    ("trial", "rests"),
    [(Trial().without_room("no room", 100.0), 900.0), (Trial().abandoned("too slow", 100.0), 86400.0)],
    ids=["no room", "failed"],
)
def test_it_is_not_used_meanwhile_and_after_that_all_begins_anew(trial, rests):
    last_s = 100.0 + rests - 1.0
    assert (True, trial) == (trial.is_given_up(last_s), trial.as_of(last_s))
    anew = trial.as_of(last_s + 1.0)
    assert (False, Trial(roomless=trial.roomless)) == (trial.is_given_up(last_s + 1.0), anew)
    assert (True, False) == (trial.is_over, anew.is_over)


def test_one_that_served_found_room():
    rested = Trial().without_room("no room", 0.0).as_of(900.0)
    assert (1, 0) == (rested.served(0.0).roomless, rested.served(30.0).roomless)


def test_a_trial_under_way_and_one_that_waits_for_its_next_attempt_are_not_over():
    assert not Trial(served_s=60.0).is_over
    assert not Trial().failed("too slow", 100.0).is_over
    assert not Trial().failed("too slow", 100.0).is_given_up(101.0)


def stands(own, trial, *, proven=(), owners="theirs"):
    """A workload whose own Deployment asks for a shape, and what is known of halves."""
    variant = Variant("chat", own, 1, "1", is_base=True, rollout=Rollout(template="theirs", owners=owners))
    return Standing(key("chat"), (variant,), proven=proven, trials={HALF: trial}, switches=True)


ROOMLESS, FAILED = Trial().without_room("no room", 0.0), Trial().abandoned("too slow", 0.0)


@pytest.mark.parametrize(
    ("standing", "is_given_up"),
    [
        (stands(WHOLE, ROOMLESS), True),
        (stands(WHOLE, ROOMLESS, proven=(HALF,)), True),
        (stands(WHOLE, FAILED, proven=(HALF,)), False),
        (stands(HALF, ROOMLESS), False),
        (stands(HALF, FAILED, owners="another"), True),
    ],
    ids=["no room", "no room for a proven one", "proven", "its owner asks for it", "failed where it stands"],
)
def test_room_may_be_wanting_for_a_proven_shape_too_and_none_is_kept_from_what_it_has(standing, is_given_up):
    assert ({HALF} if is_given_up else set()) == standing.given_up(600.0)
