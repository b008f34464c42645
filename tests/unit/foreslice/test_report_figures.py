"""Pictures and sentences of a replayed day."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.replay import shipped_day
from foreslice.replayed import Peaks, Policy, Replayed
from foreslice.report.figures import cards_figure, demand_figure, steps_figure
from foreslice.report.table import readings
from simulator.account import Summary
from simulator.detail import Detail
from tests.builders.fleet import key

MINUTES_S = np.arange(3) * 60.0
RULE, FORECAST = (1.0, 1.0), (1.0, 2.0)
"""What is said of a peak, low and high: a rule says one value."""


def day(**said):
    """Workloads by what is said of their peaks, `None` = nothing."""
    keys = [key(name) for name in said]
    flat = {each: np.ones(3) for each in keys}
    peaks = {
        each: Peaks(MINUTES_S, 300, *(np.full(3, value) for value in ends))
        for each, ends in zip(keys, said.values(), strict=True)
        if ends is not None
    }
    summary = Summary(10.0, 8.0, 1.0, dict.fromkeys(keys, 1.0), 0.0, 0.0, 0.0, 0, 0)
    more = Detail(
        node_hours=80.0,
        fixed_pool_hours=12.0,
        repartitions=3,
        work_hours=4.0,
        offered=dict.fromkeys(keys, 100.0),
        attainment={"ttft": 1.0},
        attainment_by_workload={each: {"ttft": 1.0} for each in keys},
        violation_minutes=dict.fromkeys(keys, 0),
    )
    return Replayed(
        policy=Policy.FORESLICE,
        summary=summary,
        minutes_s=MINUTES_S,
        cards_in_use=np.ones(3, int),
        work=flat,
        capacity=flat,
        peaks=peaks,
        cards=1,
        board="h100-80gb",
        held=(),
        steps=(),
        rungs={},
        becauses={},
        detail=more,
    )


def fans(figure):
    """Axes of the rows that have a fan, and how often it is in the legend."""
    drawn = [one for one in figure.data if one.legendgroup == "forecast"]
    return [one.yaxis for one in drawn if one.fill], sum(one.showlegend for one in drawn)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"chat": FORECAST, "talk": FORECAST}, (["y", "y2"], 1)),
        ({"chat": RULE, "talk": FORECAST}, (["y2"], 1)),
        ({"chat": None, "talk": FORECAST}, (["y2"], 1)),
        ({"chat": RULE, "talk": None}, ([], 0)),
    ],
)
def test_a_fan_is_drawn_and_named_where_something_forecasts(said, expected):
    assert expected == fans(demand_figure(day(**said)))


def test_where_a_rule_decides_what_it_expects_is_a_broken_line_that_is_named_once():
    figure = demand_figure(day(chat=RULE, talk=FORECAST, code=RULE))
    drawn = [one for one in figure.data if one.legendgroup == "rule"]
    assert ["y", "y3"] == [one.yaxis for one in drawn]
    assert [True, False] == [one.showlegend for one in drawn]
    assert {"dot"} == {one.line.dash for one in drawn}
    assert [1.0, 1.0, 1.0] == list(drawn[0].y)
    assert "1970-01-01 00:05:00" == drawn[0].x[0]  # drawn at the end of the window that it speaks of


def test_a_rule_that_took_over_during_the_day_is_drawn_from_there_on():
    said = day(chat=FORECAST)
    [(chat, peaks)] = said.peaks.items()
    turned = replace(said, peaks={chat: replace(peaks, high=np.array([2.0, 1.0, 1.0]))})
    [line] = [one for one in demand_figure(turned).data if one.legendgroup == "rule"]
    assert [None, 1.0, 1.0] == list(line.y)
    assert (["y"], 1) == fans(demand_figure(turned))


def test_cards_and_changes_are_drawn_over_the_same_time():
    whole = ["1970-01-01 00:00:00", "1970-01-01 00:03:00"]
    for draw in (cards_figure, steps_figure):
        assert whole == list(draw(day(chat=RULE)).layout.xaxis.range)


@pytest.mark.parametrize(
    ("gpu_hours", "said"), [(9.6, "is within 4.0% of"), (10.4, "is within 4.0% of"), (10.6, "")]
)
def test_a_rule_that_takes_about_what_the_oracle_takes_decides_nothing(gpu_hours, said):
    """On some days it takes less: what either has is what first fit leaves open."""
    ours = day(chat=RULE)
    off = replace(ours.summary, gpu_hours=gpu_hours)
    days = [
        replace(ours, policy=policy)
        for policy in shipped_day(1).policies
        if policy is not Policy.FORECAST_OFF
    ]
    days.append(replace(ours, policy=Policy.FORECAST_OFF, summary=off))
    told = " ".join(readings(days, shipped_day(1)))
    assert (bool(said), True) == ("cannot be decided" in told, said in told)
