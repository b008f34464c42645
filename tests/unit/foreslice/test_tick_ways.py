"""What a tick does for workloads that others act on, too."""

import pytest

from fleet.workload import Mode, Way
from fleet.writers import Scaler
from tests.builders.ticking import Scene, carried, steady

HPA = Scaler("HorizontalPodAutoscaler", "by-load", 1, 8, "1")


class TestPublish:
    def test_a_target_is_published_when_it_changes_and_nothing_else_is_written(self):
        scene = Scene(steady(3.3), way=Way.PUBLISH).learn()
        first, second = scene.tick(), scene.tick()

        assert carried(first) >= 3.3
        assert [("chat", str(first.decisions[0].goal))] == scene.cluster.advices
        assert ([], ()) == (scene.cluster.writes, second.conditions)

    def test_what_cannot_be_published_is_a_condition_and_tried_again(self):
        scene = Scene(steady(3.3), way=Way.PUBLISH).learn()
        scene.cluster.refuses_advice = "the cluster does not know FractionTarget"
        refused = scene.tick()
        scene.cluster.refuses_advice = ""
        taken = scene.tick()

        why = "serving/chat: its target is not published: the cluster does not know FractionTarget"
        assert ((why,), ()) == (refused.conditions, taken.conditions)
        assert 1 == len(scene.cluster.advices)

    @pytest.mark.parametrize("given", [{"acting": False}, {"mode": Mode.ADVISE}, {"way": Way.OWN}], ids=str)
    def test_without_being_asked_nothing_is_published(self, given):
        scene = Scene(steady(3.3), **{"way": Way.PUBLISH, **given}).learn()
        scene.tick()

        assert [] == scene.cluster.advices


class TestFloor:
    def test_it_stays_on_its_own_shape_and_inside_its_owners_bounds(self):
        scene = Scene(
            steady(9.5), stands="2 x whole", way=Way.FLOOR, owner={"scalers": (HPA,)}, cards=12
        ).learn()
        (decision,) = scene.tick().decisions

        assert "8 x whole" == str(decision.goal)
        assert decision.short > 1.0

    def test_who_keeps_the_replicas_is_a_condition_once_something_may_be_written(self):
        conditions = [
            Scene(steady(1.0), mode=mode, owner={"scalers": (HPA,)}).learn().tick().conditions
            for mode in (Mode.FULL, Mode.ADVISE)
        ]

        said = "serving/chat: nothing is written: spec.replicas is kept by HorizontalPodAutoscaler by-load"
        assert ([True], []) == ([line.startswith(said) for line in conditions[0]], list(conditions[1]))
