"""What one tick decides on scripted demand and a cluster that stands still, and what it leaves alone."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from actuator.outcome import Outcome
from fleet.boards import H100_80GB
from fleet.past import Start
from fleet.restraints import Approval
from fleet.shape import Shape
from fleet.workload import Mode, Router
from foreslice.tick import FORECAST_ADDS_FOR_S
from tests.builders.fleet import fleet, key, running, standing
from tests.builders.ticking import DOWN, NOON, Scene, carried, need, steady


class TestWithoutAForecast:
    def test_nothing_is_decided_and_the_reason_is_said(self):
        scene = Scene(steady(3.0))
        tick = scene.tick()

        assert ("no forecast has been made yet",) == tick.conditions
        assert ((), 0.0, None) == (tick.results, need(tick).up, need(tick).reactive)
        assert [] == scene.cluster.writes

    def test_the_floor_is_held_all_the_same(self):
        scene = Scene(steady(3.0))
        one = standing("chat", "1 x whole")
        none = replace(one, variants=(replace(one.variants[0], wanted=0),))
        scene.cluster.fleet = running(fleet(8), none)
        scene.metrics.is_down = True
        scene.tick()

        assert [1] == list(scene.written.values())

    def test_a_source_that_never_answered_is_named(self):
        scene = Scene(steady(3.0))
        scene.metrics.is_down = True
        tick = scene.learn().tick()

        assert (
            "forecasts are not renewed: the metrics source does not answer",
            DOWN,
            "no metrics have been read since the start",
        ) == tick.conditions
        assert [] == scene.cluster.writes

    def test_too_little_history_leaves_what_is_asked_now(self):
        """The script begins with the tick: nothing has been learnt, but the pods show what they get."""
        scene = Scene(steady(2.5))
        scene.clock.at(1)
        tick = scene.learn().tick(1)

        assert 0.0 == need(tick).forecast_up
        assert pytest.approx(2.5, rel=0.05) == need(tick).up
        assert scene.written != {}


class TestAdding:
    def test_capacity_is_added_in_the_tick_that_needs_it(self):
        scene = Scene(steady(2.0)).learn()
        tick = scene.tick()

        assert () == tick.conditions
        assert pytest.approx(2.0, rel=0.05) == need(tick).up
        assert need(tick).up <= carried(tick)
        assert scene.written != {}

    def test_what_is_asked_now_needs_no_new_forecast(self):
        scene = Scene(steady(0.5, NOON) + steady(3.3)).learn()
        tick = scene.tick(NOON + 5)

        assert pytest.approx(3.3, rel=0.05) == need(tick).reactive
        assert scene.written["chat-whole"] >= 4

    def test_enough_is_left_alone(self):
        scene = Scene(steady(0.7)).learn()

        assert () == scene.tick().results
        assert [] == scene.cluster.writes

    def test_never_beyond_the_cards_and_the_shortage_is_said(self):
        scene = Scene(steady(6.0), cards=2).learn()
        (decision,) = scene.tick().decisions

        assert pytest.approx(6.0 - 2 * 0.869, rel=0.1) == decision.short
        assert {"chat-whole": 2} == scene.written


class TestMetricsDown:
    def test_the_forecast_may_add(self):
        scene = Scene(steady(2.0)).learn()
        scene.metrics.is_down = True
        tick = scene.tick(NOON + 1)

        assert (DOWN,) == tick.conditions
        assert need(tick).reactive is None
        assert 2.0 <= need(tick).up <= carried(tick)
        assert scene.written != {}

    @pytest.mark.parametrize(
        ("age_s", "adds"), [(FORECAST_ADDS_FOR_S, True), (FORECAST_ADDS_FOR_S + 60, False)]
    )
    def test_but_only_for_half_an_hour(self, age_s, adds):
        scene = Scene(steady(2.0)).learn()
        scene.metrics.is_down = True
        tick = scene.tick(NOON + age_s // 60)

        assert adds == (need(tick).up > 0)
        assert adds == (scene.written != {})

    @pytest.mark.parametrize("minutes", [1, 29, 31, 600])
    def test_nothing_is_ever_removed(self, minutes):
        scene = Scene(steady(0.1), "4 x whole").learn()
        scene.metrics.is_down = True
        scene.clock.at(NOON + minutes)
        scene.learn()
        tick = scene.tick(NOON + minutes)

        assert need(tick).distrust != ()
        assert [] == scene.cluster.writes

    @pytest.mark.parametrize(("minutes", "is_said"), [(5, False), (6, True)])
    def test_after_five_minutes_nothing_is_moved_and_that_is_said(self, minutes, is_said):
        scene = Scene(steady(2.0)).learn()
        scene.metrics.is_down = True
        line = f"the newest metrics are {minutes * 60} s old, at most 300 s are trusted"

        assert is_said == (line in scene.tick(NOON + minutes).conditions)

    def test_they_are_read_again_when_they_are_back(self):
        scene = Scene(steady(2.0)).learn()
        scene.metrics.is_down = True
        scene.tick(NOON + 1)
        scene.metrics.is_down = False
        scene.clock.at(NOON + 40)
        scene.learn()

        assert () == scene.tick(NOON + 40).conditions


class TestHistoryDown:
    """Instant queries answer, range queries do not."""

    @pytest.mark.parametrize("minutes", [6, 29, 31, 90])
    def test_nothing_is_removed_on_what_closed_long_ago(self, minutes):
        scene = Scene(steady(0.1), "4 x whole").learn()
        scene.metrics.has_history = False
        scene.clock.at(NOON + minutes)
        scene.loop.forecast()
        scene.loop.plan()
        tick = scene.tick(NOON + minutes)

        assert need(tick).reactive is not None
        assert need(tick).distrust != ()
        assert [] == scene.cluster.writes


class TestLeadTimes:
    def test_who_judges_forecasts_is_told_how_long_changes_were_seen_to_take(self):
        scene = Scene(steady(2.0), owner={"starts": (Start(0.0, 0.0, 400.0),) * 20}).learn()
        assert {key("chat"): 400.0} == scene.learnt.leads_s

    def test_while_the_cluster_is_not_seen_what_was_learnt_stays(self):
        scene = Scene(steady(2.0), owner={"starts": (Start(0.0, 0.0, 400.0),) * 20}).learn()
        scene.cluster.is_down = True
        scene.learn()
        assert {key("chat"): 400.0} == scene.learnt.leads_s


class TestClusterDown:
    def test_it_is_said_and_what_is_known_is_still_shown(self):
        scene = Scene(steady(2.0)).learn()
        scene.cluster.is_down = True
        tick = scene.tick()

        assert ("the cluster is not seen: the API server does not answer",) == tick.conditions
        assert tick.fleet is None
        assert pytest.approx(2.0, rel=0.05) == need(tick).up
        assert ([], ()) == (scene.cluster.writes, tick.decisions)

    def test_the_plan_waits_for_it(self):
        scene = Scene(steady(2.0))
        scene.cluster.is_down = True
        scene.learn()
        scene.cluster.is_down = False

        assert () == scene.tick().conditions
        assert scene.written != {}


class TestClusterThatSaysWait:
    def test_nothing_is_written_while_another_process_leads(self):
        scene = Scene(steady(3.0)).learn()
        scene.cluster.leads = False
        tick = scene.tick()

        assert ("another process leads",) == tick.conditions
        assert [] == scene.cluster.writes

    def test_nothing_is_written_before_the_cluster_was_seen(self):
        scene = Scene(steady(3.0)).learn()
        scene.cluster.heard_s = None

        assert ("the cluster has not been seen since the start",) == scene.tick().conditions
        assert [] == scene.cluster.writes

    @pytest.mark.parametrize(("heard_s", "is_old"), [(60.0, False), (61.0, True)])
    def test_a_view_older_than_a_minute_still_adds_and_that_it_is_old_is_said(self, heard_s, is_old):
        scene = Scene(steady(3.0)).learn()
        scene.cluster.heard_s = heard_s

        assert is_old == any("the cluster view is 61 s old" in c for c in scene.tick().conditions)
        assert scene.written != {}


def test_a_workload_that_cannot_be_handled_is_a_condition_and_no_decision():
    scene = Scene(steady(2.0))
    scene.cluster.fleet = replace(
        scene.cluster.fleet, standings=(), refused={key("chat"): "there is no Deployment serving/chat"}
    )
    tick = scene.learn().tick()

    assert ("serving/chat: there is no Deployment serving/chat",) == tick.conditions
    assert ((), []) == (tick.decisions, scene.cluster.writes)


def test_shapes_that_are_barred_are_one_condition_and_what_is_allowed_is_added():
    scene = Scene(steady(2.0))
    barred = dict.fromkeys([Shape(H100_80GB.id, each.name) for each in H100_80GB.profiles], "no counters")
    scene.cluster.fleet = replace(scene.cluster.fleet, barred=barred)
    tick = scene.learn().tick()

    assert ("no counters",) == tick.conditions
    (decision,) = tick.decisions
    assert (True, True) == (decision.is_change, all(shape.is_whole for shape in decision.goal.counts))


def test_without_a_cluster_it_observes_and_forecasts():
    scene = Scene(steady(2.0))
    scene.loop = scene.loop_on(None)
    tick = scene.learn().tick()

    assert (None, (), ()) == (tick.fleet, tick.decisions, tick.conditions)
    assert pytest.approx(2.0, rel=0.05) == need(tick).up
    assert 0 == tick.cards_if_packed


class TestTarget:
    def test_each_tick_tells_where_the_fleet_should_be_as_of_the_last_plan(self):
        scene = Scene(steady(1.7), stands="5 x whole").learn()
        scene.loop.plan()
        assert scene.tick().target is None
        scene.loop.aim()
        aim = scene.tick().target

        assert (2, 2) == (aim.cards, aim.least)
        assert set(aim.goals) == {scene.workload.key}

    def test_a_plan_renews_the_goals_of_a_target_made_for_more_than_is_needed_now(self):
        """The target says two halves; of what is asked hours later a half and an eighth carry all."""
        halves = "2 x 3g.40gb"
        scene = Scene(steady(0.8, NOON) + steady(0.45), halves)
        scene.cluster.fleet = running(fleet(2), standing("chat", halves), standing("other", "1 x 1g.10gb"))
        scene.workload = replace(scene.workload, router=Router.LEAST_LOADED)
        scene.loop = scene.loop_on(scene.cluster)
        scene.learn().loop.aim()
        scene.clock.at(NOON + 150)
        (decision,) = scene.learn().tick(NOON + 150).decisions

        assert "1 x 1g.20gb + 1 x 3g.40gb" == str(decision.goal)

    def test_without_a_cluster_there_is_none(self):
        scene = Scene(steady(2.0))
        scene.loop = scene.loop_on(None)
        scene.learn().loop.aim()
        assert scene.tick().target is None
        assert scene.loop.question() is None


class TestWhatMayBeWritten:
    @pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY, Mode.ADVISE])
    @pytest.mark.parametrize("work", [0.1, 3.0], ids=["too much", "too little"])
    def test_below_scale_up_only_nothing_is(self, mode, work):
        scene = Scene(steady(work), "2 x whole", mode=mode).learn()
        tick = scene.tick()

        assert [] == scene.cluster.writes
        assert {Outcome.HELD} == {result.outcome for result in tick.results}

    @pytest.mark.parametrize("work", [0.1, 3.0], ids=["too much", "too little"])
    def test_a_dry_run_says_what_it_would_do_and_writes_nothing(self, work):
        scene = Scene(steady(work), "2 x whole", acting=False).learn()
        tick = scene.tick()

        assert [] == scene.cluster.writes
        assert Outcome.PROPOSED in {result.outcome for result in tick.results}

    def test_scale_up_only_adds(self):
        scene = Scene(steady(3.0), mode=Mode.SCALE_UP_ONLY).learn()
        scene.tick()

        assert {"chat-whole": 4} == scene.written

    def test_scale_up_only_removes_nothing(self):
        scene = Scene(steady(0.1), "4 x whole", mode=Mode.SCALE_UP_ONLY).learn()
        scene.tick()

        assert scene.written.get("chat-whole", 4) >= 4


def test_two_loops_that_see_the_same_decide_the_same():
    script = np.random.default_rng(5).uniform(0.2, 3.0, 400)
    ticks = []
    for _ in range(2):
        scene = Scene(script, "2 x whole").learn()
        ticks.append(scene.tick(NOON + 1))

    assert ticks[0].needs == ticks[1].needs
    assert ticks[0].decisions == ticks[1].decisions
    assert ticks[0].results == ticks[1].results


class TestAdvising:
    def test_a_goal_waits_until_it_is_agreed_to(self):
        scene = Scene(steady(3.3), "1 x whole", mode=Mode.ADVISE).learn()
        tick = scene.tick()

        assert [] == scene.cluster.writes
        goal = str(tick.decisions[0].goal)
        assert {f"mode advise waits for the approval of {goal}"} == {r.reason for r in tick.results}

    def test_what_is_agreed_to_is_done_and_a_plan_of_it_kept(self):
        goal = str(Scene(steady(3.3), mode=Mode.ADVISE).learn().tick().decisions[0].goal)
        agreed = {"approval": Approval(goal, inf)}
        scene = Scene(steady(3.3), "1 x whole", mode=Mode.ADVISE, owner=agreed).learn()
        scene.tick()

        assert scene.cluster.writes
