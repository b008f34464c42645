"""The fluid obeys the law it is given: Little's law, limits, and no request out of nothing."""

import numpy as np
import pytest

from capacity.law import TOKEN_BUDGET
from capacity.replica import MAX_BATCH
from fleet.demand import Mix
from simulator.fluid import PATIENCE_S, flow, pace_of
from tests.builders.engines import LAW, MIX

ROOM = 400_000.0


def run(arrivals, pace, running=0.0, queued=0.0):
    pods = len(pace.places)
    return flow(np.full(pods, running), np.full(pods, queued), np.asarray(arrivals, dtype=np.float64), pace)


def test_a_steady_batch_is_the_rate_times_the_residence_that_the_law_gives_it():
    """Little's law, with the residence of a request that meets A others where A are resident."""
    pace = pace_of([(LAW, ROOM, MIX)])
    for rate in (0.2, 5.0, 30.0):
        resident = float(run(np.full((300, 1), rate), pace).running[-1, 0])
        company = 1 + resident * (1 - 1 / pace.places[0])
        residence_s = LAW.residence_ms(MIX.prompt_tokens, MIX.output_tokens, company) / 1000
        assert pytest.approx(rate * residence_s, rel=1e-9) == resident


def test_a_full_batch_serves_at_the_full_rate_of_the_law():
    pace = pace_of([(LAW, ROOM, MIX)])
    after = run(np.full((50, 1), 5 * pace.full_per_s[0]), pace)
    served = 50 * 5 * pace.full_per_s[0] - after.refused.sum() - after.running[-1, 0] - after.queued[-1, 0]
    assert pytest.approx(pace.places[0]) == after.running[-1, 0]
    assert pytest.approx(50 * LAW.rate_per_s(300.0, 60.0, pace.places[0]), rel=0.05) == served


def test_requests_wait_only_once_the_batch_is_full():
    pace = pace_of([(LAW, ROOM, MIX)])
    after = run(np.full((60, 1), 1.5 * pace.full_per_s[0]), pace)
    waiting = after.queued[:, 0] > 1e-9
    assert np.allclose(pace.places[0], after.running[waiting, 0])
    assert waiting.any()


def test_nobody_waits_longer_than_clients_are_patient():
    pace = pace_of([(LAW, ROOM, MIX)])
    after = run(np.full((600, 1), 3 * pace.full_per_s[0]), pace)
    assert after.queued.max() / pace.full_per_s[0] <= PATIENCE_S + 1e-9
    assert after.refused[-1, 0] == pytest.approx(2 * pace.full_per_s[0])


def test_the_queue_is_at_most_ten_for_each_place():
    pace = pace_of([(LAW, 1_200.0, MIX)])
    assert 3 == pace.places[0]
    assert 30.0 == pytest.approx(run(np.full((600, 1), 60.0), pace).queued[-1, 0])


@pytest.mark.parametrize(
    ("mix", "room", "places"),
    [
        (Mix(10.0, 100.0), 1e9, MAX_BATCH),
        (Mix(300.0, 60.0), 3_600.0, 10),
        (Mix(1000.0, 12.0), 1e9, TOKEN_BUDGET * 13 / 1012),
        (Mix(5000.0, 10.0), 100.0, 1),
    ],
    ids=["engine limit", "kv room", "token budget", "never under one"],
)
def test_places_are_limited_by(mix, room, places):
    assert pytest.approx(places) == pace_of([(LAW, room, mix)]).places[0]


def test_short_requests_do_not_upset_a_step_of_a_second():
    """A request that takes a fiftieth of the step: the batch follows arrivals at once, without ringing."""
    pace = pace_of([(LAW, ROOM, Mix(10.0, 1.0))])
    after = run([[100.0], [0.0], [0.0], [100.0]], pace)
    assert after.running.min() >= 0
    assert after.running[2, 0] < 0.01 * after.running[0, 0]
    assert after.queued.max() == pytest.approx(0.0, abs=1e-9)


def test_an_engine_without_requests_stays_empty():
    after = run(np.zeros((5, 1)), pace_of([(LAW, ROOM, MIX)]))
    assert 0 == after.running.max() == after.queued.max() == after.refused.max()


def test_no_pods_is_no_problem():
    assert (4, 0) == flow(np.zeros(0), np.zeros(0), np.zeros((4, 0)), pace_of([])).running.shape
