"""How long a change takes: the tier's quantile of what was seen, and less of a guess with every change."""

import numpy as np
import pytest

from allocator.lead import ENOUGH, lead_time_s, lead_times_s
from fleet.cluster import Standing, Variant
from fleet.past import Start
from fleet.shape import Shape
from fleet.workload import Tier, WorkloadKey


def test_while_nothing_was_seen_the_prior_counts():
    assert 90.0 == lead_time_s([], [], 0.9, 90.0)


def test_enough_changes_stand_alone():
    own = [float(n) for n in range(1, 21)]
    assert [17.0, 19.0, 20.0] == [lead_time_s(own, [500.0] * 40, q, 900.0) for q in (0.80, 0.90, 0.95)]


def test_the_order_in_which_they_were_seen_does_not_matter():
    own = [50.0, 10.0, 30.0, 20.0]
    assert lead_time_s(own, own, 0.5, 90.0) == lead_time_s(sorted(own), sorted(own), 0.5, 90.0)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 200.0), (5, 175.0), (10, 150.0), (20, 100.0), (40, 100.0)]
)
def test_with_few_changes_the_others_count_too(count, expected):
    assert expected == pytest.approx(lead_time_s([100.0] * count, [200.0] * ENOUGH, 0.9, 900.0))


@pytest.mark.parametrize(("count", "expected"), [(0, 90.0), (5, 92.5), (10, 95.0), (20, 100.0)])
def test_with_few_changes_of_all_the_prior_counts_too(count, expected):
    assert expected == pytest.approx(lead_time_s([], [100.0] * count, 0.9, 90.0))


def test_a_workload_is_judged_by_its_own_plans_and_its_tier():
    def standing(name, *leads):
        key = WorkloadKey("llm", name)
        starts = tuple(Start(0.0, 0.0, lead) for lead in leads)
        return Standing(key, (Variant(name, Shape("h100-80gb"), 1, "1", is_base=True),), starts=starts)

    quick, slow, new = (WorkloadKey("llm", name) for name in ("quick", "slow", "new"))
    standings = [standing("quick", *range(11, 31)), standing("slow", *range(101, 121)), standing("new")]
    found = lead_times_s(standings, {quick: Tier.ECONOMY, slow: Tier.STRICT, new: Tier.BALANCED}, 90.0)

    assert {quick: 27.0, slow: 120.0, new: 117.0} == found


def test_a_workload_that_the_cluster_does_not_have_is_reckoned_with_too():
    key = WorkloadKey("llm", "gone")
    assert {key: 90.0} == lead_times_s([], {key: Tier.BALANCED}, 90.0)


COVERED = {Tier.ECONOMY: (0.72, 0.88), Tier.BALANCED: (0.85, 0.97), Tier.STRICT: (0.90, 0.99)}


@pytest.mark.parametrize("sigma", [0.25, 0.7])
@pytest.mark.parametrize("tier", Tier)
def test_the_quantile_that_was_learnt_covers_its_share_of_the_changes_to_come(tier, sigma):
    """Three workloads alike, of each of which the last twenty changes are kept; 200 more follow."""
    rng = np.random.default_rng(7)
    quantile = tier.lead_time_quantile
    took = 90.0 * np.exp(sigma * rng.standard_normal((3, 220)))
    true_s = 90.0 * np.exp(sigma * float(np.quantile(rng.standard_normal(200_000), quantile)))
    reckoned = np.array(
        [
            [
                lead_time_s(list(own[n : n + ENOUGH]), list(took[:, n : n + ENOUGH].flat), quantile, 300.0)
                for n in range(200)
            ]
            for own in took
        ]
    )
    low, high = COVERED[tier]

    assert low <= float((took[:, ENOUGH:] <= reckoned).mean()) <= high
    assert 1.0 / 1.5 <= float(np.median(reckoned)) / true_s <= 1.5
