"""When a tick takes capacity away, and what keeps it from that."""

from dataclasses import replace

import numpy as np
import pytest

from actuator.outcome import Outcome
from foreslice.rules import Freeze, Times
from foreslice.tick import PLAN_HOLDS_FOR_S
from predictor.now import FRESH_S
from tests.builders.fleet import fleet, running, standing
from tests.builders.ticking import NOON, START_S, Scene, need, steady


class TestRemoving:
    def test_what_is_not_needed_goes_on_trusted_evidence(self):
        scene = Scene(steady(0.7), "4 x whole").learn()
        tick = scene.tick()

        assert () == need(tick).distrust
        assert {"chat-whole": 1} == scene.written

    def test_a_fall_that_nobody_foresaw_removes_nothing(self):
        script = np.array(steady(3.0))
        script[NOON - 15 :] = 0.1
        scene = Scene(script, "4 x whole").learn()
        tick = scene.tick()

        assert "chat-whole" not in scene.written
        [held] = [result.reason for result in tick.results if result.outcome is Outcome.HELD]
        assert "fleet breaker: 1 of 1 workloads would give up" in held

    def test_in_a_freeze_nothing_goes(self):
        freeze = Freeze("the sale", Times(None, 3600.0, START_S + 60.0 * NOON))
        scene = Scene(steady(0.7), "4 x whole", freezes=(freeze,)).learn()
        tick = scene.tick()

        assert [] == scene.cluster.writes
        assert ("frozen until 2023-11-15 02:14 UTC: the sale",) == tick.conditions

    def test_of_what_its_owner_holds_nothing_goes_and_no_move_is_begun(self):
        held = {"held_until_s": START_S + 60.0 * NOON + 1}
        scene = Scene(steady(0.2), "4 x whole", owner=held).learn()
        scene.tick()

        assert [] == scene.cluster.writes
        scene.tick(NOON + 1)
        assert scene.cluster.writes

    def test_in_a_freeze_what_is_needed_is_added(self):
        freeze = Freeze("the sale", Times(None, 3600.0, START_S + 60.0 * NOON))
        scene = Scene(steady(3.3), "1 x whole", freezes=(freeze,)).learn()
        scene.tick()

        assert scene.written["chat-whole"] >= 4

    def test_a_pod_that_is_ready_but_not_scraped_keeps_all(self):
        scene = Scene(steady(0.7), "4 x whole", scraped=False).learn()

        assert need(scene.tick()).distrust != ()
        assert [] == scene.cluster.writes

    @pytest.mark.parametrize(
        ("is_trusted", "ready_for_s"), [(True, FRESH_S - 1), (False, FRESH_S), (False, None)]
    )
    def test_a_pod_that_cannot_have_been_scraped_yet_keeps_no_more_than_its_part(
        self, is_trusted, ready_for_s
    ):
        """What each of the three others was sent, a third of 0.7, may have come to it, too."""
        scene = Scene(steady(0.7), "4 x whole", scraped=False)
        scene.clock.at(NOON - 1)
        scene.loop.question()
        scene.clock.at(NOON)
        ready_at_s = None if ready_for_s is None else START_S + 60 * NOON - ready_for_s
        [stands] = scene.cluster.fleet.standings
        *old, new = stands.own.replicas
        own = replace(stands.own, replicas=(*old, replace(new, ready_at_s=ready_at_s)))
        scene.cluster.fleet = replace(scene.cluster.fleet, standings=(replace(stands, variants=(own,)),))
        asked = need(scene.learn().tick())

        assert (is_trusted, is_trusted) == (() == asked.distrust, bool(scene.cluster.writes))
        assert pytest.approx(0.7 * 4 / 3 if is_trusted else 0.7, rel=0.02) == asked.quiet_peak
        assert pytest.approx(0.7, rel=0.02) == asked.reactive

    def test_a_larger_pod_that_cannot_have_been_scraped_yet_may_have_had_a_larger_part(self):
        scene = Scene(steady(0.7), "3 x 3g.40gb + 1 x whole", scraped=False)
        scene.clock.at(NOON - 1)
        scene.loop.question()
        [stands] = scene.cluster.fleet.standings
        *halves, last = stands.variants
        [whole] = last.replicas
        last = replace(last, replicas=(replace(whole, ready_at_s=START_S + 60 * NOON - 9),))
        stands = replace(stands, variants=(*halves, last))
        scene.cluster.fleet = replace(scene.cluster.fleet, standings=(stands,))
        tick = scene.learn().tick()

        works = tick.outlooks[stands.key].offers.works
        times = works[whole.shape] / works[halves[0].shape]
        assert times > 2
        assert pytest.approx(0.7 * (1 + times / 3), rel=0.02) == need(tick).quiet_peak

    def test_an_unknown_minute_in_the_quiet_time_keeps_all(self):
        script = steady(0.7)
        script[NOON - 5] = np.nan
        scene = Scene(script, "4 x whole").learn()
        tick = scene.tick()

        assert ("demand over the quiet time is not known throughout",) == need(tick).distrust
        assert [] == scene.cluster.writes

    def test_a_burst_in_the_quiet_time_keeps_what_it_needed(self):
        script = steady(0.7)
        script[NOON - 5] = 2.0
        scene = Scene(script, "4 x whole").learn()
        scene.tick()

        assert scene.written.get("chat-whole", 4) >= 3

    def test_a_plan_that_is_older_than_ten_minutes_is_not_followed(self):
        scene = Scene(steady(0.7), "4 x whole").learn()
        for minutes, written in ((11, {}), (10, {"chat-whole": 1})):
            scene.clock.at(NOON + minutes)
            scene.loop.forecast()
            scene.tick(NOON + minutes)
            assert written == scene.written
        assert 10 * 60 == PLAN_HOLDS_FOR_S

    def test_a_plan_for_another_start_is_not_followed(self):
        scene = Scene(steady(0.7), "4 x whole").learn()
        scene.cluster.fleet = running(fleet(8), standing("chat", "3 x whole"))
        scene.tick()

        assert [] == scene.cluster.writes

    def test_an_addition_that_is_due_goes_before_the_plan(self):
        scene = Scene(steady(0.7, NOON) + steady(6.0), "4 x whole").learn()
        scene.tick(NOON + 2)

        assert scene.written["chat-whole"] > 4
