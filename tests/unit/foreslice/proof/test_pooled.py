"""What a standby pool comes to on made-up workloads whose bursts meet, or do not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fleet.errors import InputError
from foreslice.cli import app
from foreslice.proof import books
from foreslice.proof.course import QUANTILES, Course, Grid
from foreslice.proof.pooled import BASELINES, Terms, pooled
from foreslice.proof.scene import Part, Piece
from foreslice.proof.setting import HOLDS, Rule, Setting
from predictor.value.ledger import Limits
from predictor.value.worth import cheapest

SEVENTH, WHOLE = Piece("1/7", 1 / 7, 1 / 7, 1 / 7), Piece("whole", 1.0, 1.0, 1.0)
STEP_S = 300
DAY = 86_400 // STEP_S
DAYS, TENANTS = 8, 6
GRID = Grid(STEP_S, 0, 4 * DAY, DAYS * DAY, DAY // 2, 3 * STEP_S, Limits(3, 2))


def courses(*, together):
    """Workloads that burst out of nothing once in three hours, each at its own time or all at once."""
    steps = np.arange(DAYS * DAY)
    made = []
    for tenant in range(TENANTS):
        at = (steps + (0 if together else 6 * tenant)) % 36
        work = 0.1 + 0.8 * (at < 4)
        part = Part(f"t{tenant}", STEP_S, work, SEVENTH, WHOLE)
        made.append(Course(part, work, np.ones(len(work), np.bool_), np.tile(work, (len(QUANTILES), 1))))
    return made


def came(*, together, sleepers=None, wake_s=10.0, most=None):
    terms = Terms(sleepers, wake_s, most=most)
    [found] = pooled(courses(together=together), GRID, BASELINES["rule"], terms, [0.01])
    return found


@pytest.fixture(scope="module")
def apart():
    return came(together=False)


def test_what_was_set_is_met_on_days_that_had_no_say(apart):
    assert apart.unserved <= 0.015


def test_bursts_that_do_not_meet_cost_far_less_than_the_best_rule_without_a_pool(apart):
    alone = books.book(courses(together=False), GRID, HOLDS).blocks(slice(GRID.first_block, None)).total
    least = cheapest(alone, np.array([apart.unserved]), np.ones((len(alone.asked), 1)))[0]

    assert 0.6 > float(apart.ledger.held.sum()) / least


def test_bursts_that_meet_take_a_pool_for_each(apart):
    assert 2 * apart.cards < came(together=True).cards


def test_fewer_sleepers_on_a_slice_take_more_slices(apart):
    assert apart.cards < came(together=False, sleepers=2).cards


@pytest.mark.parametrize("most", [0, 2, 4])
def test_groups_that_want_more_than_there_may_be_share_all_of_it(most):
    """Three groups that want as much as each other: what does not go up evenly goes to one of them."""
    found = came(together=True, sleepers=2, most=most)
    assert {most} == set(found.slices.tolist())
    assert (found.gets.sum(axis=1) <= most).all()


def test_a_pool_is_sized_by_what_is_lacked_beside_the_baseline_that_is_chosen_with_it():
    """Bursts meet from the first scored day on; from the next midnight own capacity covers them."""
    is_before = np.arange(DAYS * DAY) < GRID.test
    changed = [
        replace(one, demand=np.where(is_before, one.demand, other.demand))
        for one, other in zip(courses(together=False), courses(together=True), strict=True)
    ]
    follows, covers = Setting(Rule.HOLD, 1), Setting(Rule.STATIC, 1.0)

    [found] = pooled(changed, GRID, (follows, covers), Terms(None, 10.0), [0.01])

    assert (follows, covers, covers, covers) == found.baselines
    assert found.slices[:DAY].all()
    assert not found.slices[DAY:].any()


def test_what_wakes_slowly_serves_less(apart):
    assert came(together=False, wake_s=0.0).unserved < apart.unserved
    assert apart.unserved < came(together=False, wake_s=150.0).unserved


def test_the_pool_is_paid_all_the_time(apart):
    assert pytest.approx(apart.slices.mean() / 7) == apart.cards
    (baseline,) = set(apart.baselines)
    alone = books.book(courses(together=False), GRID, [baseline]).blocks(slice(GRID.first_block, None)).total
    assert pytest.approx(alone.held.sum() + apart.slices.sum() / 7) == apart.ledger.held.sum()


def test_workloads_of_several_shapes_have_no_pool_in_common():
    mixed = courses(together=False)
    mixed[0] = replace(mixed[0], part=replace(mixed[0].part, piece=WHOLE))

    with pytest.raises(InputError, match="several shapes"):
        pooled(mixed, GRID, BASELINES["rule"], Terms(None, 10.0), [0.01])


@pytest.mark.parametrize(("wake", "said"), [("75s", "out of range"), ("soon", "wake")])
def test_a_wake_that_is_none_is_said(wake, said):
    root = Path(__file__).parents[4]
    files = ["--trace", str(root / "x.csv"), "--fleet", str(root / "config" / "replay" / "pool.yaml")]
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["pool", *files, "--wake", wake], catch_exceptions=False)
