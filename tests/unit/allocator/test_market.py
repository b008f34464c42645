"""What queues let workloads have while plans are made."""

from dataclasses import replace

import pytest

from allocator.market import NO_TEAMS, Market, charge
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.shape import Shape
from fleet.workload import Tier
from tests.builders.deciding import workload
from tests.builders.fleet import key, shape

CHAT, CODE = key("chat"), key("code")


def teams(limit=UNLIMITED, quota=UNLIMITED, tier=Tier.BALANCED):
    queues = {"team": Queue("team", quota=quota, limit=limit)}
    return Market(queues=queues, queue_of={CHAT: "team"}).teams([workload(tier=tier), workload("code")])


@pytest.mark.parametrize(
    ("of", "gpus"),
    [
        (shape("whole"), 1.0),
        (replace(shape("whole"), cards=4), 4.0),
        (shape("2g.20gb"), 2.0),
        (Shape("h100-80gb", "35/100"), 0.35),
    ],
)
def test_pieces_are_charged_as_kai_charges_them(of, gpus):
    assert gpus == charge(of)


def test_who_is_in_no_queue_may_have_anything():
    free = teams(limit=0.0)
    for who in (CODE, None):
        assert (None, 99, free) == (
            free.refusal(who, shape("whole")),
            free.most(who, shape("whole"), 99),
            free.bind(who, shape("whole"), 5),
        )
    assert 7 == NO_TEAMS.most(CHAT, shape("whole"), 7)


@pytest.mark.parametrize(
    ("limit", "wanted", "most"),
    [(4.0, 9, 2), (5.9, 9, 2), (6.0, 9, 3), (6.0, 1, 1), (1.0, 9, 0), (6.0, 0, 0)],
)
def test_so_many_go_through_one_after_the_other(limit, wanted, most):
    assert most == teams(limit).most(CHAT, shape("2g.20gb"), wanted)


def test_what_is_bound_counts_and_the_trial_before_does_not():
    before = teams(limit=3.0)
    after = before.bind(CHAT, shape("whole"), 2)
    assert (3, 1) == (before.most(CHAT, shape("whole"), 9), after.most(CHAT, shape("whole"), 9))
    assert "2 of limit 3 allocated" in after.refusal(CHAT, shape("2g.20gb"))
    assert before is before.bind(CHAT, shape("whole"), 0)


@pytest.mark.parametrize(("tier", "most"), [(Tier.STRICT, 1), (Tier.BALANCED, 3)])
def test_only_the_strict_stay_within_what_is_guaranteed(tier, most):
    assert most == teams(limit=3.0, quota=1.0, tier=tier).most(CHAT, shape("whole"), 9)


def test_a_hundredth_is_left_free_where_shares_are_asked_for():
    half = Shape("h100-80gb", "50/100")
    assert (1, 2) == (teams(limit=1.0).most(CHAT, half, 9), teams(limit=1.01).most(CHAT, half, 9))
    assert 1 == teams(limit=1.0).most(CHAT, shape("whole"), 9)


@pytest.mark.parametrize(("tier", "most"), [(Tier.STRICT, 1), (Tier.BALANCED, 4)])
def test_what_others_hold_of_a_queue_is_not_left_for_ours(tier, most):
    queues = {
        "team": Queue("team", quota=4.0, limit=7.0),
        "free": Queue("free", quota=UNLIMITED, limit=UNLIMITED),
    }
    market = Market(queues=queues, queue_of={CHAT: "team"}).beside({"team": 3.0, "unknown": 9.0})
    assert most == market.teams([workload(tier=tier)]).most(CHAT, shape("whole"), 9)
    assert (4.0, 1.0) == tuple(market.limits()[name] for name in market.counted_in(CHAT, Tier.STRICT))
    assert {0.0} == set(market.beside({"team": 8.0}).limits().values())


class TestRowsOfAPacking:
    """What a packing is told of queues: limits by name, who counts against which, and who is short first."""

    QUEUES = (
        Queue("low", quota=UNLIMITED, limit=4.0, priority=1),
        Queue("high", quota=2.0, limit=UNLIMITED, priority=9),
        Queue("free", quota=UNLIMITED, limit=UNLIMITED, priority=9),
    )
    MARKET = Market(queues={queue.name: queue for queue in QUEUES}, queue_of={CHAT: "low", CODE: "high"})

    def test_only_what_is_bounded_is_a_limit_and_what_is_guaranteed_has_its_own(self):
        assert {"low": 4.0, "high, guaranteed": 2.0} == self.MARKET.limits()

    @pytest.mark.parametrize(
        ("who", "tier", "names"),
        [
            (CHAT, Tier.BALANCED, ("low",)),
            (CHAT, Tier.STRICT, ("low", "low, guaranteed")),
            (CODE, Tier.ECONOMY, ("high",)),
            (key("other"), Tier.STRICT, ()),
        ],
    )
    def test_the_strict_count_against_what_is_guaranteed_too(self, who, tier, names):
        assert names == self.MARKET.counted_in(who, tier)

    def test_it_is_dearer_to_leave_work_of_a_queue_of_higher_priority(self):
        assert [1.0, 1.5, 1.0] == [self.MARKET.weight(who) for who in (CHAT, CODE, key("other"))]
