"""When foreslice keeps its hands off."""

import pytest

from actuator.guards import STALE_METRICS_S, STALE_VIEW_S, Halt, halt


def asked(*, is_leader=True, view_age_s=0.0, metrics_age_s=0.0):
    return halt(is_leader=is_leader, view_age_s=view_age_s, metrics_age_s=metrics_age_s)


def test_nothing_stops_while_all_is_well():
    assert Halt() == asked()


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        ("another process leads", {"is_leader": False}),
        ("the cluster has not been seen since the start", {"view_age_s": None}),
    ],
)
def test_what_stops_every_write(reason, given):
    assert (reason,) == asked(**given).everything


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        ("the cluster view is 61 s old, at most 60 s are trusted", {"view_age_s": 61.0}),
        ("the newest metrics are 301 s old, at most 300 s are trusted", {"metrics_age_s": 301.0}),
        ("no metrics have been read since the start", {"metrics_age_s": None}),
    ],
)
def test_what_stops_moves_and_leaves_additions_alone(reason, given):
    assert Halt(moves=(reason,)) == asked(**given)


def test_as_old_as_allowed_is_not_too_old():
    assert Halt() == asked(view_age_s=STALE_VIEW_S, metrics_age_s=STALE_METRICS_S)


def test_every_reason_is_named():
    stopped = asked(is_leader=False, view_age_s=100.0, metrics_age_s=None)

    assert ("another process leads",) == stopped.everything
    assert 2 == len(stopped.moves)
