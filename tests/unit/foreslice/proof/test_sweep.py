"""What policies come to on small made-up demand, whose forecasts are known."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.chosen import choose
from foreslice.proof.course import QUANTILES, Course, Grid
from foreslice.proof.mean import FACTORS, Mean, in_hindsight
from foreslice.proof.output import Told, as_json, verdict
from foreslice.proof.page import page
from foreslice.proof.scene import Part, Piece, Scene, glide, jump
from foreslice.proof.setting import FORECASTS, FORESIGHT, HOLDS, RESIDUALS, Rule, Setting
from foreslice.proof.split import reasons, split_of, worst_hours
from foreslice.proof.sweep import RIVALS, Asked, Looking, play, unserved
from foreslice.proof.trail import figures_of, trail_of
from predictor.highest import highest_ahead
from predictor.value.ledger import Limits, foreknown

SEVENTH = Piece("1/7", 1 / 7, 1 / 7, 1 / 7)
STEP_S = 600
DAY = 86_400 // STEP_S


def demand(days, seed=0):
    """Return a sharp rise every two hours, to a height of its own."""
    steps = np.arange(days * DAY)
    heights = np.random.default_rng(seed).uniform(0.5, 2.0, len(steps) // 12 + 1)
    return 0.2 + heights[steps // 12] * ((steps % 12) < 3)


def grid_and_course(*, sees, days=6, lag=2, quiet=1):
    """Return a grid, and a course whose forecasts are what comes, or the newest work."""
    work = demand(days)
    grid = Grid(STEP_S, 0, 4 * DAY, days * DAY, DAY // 2, lag * STEP_S, Limits(lag, quiet))
    peak = highest_ahead(work, lag + 1) if sees else work
    part = Part("a", STEP_S, work, SEVENTH, Piece("whole", 1.0, 1.0, 1.0))
    course = Course(part, work, np.ones(len(work), np.bool_), np.tile(peak, (len(QUANTILES), 1)))
    return grid, course


def played(*, sees, rivals=("hpa", "wva", "dynamo", "kubex", "tensorfusion", "calendar"), **how):
    grid, course = grid_and_course(sees=sees, **how)
    return play([course], grid, Asked(grid.lag_s, 600.0, 0.01, rivals), "measured", is_informative=True)


@pytest.fixture(scope="module")
def clear():
    return played(sees=True)


def test_who_sees_everything_is_worth_one_and_is_used(clear):
    assert [1.0, 1.0] == [choice.setting.say for choice in clear.choices]
    assert pytest.approx(1.0, abs=0.1) == clear.value["foreslice"].value


def test_a_forecast_that_sees_nothing_is_not_used_and_costs_little():
    blind = played(sees=False, rivals=())
    assert not any(choice.uses_forecast for choice in blind.choices)
    rules = {setting.rule for choice in blind.choices for setting in choice.setting.settings}
    assert {Rule.HOLD, Rule.RESIDUAL} >= rules
    assert pytest.approx(0.0, abs=0.05) == blind.value["foreslice"].value


def test_the_best_rule_may_average_as_ours_may_and_without_a_forecast_nobody_beats_it():
    grid, course = grid_and_course(sees=True)
    slow = 2.0 + np.sin(np.arange(grid.steps) / 20.0) + np.random.default_rng(2).uniform(0, 1, grid.steps)
    asked = Asked(grid.lag_s, 600.0, 0.01, (), has_forecast=False)
    run = play([replace(course, demand=slow)], grid, asked, "measured", is_informative=True)
    assert not any(choice.uses_forecast for choice in run.choices)
    assert isinstance(run.at("off").knobs[0], Mean)
    rules = Book.joined([books.book(run.courses, grid, HOLDS), books.residuals(run.courses, grid, RESIDUALS)])
    scored = rules.blocks(slice(grid.first_block, None))
    averages = [one.times(factor) for one in in_hindsight(scored, 0.01) for factor in FACTORS.tolist()]
    assert averages == [knob for knob in run.books["off"].knobs if isinstance(knob, Mean)]
    assert 0.05 >= run.value["foreslice"].value
    for policy in ("foreslice", "off"):
        slices = figures_of(trail_of(run, policy), run).slices
        assert pytest.approx(run.at(policy).total.held.sum() * STEP_S / 3600) == slices, policy


def test_nothing_is_chosen_on_what_it_is_scored_on(clear):
    assert all(choice.sees_until <= choice.block for choice in clear.choices)
    assert [8, 10] == [choice.block for choice in clear.choices]


def test_the_oracle_is_cheapest_of_all_that_have_the_lag_and_the_bound_is_cheaper_still(clear):
    hours = {name: clear.hours(name) for name in clear.books}
    reach = {name: one for name, one in hours.items() if one is not None and not clear.misses(name)}
    assert hours["bound"] <= hours["oracle"] + 1e-9
    assert all(hours["oracle"] <= one + 1e-6 for name, one in reach.items() if name != "bound")


@pytest.mark.parametrize("quiet", [1, 4])
def test_what_is_told_of_a_setting_agrees_with_its_account(clear, quiet):
    run = clear if quiet == 1 else played(sees=True, rivals=("calendar",), quiet=quiet)
    for policy in run.books:
        figures = figures_of(trail_of(run, policy), run)
        book = run.at(policy)
        assert pytest.approx(book.total.held.sum() * STEP_S / 3600) == figures.slices, policy
        assert pytest.approx(unserved(book)) == 1 - figures.attainment, policy
        assert figures.slices <= figures.elastic <= figures.nodes, policy
        assert figures.elastic <= figures.fixed_pool, policy


def test_the_same_demand_comes_to_the_same_figures(clear):
    scene = Scene((clear.courses[0].part,), 0, "measured")
    first, second = (as_json(scene, [Told(one, {})], 0.01) for one in (clear, played(sees=True)))
    assert first == second


def test_a_policy_that_leaves_too_much_has_a_miss_instead_of_a_figure(clear):
    assert "" == clear.misses("oracle")
    poor = books.Book(
        ("poor",), tuple(books.book(clear.courses, clear.grid, [HOLDS[0]]).blocks(slice(8, None)).parts)
    )
    assert unserved(poor) > 0.02
    worse = type(clear)(
        **{n: getattr(clear, n) for n in clear.__slots__} | {"books": {**clear.books, "poor": poor}}
    )
    assert "of the fleet's work" in worse.misses("poor")


def test_every_rival_sweeps_its_knob():
    grid, course = grid_and_course(sees=True, days=5)
    for name, rival in RIVALS.items():
        book = rival.book([course], grid) if isinstance(rival, Looking) else books.book([course], grid, rival)
        held = book.total.held.sum(axis=1)
        assert len(book.knobs) == len(held) > 20, name
        assert held.max() > 1.2 * held.min(), name


def test_settings_at_once_come_to_what_each_comes_to_alone():
    grid, course = grid_and_course(sees=True)
    picked = [HOLDS[3], HOLDS[100], FORECASTS[7], FORESIGHT[30]]
    together = books.book([course], grid, picked).total
    for at, setting in enumerate(picked):
        alone = books.in_cards(
            course, grid, setting.target(course, grid, grid.limits)[np.newaxis], np.ones(1), grid.limits
        )
        np.testing.assert_allclose(alone.held[0], together.held[at])
        np.testing.assert_allclose(alone.lacked[0], together.lacked[at])


def test_a_choice_does_not_depend_on_what_comes_after_it():
    def chosen(days):
        grid, course = grid_and_course(sees=True, days=days)
        tried = books.Book.joined([books.book([course], grid, one) for one in (FORECASTS, HOLDS)])
        return choose(tried, 0.01, 8)

    assert chosen(5) == chosen(6)


def test_what_is_held_never_depends_on_the_future():
    grid, course = grid_and_course(sees=True)
    other = course.demand.copy()
    other[700:] = 9.0
    changed = Course(course.part, other, course.counts, course.ahead)
    for setting in (Setting(Rule.HOLD, 60, 1.2), Setting(Rule.RESIDUAL, 0.9), Setting(Rule.DAILY, 0, 1.0)):
        was, now = (setting.target(one, grid, grid.limits)[:699] for one in (course, changed))
        np.testing.assert_array_equal(was, now)
    assert (foreknown(other, grid.limits)[0, 698:700] == 9.0).all()


def test_minutes_inside_a_step_jump_or_glide_and_keep_what_is_unknown():
    values = np.array([1.0, 3.0, np.nan, 3.0])
    assert [1, 1, 3, 3] == jump(values[:2], 120).tolist()
    told = glide(values[:2], 240)
    np.testing.assert_allclose([1, 1, 1.25, 1.75, 2.25, 2.75, 3, 3], told)
    assert np.isnan(glide(values, 240)[8:12]).all()


def test_a_scene_knows_its_longest_step():
    part = grid_and_course(sees=True)[1].part
    longer = Part("b", 600, part.work, part.piece, part.whole)
    assert 600 == Scene((part, longer), 4 * DAY, "jump").step_s


def test_what_goes_unserved_is_told_by_burst_season_and_drift():
    days, day = 2, DAY
    work = np.ones(days * day)
    work[50], work[day + 50] = 3.0, 3.0
    work[day + 80 : day + 100] = np.linspace(1.0, 1.6, 20)
    work[day + 130] = 9.0
    _, course = grid_and_course(sees=True, days=days)
    burst, season, drift = reasons(Course(course.part, work, course.counts, course.ahead), 3, STEP_S)
    assert season[day + 50]
    assert drift[day + 95]
    assert burst[day + 130]
    assert ((burst.astype(int) + season + drift) == 1).all()


def test_the_worst_hours_are_those_in_which_most_went_unserved(clear):
    hours = worst_hours(clear, trail_of(clear, "foreslice"))
    assert 1 >= sum(one.share for one in hours) > 0
    assert sorted((one.lacked for one in hours), reverse=True) == [one.lacked for one in hours]


def test_knowing_more_and_waiting_less_saves_more(clear):
    split = split_of(clear, figures_of(trail_of(clear, "foreslice"), clear))
    assert 0 <= split.demand <= split.limits
    assert 0 == split.capacity, "expected is what is sure here"
    assert 0 <= split.packing


def test_the_page_tells_every_policy_and_ends_with_advice(clear):
    told = Told(clear, {name: figures_of(trail_of(clear, name), clear) for name in clear.books})
    scene = Scene((clear.courses[0].part,), 0, "measured")
    text = page("record.csv", 1, scene, [told], 0.01)
    assert all(f">{name}<" in text for name in clear.books)
    assert "a forecast pays" in text.split("For this fleet")[1]
    assert "http://" not in text.split("</script>")[-1]


def test_json_has_no_figure_of_a_policy_that_missed(clear):
    told = Told(clear, {name: figures_of(trail_of(clear, name), clear) for name in ("oracle", "hpa")})
    figures = as_json(Scene((clear.courses[0].part,), 0, "measured"), [told], 0.01)
    policies = figures["lags"][0]["policies"]
    assert pytest.approx(1.0) == policies["oracle"]["over_oracle"]
    assert policies["hpa"]["miss"]
    assert policies["hpa"]["gpu_hours"] is None
    assert "slices" not in policies["hpa"]
    assert 0 == figures["settings_chosen_after_a_scored_day"]


def test_a_lag_under_a_step_of_the_data_decides_nothing(clear):
    shorter = type(clear)(**{n: getattr(clear, n) for n in clear.__slots__} | {"is_informative": False})
    assert verdict(clear).startswith("V 0.9")
    assert verdict(shorter).startswith("not decidable, the lag is under a step")
