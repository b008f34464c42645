"""Pictures and sentences of a replayed day."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.replay import shipped_day
from foreslice.replayed import Peaks, Policy, Replayed
from foreslice.report.figures import demand_figure
from foreslice.report.table import readings
from simulator.account import Summary
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
    return Replayed(
        Policy.FORESLICE, summary, MINUTES_S, np.ones(3, int), flat, flat, peaks, 1, "h100-80gb", (), (), {}
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
