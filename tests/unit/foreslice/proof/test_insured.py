"""What a pool would have saved beside a run, on slices of another shape than the workloads' own."""

from dataclasses import replace

import pytest

from fleet.shape import Shape
from foreslice.proof import books
from foreslice.proof.insured import as_json, insured, lines
from foreslice.proof.scene import Piece
from foreslice.proof.setting import HOLDS
from foreslice.proof.sweep import OFF, Run
from tests.builders.standby import terms
from tests.unit.foreslice.proof.test_pooled import GRID, TENANTS, courses

TERMS = terms(Shape("any"), sleepers=TENANTS)


def run(*, beds):
    """Workloads that burst apart, each on sevenths, with so many that fit on the pool's slices of two."""
    made = courses(together=False)
    bed = Piece("2/7", 2 / 7, 2 / 7, 2 / 7)
    made = [replace(one, part=replace(one.part, name=f"shop/{one.part.name}")) for one in made]
    made[:beds] = [replace(one, part=replace(one.part, bed=bed)) for one in made[:beds]]
    rules = books.book(made, GRID, HOLDS).blocks(slice(GRID.first_block, None))
    return Run(GRID, made, {OFF: rules}, {}, (), "measured", is_informative=True)


@pytest.fixture(scope="module")
def shared():
    return insured(run(beds=TENANTS - 1), TERMS, 0.01)["shop"]


def test_bursts_that_do_not_meet_are_insured_for_less_than_the_best_rule_takes(shared):
    assert 0 < shared.over_rule.low <= shared.over_rule.share <= shared.over_rule.high < 1
    assert shared.pooled.unserved <= 0.015


def test_slices_count_with_what_they_carry_and_take(shared):
    assert pytest.approx(shared.pooled.slices.mean() * 2 / 7) == shared.pooled.cards
    # 0.8 of a burst beyond 0.1: three slices of two sevenths, never six of one.
    assert 3 >= shared.pooled.needed.max()


def test_who_uses_it_who_sleeps_together_and_who_does_not_fit_is_told(shared):
    told = as_json(shared)
    assert ([f"shop/t{number}" for number in range(TENANTS - 1)], ["shop/t5"]) == (
        told["sleep_together"][0],
        list(told["do_not_fit"]),
    )
    assert shared.most[0][1] > 0
    assert "Not on its slices: shop/t5." == lines(shared)[-1]


def test_one_alone_has_nobody_to_share_with():
    assert {} == insured(run(beds=1), TERMS, 0.01)


def test_a_pool_has_no_more_slices_than_the_settings_allow(shared):
    [few] = insured(run(beds=TENANTS - 1), replace(TERMS, slices=1), 0.01).values()
    assert 1 == few.pooled.slices.max() < shared.pooled.slices.max()
    assert few.pooled.unserved > shared.pooled.unserved
