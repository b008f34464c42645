"""A Deployment that was switched goes back to its owner's template, and is raised to what it held before."""

from dataclasses import replace

import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.objects.restraints import PAUSED
from actuator.ways import with_ways
from fleet.boards import H100_80GB
from fleet.cards import CardShares
from fleet.cluster import Standing, Variant
from fleet.rollout import Rollout
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Router, Way
from fleet.writers import Scaler
from foreslice.safety import Restoration, raise_below
from simulator.api import DEPLOYMENT
from tests.builders.execution import LLAMA, Goal
from tests.builders.stage import WEB, Stage

WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
KEY = WEB.key
TERMS = Terms(Mode.FULL, Router.LEAST_LOADED, 1, {WHOLE: 1.0, HALF: 0.5}, 0.4)


def switched(**spec):
    """A stage on which a process has switched the workload to a half, and is gone."""
    stage = Stage(**spec)
    cluster = with_ways(stage.opened(), {}, switching=[KEY])
    for _ in range(6):
        changes = diff(cluster.view([KEY]), [Goal(KEY, Configuration({HALF: 1}))], stage.now_s)
        Executor(cluster).run(changes, {KEY: TERMS}, stage.now_s)
        stage.wait()
    assert Configuration({HALF: 1}) == seen(stage).ready
    return stage


def seen(stage):
    return stage.opened().view([KEY]).standing(KEY)


def pause(stage):
    held = stage.store.get(DEPLOYMENT, KEY.namespace, KEY.name)
    stage.store.replace({**held, "metadata": {**held["metadata"], "annotations": {PAUSED: "true"}}})


def test_restored_it_serves_by_its_owners_template_though_it_is_paused():
    stage = switched()
    pause(stage)
    restoration, said = Restoration(stage.opened(), {KEY: Way.OWN}), []
    while results := restoration.turn(stage.now_s):
        said += [result.reason for result in results]
        stage.wait(3.0)
    one = seen(stage)
    assert ("whole-gpu", False) == (one.own.rollout.template, one.own.rollout.is_switched)
    assert Configuration({WHOLE: 1}) == one.ready
    assert "pods of web to follow" in said
    assert [] == list(stage.wrong())


def test_a_restoration_that_broke_off_goes_on():
    stage = switched()
    assert Restoration(stage.opened(), {KEY: Way.OWN}).turn(stage.now_s)
    again = Restoration(stage.opened(), {KEY: Way.OWN})
    while again.turn(stage.now_s):
        stage.wait()
    assert ("whole-gpu", Configuration({WHOLE: 1})) == (seen(stage).own.rollout.template, seen(stage).ready)


def test_if_nobody_leads_as_many_cards_are_held_as_before_and_nothing_is_switched():
    stage = switched()
    raise_below(stage.opened(), [replace(WEB, mode=Mode.FULL)], stage.now_s, "nobody leads")
    assert Configuration({HALF: 2}) == seen(stage).wanted


@pytest.mark.parametrize(
    ("is_switched", "before", "most", "safe"),
    [
        (True, {WHOLE: 2}, 9, {HALF: 4}),
        (True, {WHOLE: 2}, 3, {HALF: 3}),
        (False, {WHOLE: 2}, 9, {HALF: 2}),
        (True, {}, 9, {}),
    ],
    ids=["as many cards", "no more than its autoscaler sets", "its owner's own", "nothing before"],
)
def test_what_is_safe_on_another_shape_takes_as_many_cards(is_switched, before, most, safe):
    rollout = Rollout(template="ours" if is_switched else "theirs", owners="theirs")
    own = Variant("llama", HALF, 1, "1", is_base=True, rollout=rollout)
    one = Standing(
        LLAMA, (own,), before=Configuration(before), scalers=(Scaler("ScaledObject", "s", 1, most, "1"),)
    )
    assert Configuration(safe) == CardShares([H100_80GB]).safe(one)
