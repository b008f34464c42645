"""Queues as limits."""

import math

import pytest

from fleet.errors import InputError
from fleet.ledgers.queues import UNLIMITED, Queue, queues_of

DEPT = Queue("dept", quota=8, limit=10, allocated=8)
TEAM = Queue("team", parent="dept", quota=4, limit=UNLIMITED, allocated=3, allocated_fixed=2)
BATCH = Queue("batch", parent="dept", quota=0, limit=UNLIMITED, allocated=5)
FREE = Queue("free", quota=UNLIMITED, limit=UNLIMITED, allocated=7, allocated_fixed=7)
QUEUES = queues_of([DEPT, TEAM, BATCH, FREE])


def test_a_limit_above_holds_for_the_queues_below():
    assert QUEUES.refusal("team", 2.0, fixed=False) is None
    assert "queue dept: 2.01 GPUs asked, 8 of limit 10 allocated" == QUEUES.refusal("team", 2.01, fixed=False)


def test_what_cannot_be_preempted_stays_within_quota_beside_its_like_only():
    queues = queues_of([Queue("team", quota=4, limit=UNLIMITED, allocated=9, allocated_fixed=2)])

    assert queues.refusal("team", 2.0, fixed=True) is None
    assert "queue team: 2.5 GPUs asked, 2 of quota 4 held by what cannot be preempted" == queues.refusal(
        "team", 2.5, fixed=True
    )
    assert queues.refusal("team", 2.5, fixed=False) is None


def test_limits_all_the_way_up_are_asked_before_quotas():
    assert "queue dept: 2.5 GPUs asked, 8 of limit 10 allocated" == QUEUES.refusal("team", 2.5, fixed=True)


def test_quotas_above_hold_too():
    queues = queues_of(
        [Queue("top", quota=1, limit=-1, allocated_fixed=0.5), Queue("q", "top", quota=5, limit=-1)]
    )

    assert "queue top: 0.6 GPUs asked, 0.5 of quota 1" in queues.refusal("q", 0.6, fixed=True)


def test_without_a_bound_there_is_no_refusal():
    assert QUEUES.refusal("free", 1e6, fixed=True) is None


def test_an_unset_limit_is_nothing():
    assert "0 of limit 0" in queues_of([Queue("q", quota=1)]).refusal("q", 0.01, fixed=False)


def test_slack_is_left_free_below_limits_and_quotas():
    queues = queues_of([Queue("q", quota=1, limit=2)])

    assert [True, False, True, False] == [
        queues.refusal("q", gpus, fixed=fixed, slack=0.25) is None
        for gpus, fixed in ((1.75, False), (1.8, False), (0.75, True), (0.8, True))
    ]


def test_sums_have_no_tolerance():
    queues = queues_of([Queue("q", limit=0.3)])
    for _ in range(2):
        queues = queues.bind("q", 0.1, fixed=False)

    assert queues.refusal("q", 0.1, fixed=False) is not None


def test_a_bound_pod_counts_all_the_way_up():
    bound = QUEUES.bind("team", 0.5, fixed=True).bind("batch", 1.0, fixed=False)

    assert {"dept": (9.5, 0.5), "team": (3.5, 2.5), "batch": (6.0, 0.0), "free": (7.0, 7.0)} == {
        name: (queue.allocated, queue.allocated_fixed) for name, queue in bound.by_name.items()
    }
    assert 8 == QUEUES.by_name["dept"].allocated


@pytest.mark.parametrize(
    ("name", "guaranteed", "possible", "reclaimable"),
    [("team", 1, 2, 0), ("batch", 0, 2, 5), ("dept", 0, 2, 0), ("free", math.inf, math.inf, 0)],
)
def test_what_is_left_and_what_others_may_take_back(name, guaranteed, possible, reclaimable):
    assert (guaranteed, possible, reclaimable) == (
        QUEUES.guaranteed_left(name),
        QUEUES.possible_left(name),
        QUEUES.reclaimable(name),
    )


def test_a_queue_over_its_bounds_has_nothing_left():
    queues = queues_of([Queue("q", quota=1, limit=2, allocated=3)])

    assert (0, 0, 2) == (queues.guaranteed_left("q"), queues.possible_left("q"), queues.reclaimable("q"))


def test_a_queue_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="there is no queue nobody"):
        QUEUES.refusal("nobody", 1.0, fixed=False)
    with pytest.raises(InputError, match="queue q: there is no queue lost"):
        queues_of([Queue("q", "lost")]).bind("q", 1.0, fixed=False)


def test_a_ring_of_queues_is_refused():
    ring = queues_of([Queue("a", "b", limit=-1), Queue("b", "a", limit=-1)])

    with pytest.raises(InputError, match="queue a is above itself"):
        ring.refusal("a", 1.0, fixed=False)
