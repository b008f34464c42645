"""A workload whose owner took a Deployment of his away is safe on as many cards, not on as many replicas."""

from dataclasses import replace

import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Router, Way
from foreslice.safety import Restoration, raise_below
from simulator.api import DEPLOYMENT
from tests.builders.execution import Goal
from tests.builders.stage import BESIDE, WEB, Stage

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
KEY = WEB.key
TERMS = Terms(Mode.FULL, Router.LEAST_LOADED, 1, {WHOLE: 1.0, HALF: 0.5}, 0.4)


def changed(own, beside, to):
    """A stage that a process took from so many whole cards and halves beside to another goal, and is gone."""
    stage = Stage(own, beside=beside)
    cluster = stage.opened()
    for _ in range(6):
        changes = diff(cluster.view([KEY]), [Goal(KEY, Configuration(to))], stage.now_s)
        Executor(cluster).run(changes, {KEY: TERMS}, stage.now_s)
        stage.wait()
    assert Configuration(to) == seen(stage).ready
    return stage


def seen(stage):
    return stage.opened().view([KEY]).standing(KEY)


def take_away(stage):
    stage.store.delete(DEPLOYMENT, KEY.namespace, BESIDE)
    stage.wait(60.0)


def restored(stage, turns=30, before_turn=None):
    """Give it back; `before_turn` is called with the number of each turn before it is made."""
    restoration = Restoration(stage.opened(), {KEY: Way.OWN})
    for number in range(turns):
        if before_turn is not None:
            before_turn(number)
        if not restoration.turn(stage.now_s):
            return seen(stage)
        stage.wait()
    raise AssertionError("it never ended")


@pytest.mark.parametrize("ends", ["restored", "raised"])
def test_what_stood_on_two_halves_is_safe_on_one_card(ends):
    stage = changed(1, 2, {WHOLE: 1, HALF: 1})
    take_away(stage)
    if ends == "restored":
        restored(stage)
    else:
        raise_below(stage.opened(), [replace(WEB, mode=Mode.FULL)], stage.now_s, "nobody leads")
    assert Configuration({WHOLE: 2}) == seen(stage).wanted


def test_one_that_goes_while_it_is_given_back_is_not_made_again_as_a_copy():
    stage = changed(1, 2, {WHOLE: 1, HALF: 1})
    one = restored(stage, before_turn=lambda number: take_away(stage) if number == 1 else None)
    assert ["web"] == [variant.name for variant in one.variants]
    assert Configuration({WHOLE: 2}) == one.ready
