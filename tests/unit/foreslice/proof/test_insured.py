"""What a pool would have saved beside a run, on slices of another shape than the workloads' own."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fleet.boards import H100_80GB
from fleet.shape import Shape
from fleet.workload import Tier, Way
from foreslice.proof import books
from foreslice.proof.fleet import Terms
from foreslice.proof.insured import as_json, bed_of, insured, lines
from foreslice.proof.savings import trace_of
from foreslice.proof.scene import Piece, scene_of
from foreslice.proof.setting import HOLDS
from foreslice.proof.sweep import OFF, Run
from tests.builders.deciding import workload
from tests.builders.standby import terms
from tests.unit.foreslice.proof.test_pooled import GRID, TENANTS, courses
from tests.unit.foreslice.proof.test_savings import history

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
    assert 3 == shared.pooled.needed.max()


def test_who_uses_it_who_sleeps_together_and_who_does_not_fit_is_told(shared):
    told = as_json(shared)
    assert ([f"shop/t{number}" for number in range(TENANTS - 1)], ["shop/t5"]) == (
        told["sleep_together"][0],
        list(told["not_in_it"]),
    )
    assert shared.most[0][1] > 0
    assert "Not in it: shop/t5." == lines(shared)[-1]


def test_one_alone_has_nobody_to_share_with():
    assert {} == insured(run(beds=1), TERMS, 0.01)


def test_a_pool_has_no_more_slices_than_the_settings_allow(shared):
    [few] = insured(run(beds=TENANTS - 1), replace(TERMS, slices=1), 0.01).values()
    assert 1 == few.pooled.slices.max() < shared.pooled.slices.max()
    assert few.pooled.unserved > shared.pooled.unserved


@pytest.mark.parametrize(
    ("profile", "said", "joins"),
    [
        ("whole", {}, True),
        ("whole", {"tier": Tier.STRICT}, False),
        ("whole", {"way": Way.FLOOR}, False),
        ("1g.10gb", {}, False),
    ],
    ids=["insured", "of another tier", "its replicas are set elsewhere", "does not fit"],
)
def test_who_is_not_insured_by_the_settings_has_no_bed(profile, said, joins):
    shape = Shape(H100_80GB.id, profile)
    pool = partial(bed_of, terms(shape, tiers={Tier.BALANCED}))
    served = {"shop/chat": workload(**said)}
    asked = Terms((H100_80GB,), served.get, 86_400, pool=pool)
    [part] = scene_of(trace_of({"shop/chat": history(1_700_000_040, np.full(6 * 1440, 2.0))}), asked, 0).parts
    assert ([str(shape)] if joins else []) == [bed.shape for bed in [part.bed] if bed is not None]
