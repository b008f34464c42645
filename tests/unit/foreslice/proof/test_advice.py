"""The plain advice of a replay: which lever pays, for whom a forecast does not, and who leaves work."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foreslice.proof.advice import advice, levers, worth_by_workload
from foreslice.proof.course import QUANTILES, Course, Grid
from foreslice.proof.mean import Mean
from foreslice.proof.output import COSTS, Told, as_json, costs
from foreslice.proof.page import page
from foreslice.proof.scene import Part, Piece, Scene
from foreslice.proof.setting import HOLDS
from foreslice.proof.split import BURSTS, binding_of, by_kind, hours_at_once, worst_hours
from foreslice.proof.sweep import Asked, play
from foreslice.proof.trail import figures_of, trail_of
from predictor.highest import highest_ahead
from predictor.value.ledger import Limits
from predictor.value.worth import cheapest

STEP_S = 600
DAY = 86_400 // STEP_S
DAYS, TEST = 6, 4
LAG = 3
PIECE, WHOLE = Piece("1/7", 1 / 7, 1 / 7, 1 / 7), Piece("whole", 1.0, 1.0, 1.0)


def courses_and_grid(**works):
    """Return workloads by name, each with its work and whether its forecasts are what comes."""
    grid = Grid(STEP_S, 0, TEST * DAY, DAYS * DAY, DAY // 2, LAG * STEP_S, Limits(LAG, 1))
    courses = []
    for name, (work, sees) in works.items():
        ahead = np.tile(highest_ahead(work, LAG + 1) if sees else work, (len(QUANTILES), 1))
        part = Part(name, STEP_S, work, PIECE, WHOLE)
        courses.append(Course(part, work, np.ones(len(work), np.bool_), ahead))
    return courses, grid


def season(seed=0):
    """Return a rise every two hours, to a height of its own."""
    steps = np.arange(DAYS * DAY)
    heights = np.random.default_rng(seed).uniform(2.0, 8.0, len(steps) // 12 + 1)
    return 0.2 + heights[steps // 12] * ((steps % 12) < 3)


def bursts():
    """Return calm, and rises that nobody saw coming."""
    work = np.full(DAYS * DAY, 0.3)
    work[np.random.default_rng(5).choice(len(work), 16, replace=False)] = 1.0
    return work


def played(courses, grid, allowed=0.005):
    asked = Asked(grid.lag_s, 600.0, allowed, ())
    return play(courses, grid, asked, "measured", is_informative=True)


@pytest.fixture(scope="module")
def fleet():
    return played(
        *courses_and_grid(
            seen=(season(), True), bursting=(bursts(), False), flat=(np.ones(DAYS * DAY), False)
        )
    )


def test_it_is_told_for_whom_a_forecast_pays_and_for_whom_there_is_nothing_to_gain(fleet):
    worth = worth_by_workload(fleet)
    assert worth["seen"].low > 0
    assert worth["flat"].prize < 1.05
    [line] = [line for line in advice([fleet], 0.005) if line.startswith("Workload by workload")]
    pays, rest = line.split("a forecast pays for ")[1].split(";", 1)
    assert "1 (seen)" == pays
    assert "nothing to gain (the best rule is under 1.05 times who knows) for 1 (flat)" in rest


def test_who_is_in_no_need_of_a_forecast_is_told_that_rules_decided():
    courses, grid = courses_and_grid(bursting=(bursts(), False), flat=(np.ones(DAYS * DAY), False))
    chance = np.random.default_rng(1)
    blind = played([replace(one, ahead=chance.uniform(0, 4, one.ahead.shape)) for one in courses], grid)
    said = advice([blind], 0.02)
    assert any("rules decided on every scored day" in line for line in said)
    assert not any("Workload by workload" in line for line in said)
    assert "the forecast instead of the rule" not in {lever.name for lever in levers(blind)}


def test_rules_that_change_with_the_days_are_no_forecast_that_pays():
    """Rules that are chosen each midnight may beat any that is kept: V compares a rule with a rule then."""
    blind = played(*courses_and_grid(flat=(np.ones(DAYS * DAY), False)))
    worth = replace(blind.value["foreslice"], value=0.5, low=0.4, high=0.6, saved=0.2, prize=1.3)
    never = [replace(one, setting=Mean((HOLDS[60],))) for one in blind.choices]
    said = advice([replace(blind, value={**blind.value, "foreslice": worth}, choices=never)], 0.005)
    assert said[0].startswith("At 30m nothing shows that a forecast pays: ")
    assert any("rules decided on every scored day" in line for line in said)


def test_where_ours_has_a_miss_for_a_figure_that_is_said_first(fleet):
    assert not any("has no figure but its miss" in line for line in advice([fleet], 0.005))
    short = played(*courses_and_grid(bursting=(bursts(), False)), allowed=0.05)
    assert short.misses("foreslice")
    assert (
        f"At 30m foreslice has no figure but its miss ({short.misses('foreslice')}): what is said of hours "
        f"is at the {short.unserved:.2%} that it left." == advice([short], 0.05)[0]
    )


def test_a_lag_under_a_step_of_the_data_has_levers_as_orientation_only(fleet):
    [line] = [line for line in advice([replace(fleet, is_informative=False)], 0.005) if "Levers" in line]
    assert line.startswith("Levers at 30m, as orientation, the one that saves most first: ")


def test_of_many_who_leave_a_little_each_the_one_that_leaves_most_is_named():
    many = {f"w{n}": (np.roll(bursts(), 7 * n), False) for n in range(40)}
    run = played(*courses_and_grid(**many), allowed=0.05)
    lacked = {name: one.sum() for name, one in by_kind(run, trail_of(run, "foreslice")).items()}
    worst = max(lacked, key=lacked.get)
    assert lacked[worst] < 0.05 * sum(lacked.values())
    [line] = [line for line in advice([run], 0.05) if line.startswith("What goes unserved")]
    assert f"is that of {worst} (" in line


def test_levers_are_what_lies_between_policies_and_the_one_that_saves_most_is_first(fleet):
    by_name = {lever.name.split(",")[0]: lever for lever in levers(fleet)}
    off, ours = fleet.hours("off"), fleet.hours("foreslice")
    whole, still = fleet.hours("static-gpu"), fleet.hours("static-mig")
    assert pytest.approx(off - ours) == by_name["the forecast instead of the rule"].saved
    assert pytest.approx(1 - ours / off) == by_name["the forecast instead of the rule"].share
    assert pytest.approx(whole - still) == by_name["slices instead of whole cards"].saved
    assert sorted((lever.saved for lever in levers(fleet)), reverse=True) == [
        lever.saved for lever in levers(fleet)
    ]
    assert by_name["orders that are ready at once"].saved > 0


def test_orders_that_are_ready_at_once_take_no_more_than_the_best_rule_that_waits():
    """Where averages are the best rule, they are so at once, too."""
    steps = np.arange(DAYS * DAY)
    slow = 4.0 + 2.0 * np.sin(steps / 200.0) + np.random.default_rng(2).uniform(0, 2, len(steps))
    run = played(*courses_and_grid(slow=(slow, False)), allowed=0.01)
    assert len(run.at("off").knobs[0].settings) > 1
    assert hours_at_once(run) <= run.hours("off")


def test_a_lever_that_costs_is_told_to_cost():
    """Steep rises that scaling is always late for: what stands still takes less."""
    blind = played(*courses_and_grid(bursting=(bursts(), False)), allowed=0.05)
    [moving] = [lever for lever in levers(blind) if lever.name.startswith("capacity that moves")]
    assert moving.saved < 0
    assert any(
        f"{moving.name}, {-moving.saved:.1f} GPU-hours more (+" in line for line in advice([blind], 0.05)
    )


def test_whoever_eats_what_may_go_unserved_is_named_with_the_part_that_came_in_bursts(fleet):
    [line] = [line for line in advice([fleet], 0.005) if line.startswith("What goes unserved")]
    lacked = by_kind(fleet, trail_of(fleet, "foreslice"))
    total = sum(one.sum() for one in lacked.values())
    share, in_bursts = lacked["bursting"].sum() / total, lacked["bursting"][BURSTS] / lacked["bursting"].sum()
    assert share > 1 / 2 < in_bursts
    assert f"that of bursting ({share:.0%}, {in_bursts:.0%} of it in bursts)" in line
    assert line.endswith("a standby pool or by capacity that stands still, not by a forecast.")


def test_what_is_unserved_by_kind_is_all_that_is_unserved(fleet):
    lacked = by_kind(fleet, trail_of(fleet, "foreslice"))
    whole = sum(float(part.lacked.sum()) for part in fleet.books["foreslice"].parts)
    assert pytest.approx(whole) == sum(one.sum() for one in lacked.values())
    assert (
        lacked.keys()
        == {hour.workload for hour in worst_hours(fleet, trail_of(fleet, "foreslice"))} | lacked.keys()
    )


def test_the_limit_that_costs_who_knows_demand_is_told(fleet):
    """Rises of half an hour: whoever has to wait three steps holds what it need not, quiet time or none."""
    lag = binding_of(fleet)
    assert lag.both == pytest.approx(lag.lag)
    assert lag.quiet == pytest.approx(1.0)
    assert lag.both == pytest.approx(fleet.hours("oracle") / fleet.hours("bound"))
    assert any(
        f"{lag.lag:.2f} times for the lag alone, 1.00 times for the quiet" in line
        for line in advice([fleet], 1)
    )


def test_a_shorter_lag_is_told_with_what_it_saves_at_the_same_share(fleet):
    courses, grid = courses_and_grid(seen=(season(), True))
    # Who waits two steps is late for a rise that lasts three, and has to hold it.
    short = replace(grid, lag_s=0.0, limits=Limits(0, 1))
    first, last = (played(courses, one) for one in (short, grid))
    assert first.unserved != last.unserved
    at_once, later = (
        float(cheapest(one.books["off"].total, np.array([0.02]), np.ones((4, 1)))[0]) for one in (first, last)
    )
    saved = 1 - at_once / later
    assert saved > 0
    line = f"A lag of 0d instead of 30m saves {saved:.0%} at 2.00% unserved, without any forecast."
    assert line == advice([first, last], 0.02)[-1]
    assert line == advice([last, first], 0.02)[-1]


def test_what_is_left_at_our_hours_lies_between_settings_that_take_more_and_less(fleet):
    total, ours = fleet.books["off"].total, fleet.hours("foreslice")
    hours, left = total.held.sum(axis=1) * STEP_S / 3600, total.lacked.sum(axis=1) / total.asked.sum()
    dearer, cheaper = left[hours >= ours].min(), left[hours <= ours].min()
    assert dearer < fleet.unserved_at("off") <= cheaper
    assert fleet.unserved < fleet.unserved_at("off")
    assert fleet.unserved == pytest.approx(fleet.unserved_at("foreslice"))
    assert fleet.unserved_at("static-gpu-trained") is None


def test_json_tells_every_workload_and_what_it_would_take_to_do_better(fleet):
    told = Told(fleet, {name: figures_of(trail_of(fleet, name), fleet) for name in fleet.books})
    figures = as_json(Scene(tuple(c.part for c in fleet.courses), 0, "measured"), [told], 0.02)
    [lag] = figures["lags"]
    ours = lag["policies"]["foreslice"]
    asked = np.array([part.asked.sum() for part in fleet.books["foreslice"].parts])
    shares = np.array(list(ours["attainment_by_workload"].values()))
    assert ["seen", "bursting", "flat"] == list(ours["attainment_by_workload"])
    assert pytest.approx(ours["attainment"]) == (asked @ shares) / asked.sum()
    assert min(shares) == pytest.approx(ours["worst_attainment"])
    assert 1.0 == lag["policies"]["bound"]["over_bound"] <= lag["policies"]["oracle"]["over_bound"]
    assert figures["advice"] == advice([fleet], 0.005)
    assert lag["oracle_over_bound"]["both"] == lag["policies"]["oracle"]["over_bound"]


def test_costs_have_a_row_for_each_policy_with_figures(fleet):
    told = Told(fleet, {name: figures_of(trail_of(fleet, name), fleet) for name in fleet.books})
    rows = {row[0]: row for row in costs(told)}
    assert {name for name in fleet.books if not fleet.misses(name)} == rows.keys()
    assert {len(COSTS)} == {len(row) for row in rows.values()}
    assert f"{fleet.hours('foreslice'):.1f}" == rows["foreslice"][1]


NAMED = {"value", "value_by_workload", "policies", "attainment_by_workload"}
"""Keys below which stand names of policies or workloads."""


def keys_told(text):
    """Return every key that the tables of a text name."""
    rows = [row for row in text.splitlines() if row.startswith("| `")]
    return set(re.findall(r"`([a-z_0-9]+)`", "\n".join(rows)))


def keys_of(figures, *, are_names=False):
    """Return every key of an object, anywhere in it."""
    if isinstance(figures, list):
        return {key for one in figures for key in keys_of(one)}
    if not isinstance(figures, dict):
        return set()
    below = [keys_of(one, are_names=key in NAMED and not are_names) for key, one in figures.items()]
    return set().union(() if are_names else figures, *below)


def test_every_key_of_the_json_is_documented_and_there_is_no_other(fleet):
    told = Told(fleet, {name: figures_of(trail_of(fleet, name), fleet) for name in fleet.books})
    figures = as_json(Scene(tuple(c.part for c in fleet.courses), 0, "measured"), [told], 0.005)
    docs = (Path(__file__).parents[4] / "docs" / "replay.md").read_text()
    section = docs.split("## `--output json`")[1].split("\n##")[0]
    found = keys_of({"trace": "", "fleet": "", "seed": 1} | figures)
    assert found == keys_told(section)


@pytest.mark.parametrize(
    ("start_s", "said"),
    [(0, r"<td[^>]*>\d+</td>"), (1_767_225_600, r"<td[^>]*>\d+ \(2026-01-0\d \d\d:00\)</td>")],
)
def test_worst_hours_have_dates_where_the_trace_has(fleet, start_s, said):
    told = Told(fleet, {name: figures_of(trail_of(fleet, name), fleet) for name in ("foreslice", "oracle")})
    scene = Scene(tuple(c.part for c in fleet.courses), TEST * 1440, "measured", start_s)
    worst = page("a.csv", 1, scene, [told], 0.005).split("Hours in which most went unserved")[1]
    assert re.search(said, worst.split("</tr>")[1])
