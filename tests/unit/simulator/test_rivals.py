"""Rivals decide as their published rules say, on cases small enough to work out by hand."""

import numpy as np
import pytest

from simulator.coarse import Seen, Stage
from simulator.rivals import rules
from simulator.rivals.dynamo import Dynamo, LocalTrend
from simulator.rivals.fraction import Fraction
from simulator.rivals.horizontal import Horizontal
from simulator.rivals.percentile import Percentile
from simulator.rivals.saturation import Saturation


def one(value):
    return np.array([value], dtype=np.float64)


def stage(first=1.0, piece=1.0, lag=3):
    work = np.full((2, 1), first)
    return Stage(work, np.ones(work.shape, np.bool_), 60, lag, one(piece), one(0.5), 10)


def seen(at, work, held, ready=None):
    ready = held if ready is None else ready
    return Seen(at, one(work), np.array([[held]]), np.array([[ready]]), np.array([[work / ready]]))


def wishes(policy, *moments, first=1.0):
    policy.begin(stage(first))
    return [tuple(int(x[0, 0]) for x in policy.wish(moment)) for moment in moments]


@pytest.mark.parametrize(
    ("work", "held", "wanted"),
    [
        pytest.param(4.0, 4, 8, id="twice the target: twice the replicas"),
        pytest.param(2.18, 4, 4, id="9 % above the target is tolerated"),
        pytest.param(2.22, 4, 5, id="11 % above is not"),
        pytest.param(1.0, 4, 2, id="half the target: half the replicas"),
    ],
)
def test_horizontal_goes_by_the_ratio_to_its_target(work, held, wanted):
    [(up, _)] = wishes(Horizontal(one(0.5)), seen(0, work, held))
    assert wanted == up


def test_horizontal_keeps_the_highest_recommendation_of_five_minutes():
    moments = [seen(0, 5.0, 5), *(seen(at, 1.0, 5) for at in range(1, 7))]
    assert [5, 5, 5, 5, 5, 1, 1] == [keep for _, keep in wishes(Horizontal(one(1.0)), *moments)]


def test_horizontal_rises_by_four_or_doubles_each_quarter_of_a_minute():
    [(up, _)] = wishes(Horizontal(one(1.0)), seen(0, 500.0, 1))
    assert ((1 + 4) * 2 * 2 * 2) == up


@pytest.mark.parametrize(
    ("work", "held", "ready", "wanted"),
    [
        pytest.param(3.6, 4, 4, 5, id="a KV use of 0.72 leaves 0.08 spare: one more"),
        pytest.param(3.4, 4, 4, 4, id="0.12 spare is enough, and too little to spread over three"),
        pytest.param(2.6, 4, 4, 3, id="three would still have 0.107 spare: one less"),
        pytest.param(3.6, 5, 4, 5, id="one is pending: nothing"),
        pytest.param(0.0, 1, 1, 1, id="the last one stays"),
    ],
)
def test_saturation_moves_one_replica_at_a_time(work, held, ready, wanted):
    assert [(wanted, wanted)] == wishes(Saturation(one(0.10)), seen(0, work, held, ready))


def test_dynamo_sets_a_floor_every_three_minutes_and_one_above_it_when_all_are_late():
    moments = [seen(0, 2.5, 1), seen(1, 2.5, 2), seen(2, 2.5, 3)]
    ups = [up for up, _ in wishes(Dynamo(one(1.0)), *moments, first=1.0)]
    assert [2, 3, 3] == ups
    assert 2 == wishes(Dynamo(one(1.0)), seen(0, 1.0, 3))[0][0]
    assert 1 == wishes(Dynamo(one(1.0)), seen(0, 1.0, 1, 1))[0][0]


def test_dynamo_holds_while_a_scaling_is_in_progress():
    assert [(4, 4)] == wishes(Dynamo(one(1.0)), seen(0, 9.0, 4, 3))


def test_a_local_trend_goes_on_as_it_went():
    filtered = LocalTrend(one(0.0))
    for value in np.arange(1.0, 400.0):
        expected = filtered.advance(one(value))
    assert pytest.approx(400.0, abs=0.5) == expected[0]


def test_a_fraction_grows_by_a_fifth_over_the_hottest_and_at_most_to_twice():
    usual = one(4.0)
    assert 6 == wishes(Fraction(one(1.0), usual), seen(0, 5.0, 4))[0][0]
    assert 8 == wishes(Fraction(one(1.0), usual), seen(0, 9.0, 4))[0][0]
    assert 4 == wishes(Fraction(one(1.0), usual), seen(0, 4.9, 4))[0][0]


def test_a_fraction_goes_back_when_a_whole_window_was_quiet_and_its_pods_are_old():
    policy = Fraction(one(1.0), one(4.0))
    moments = [seen(0, 5.0, 4), *(seen(at, 1.0, 6) for at in range(1, 17))]
    ups = [up for up, _ in wishes(policy, *moments)]
    assert ([6] * 15, 4) == (ups[:15], ups[15])


def test_a_percentile_has_a_margin_and_a_threshold():
    assert 12 == wishes(Percentile(one(1.15)), seen(0, 10.0, 20))[0][0]
    assert 12 == wishes(Percentile(one(1.15)), seen(0, 10.0, 12))[0][0]


def test_a_percentile_is_of_use_which_stops_at_what_is_held():
    assert 15 == wishes(Percentile(one(1.15)), seen(0, 20.0, 13))[0][0]


def test_hold_is_the_highest_of_the_last_steps():
    np.testing.assert_array_equal(
        [[1, 3, 2, 0], [1, 3, 3, 2]], rules.hold(np.array([1.0, 3.0, 2.0, 0.0]), [1, 2])
    )


def test_a_residual_adds_what_peaks_lately_rose():
    work = np.tile([1.0, 1.0, 4.0, 4.0], 2000)
    wanted = rules.residual(work, lag=1, step_s=300, quantiles=np.array([0.0, 1.0]))
    assert [0.0, 4.0] == wanted[:, -4].tolist()
    np.testing.assert_array_equal(work[:12], wanted[1, :12])


def test_a_residual_has_not_seen_the_windows_that_are_still_open():
    """The hour begins at step 2940; a window of six from the step before it has the burst."""
    calm = np.ones(3000)
    burst = calm.copy()
    burst[2941:] = 50.0
    wanted = [rules.residual(work, lag=5, step_s=60, quantiles=np.array([1.0]))[0] for work in (calm, burst)]
    np.testing.assert_array_equal(wanted[0][:2941], wanted[1][:2941])


def test_a_calendar_repeats_the_highest_of_the_training_days_ahead_of_it():
    work = np.array([0, 5, 0, 0, 0, 7, 0, 0, 9, 9, 9, 9], dtype=np.float64)
    [wanted] = rules.daily(work, trained=8, day=4, width=1)
    assert [7, 0, 0, 0] * 3 == wanted.tolist()
