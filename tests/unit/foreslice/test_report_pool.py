"""The standby pool on the page of a replayed day."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.replay import shipped_day
from foreslice.replayed import Held, Policy
from foreslice.report.figures import POOL_COLOUR, cards_figure
from foreslice.report.page import page
from foreslice.report.pool import as_json
from foreslice.standby.diary import PoolDay
from simulator.insurance import PoolAccount, Use
from tests.builders.engines import tenant
from tests.builders.fleet import key
from tests.unit.foreslice.test_report_figures import FORECAST, day

CHAT, TALK, CODE = key("chat"), key("talk"), key("code")
USES = {CHAT: Use(2, 0.5, 20.0), TALK: Use(3, 0.25, 700.0), CODE: Use(0, 0.0, 0.0)}


@pytest.fixture
def pooled():
    account = PoolAccount(4.0, USES, 0.25)
    slices, short = np.full(3, 4), np.array([0, 2, 1])
    pool = PoolDay(account, slices, short + 1, short, np.array([3.0, 7.0]), 0, 0, {})
    held = (Held(None, None, 0, 0, 8, 0.0, 180.0),)
    ours = day(chat=FORECAST, talk=FORECAST, code=FORECAST)
    return replace(ours, policy=Policy.FORECAST_POOL, pool=pool, held=held)


def test_the_page_says_who_used_the_pool_those_with_most_requests_first(pooled):
    static = replace(pooled, policy=Policy.STATIC, pool=None)
    tenants = {each: tenant(np.ones(144), each.name) for each in USES}
    text = page([pooled, static], tenants, shipped_day(1))

    _, _, told = text.partition("<h2>The standby pool of forecast+pool</h2>")
    rows = [("talk", "3", "15", "700"), ("chat", "2", "30", "20")]
    assert "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows) in told
    assert 1 == text.count("The standby pool of")


def test_minutes_in_which_it_was_short_are_one_time_with_the_most_that_lacked(pooled):
    assert [{"from_s": 60, "until_s": 180, "slices": 2}] == as_json(pooled)["short"]


def test_its_slices_are_drawn_as_nobodys_alone(pooled):
    drawn = {trace.name: trace for trace in cards_figure(pooled).data}
    assert POOL_COLOUR == drawn["standby pool"].marker.color
    assert 1 == len(drawn["standby pool"].x)
    assert "standby pool" not in {trace.name for trace in cards_figure(replace(pooled, pool=None)).data}
