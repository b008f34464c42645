"""A burst that nobody foresaw, with a standby pool and without, under the service's own loop on a simulated
fleet."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.replay import Day, replay
from foreslice.replayed import Policy
from foreslice.report.pool import as_json
from foreslice.report.table import head, readings, rows
from foreslice.settings.standby import StandbySettings
from simulator.sleep import Naps
from simulator.world import WorldSpec
from tests.builders.engines import tenant

BURST_S, STEP_S = 1200, 600


def tenants():
    """Three of 20 requests/s, with bursts to 90 that never meet; on the second day a higher one of one."""
    found = []
    for nth, name in enumerate(("ant", "bee", "cat")):
        rates = np.full(288, 20.0)
        rates[[at + 7 * nth for at in (30, 60, 90, 120)]] = 90.0
        if name == "ant":
            rates[144 + BURST_S // STEP_S :] = 160.0
        found.append(tenant(rates, name))
    return tuple(found)


def spec(naps=None):
    return WorldSpec(tenants(), start_day=1, nodes=1, gpus_per_node=8, sleepers=3, naps=naps)


def stuck_spec():
    return spec(Naps(1, stuck_wake=1.0))


DAY = Day(1, spec, 2 * BURST_S, standby=StandbySettings(slices=4, sleepers=3, host_memory_gib=500))


@pytest.fixture(scope="module")
def without():
    return replay(Policy.FORECAST_OFF, DAY)


@pytest.fixture(scope="module")
def pooled():
    return replay(Policy.RULE_POOL, DAY)


def missed(came):
    """Shares of requests outside their SLO, by workload."""
    return {key.name: 1 - share for key, share in came.summary.attainment_by_workload.items()}


def uses(came):
    return {key.name: use for key, use in came.pool.account.uses.items()}


def test_a_burst_misses_less_than_half_as_often_with_a_pool_and_nothing_goes_unserved(without, pooled):
    assert missed(pooled)["ant"] < 0.5 * missed(without)["ant"]
    assert 0.0 == pooled.summary.unserved_share < without.summary.unserved_share
    assert max(missed(pooled)[name] for name in ("bee", "cat")) < 0.001
    assert 0.0 == pooled.summary.requests_cut == without.summary.requests_cut


def test_who_was_woken_and_for_how_long_is_what_the_router_saw(pooled):
    used, wakes_s = uses(pooled), pooled.pool.wakes_s
    assert {"bee": 0, "cat": 0} == {name: used[name].wakes for name in ("bee", "cat")}
    assert len(wakes_s) == used["ant"].wakes == pooled.pool.account.wakes > 0
    assert max(wakes_s) <= 10
    assert 0.0 < used["ant"].hours < used["ant"].wakes * BURST_S / 3600
    share = used["ant"].requests / pooled.summary.requests_offered
    assert pytest.approx(share, rel=0.01) == pooled.pool.account.served_share
    assert (0, 0) == (pooled.pool.stuck, pooled.pool.collisions)


def test_slices_are_asked_for_in_the_burst_and_given_back_once_own_capacity_is_there(pooled):
    asked, before = pooled.pool.asked, BURST_S // 60
    assert (0, 0) == (asked[:before].max(), asked[-1])
    assert asked.max() > pooled.pool.slices.max()
    assert pytest.approx((pooled.pool.short > 0).mean()) == pooled.pool.short_share > 0
    own = pooled.capacity[next(iter(pooled.capacity))]
    assert own[-1] > own[before]


def test_what_the_pool_takes_is_paid_all_the_time_and_is_part_of_what_the_policy_takes(without, pooled):
    took = pooled.pool.account.gpu_hours
    held = [one for one in pooled.held if one.workload is None]
    assert pytest.approx(sum(one.until_s - one.from_s for one in held) / 3600) == took
    assert took < pooled.summary.slice_hours
    assert without.pool is None


def test_what_sleeping_engines_take_is_read_while_they_sleep(pooled):
    assert pooled.pool.beds
    for bed, read in pooled.pool.beds.values():
        assert read.host.readings > 0
        assert pytest.approx((read.host.gib, read.context.gib), abs=0.01) == (bed.host_gib, bed.context_gib)


def test_the_figures_stand_in_the_table_in_words_and_for_scripts(without, pooled):
    static = replace(without, policy=Policy.STATIC)
    days = [pooled, without, static]
    cells = [dict(zip(head(days), row, strict=True)) for row in rows(days)]
    wakes = pooled.pool.account.wakes
    assert [str(wakes), "-", "-"] == [row["wakes"] for row in cells]
    assert wakes == as_json(pooled)["wakes"] == as_json(pooled)["uses"]["shop/ant"]["wakes"]
    assert as_json(without) is None
    [span] = as_json(pooled)["short"]
    assert 60 * (pooled.pool.short > 0).sum() == span["until_s"] - span["from_s"]
    told = " ".join(readings(days, DAY))
    assert f"in {wakes} wakes" in told
    assert "Against forecast off, the same without a pool, rule+pool took" in told


def test_where_no_engine_ever_wakes_the_burst_waits_for_own_capacity_and_nobody_else_does(without):
    """It would miss several times as much if own capacity were ordered only once every engine had stuck."""
    stuck = replay(Policy.RULE_POOL, replace(DAY, spec=stuck_spec))
    assert (0, True, 0) == (stuck.pool.account.wakes, stuck.pool.stuck > 0, stuck.pool.collisions)
    assert missed(stuck)["ant"] < 1.1 * missed(without)["ant"]
    assert max(missed(stuck)[name] for name in ("bee", "cat")) < 0.001
