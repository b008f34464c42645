"""What holds for goals that follow needs between two packings, whatever stands and is needed."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.renewal import renewed
from allocator.target import target
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, fleet, running, standing

SOME = settings(deadline=None, max_examples=15)
works = st.integers(1, 12).map(lambda tenths: tenths / 10)
stood = st.sampled_from(
    ["1 x 3g.40gb", "2 x 3g.40gb", "1 x whole", "2 x 1g.10gb", "1 x 1g.10gb + 1 x 2g.20gb"]
)
tables = st.sampled_from(
    [
        {"1g.10gb": 0.1, "2g.20gb": 0.25, "3g.40gb": 0.45, "whole": 1.0},
        {"1g.10gb": 0.06, "3g.40gb": 0.4},
        {"3g.40gb": 0.45, "whole": 1.0},
    ]
)
doubts = st.sampled_from([(), (), (), ("a pod is not scraped",)])
modes = st.sampled_from([Mode.FULL, Mode.FULL, Mode.SCALE_UP_ONLY, Mode.ADVISE])


cards = st.integers(5, 7)
asked = st.lists(
    st.tuples(
        st.sampled_from(Tier),
        modes,
        st.sampled_from(Router),
        st.integers(0, 2),
        stood,
        tables,
        works,
        works,
        doubts,
    ),
    min_size=1,
    max_size=4,
)


def scene(cards, asked):
    """A target of what was needed, and what is asked since."""
    named = {f"w{n}": one for n, one in enumerate(asked)}
    here = running(fleet(cards, per_node=3), *(standing(name, one[4]) for name, one in named.items()))
    before = question(
        here,
        [workload(name, *one[:4], ceiling=6) for name, one in named.items()],
        [need(name, one[6]) for name, one in named.items()],
        {name: offers(one[5], one[2]) for name, one in named.items()},
        at_s=NOW_S + 7200,
    )
    now = (need(name, one[7], distrust=one[8]) for name, one in named.items())
    return target(before), replace(before, needs={(one.workload, 0): one for one in now})


@SOME
@given(cards, asked)
def test_a_goal_that_is_chosen_anew_carries_what_must_be_kept_on_shapes_on_offer_within_limits(cards, asked):
    aim, now = scene(cards, asked)
    goals = renewed(aim, now)
    for one in now.workloads:
        goal, needed = goals[one.key], now.needs[one.key, 0]
        if goal == aim.goals[one.key]:
            continue
        assert one.mode is not Mode.SCALE_UP_ONLY
        assert () == needed.distrust
        assert set(goal) <= set(now.offers[one.key].addable())
        assert 0.0 == now.offers[one.key].short(goal, needed.keep)
        assert one.limits.min_replicas <= goal.replicas <= one.limits.max_replicas


@SOME
@given(cards, asked)
def test_goals_are_the_same_in_whatever_order_workloads_are_given_and_found(cards, asked):
    aim, now = scene(cards, asked)
    found = replace(now.fleet, standings=now.fleet.standings[::-1])
    assert renewed(aim, now) == renewed(aim, replace(now, workloads=now.workloads[::-1], fleet=found))
