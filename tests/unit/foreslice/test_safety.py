"""What becomes of workloads when foreslice is gone, and when their owner takes them back."""

from dataclasses import replace

import pytest

from actuator.outcome import Outcome
from fleet.shape import Configuration
from fleet.workload import Mode, Way
from foreslice.safety import Restoration, raise_below
from tests.builders.deciding import workload
from tests.builders.execution import LARGE, LLAMA, SMALL, WHOLE, Process, goal, llama, standing, terms

NAMED = replace(workload(mode=Mode.FULL), key=LLAMA)


def shrunk(to, before=4):
    """A workload that foreslice took from `before` large slices to something else."""
    cluster = llama(before)
    process = Process(cluster)
    for _ in range(8):
        process.tick(goal(to))
    assert Configuration(to) == standing(cluster).wanted
    return cluster


def raised(cluster, mode=Mode.FULL):
    return raise_below(cluster, [replace(NAMED, mode=mode)], 1000.0, "nobody leads")


class TestWhenNobodyLeads:
    """On the fake cluster every replica counts as one card."""

    def test_what_stands_below_what_stood_before_is_raised_to_it(self):
        cluster = shrunk({LARGE: 1})
        [result] = raised(cluster)
        assert (Outcome.DONE, "nobody leads: 4 x 3g.40gb is safe") == (result.outcome, result.reason)
        assert Configuration({LARGE: 4}) == standing(cluster).wanted

    def test_what_holds_as_much_on_other_shapes_is_left_alone(self):
        cluster = shrunk({SMALL: 4})
        assert () == raised(cluster)

    def test_what_holds_less_on_other_shapes_gets_the_rest_on_its_own(self):
        cluster = shrunk({SMALL: 3})
        raised(cluster)
        assert Configuration({SMALL: 3, LARGE: 1}) == standing(cluster).wanted

    def test_what_its_owner_ran_beside_it_is_safe_there(self):
        cluster = llama(1).add(LLAMA, SMALL, 3, name="by-owner")
        process = Process(cluster)
        for _ in range(8):
            process.tick(goal({LARGE: 2}))
        raised(cluster)
        assert Configuration({LARGE: 2, SMALL: 2}) == standing(cluster).wanted

    def test_what_holds_more_keeps_it(self):
        cluster = shrunk({LARGE: 9})
        assert () == raised(cluster)

    def test_what_foreslice_never_changed_is_left_alone(self):
        cluster = llama(4)
        cluster.scale(LLAMA, "llama", 1, expects=None)
        assert () == raised(cluster)

    @pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY, Mode.ADVISE])
    def test_what_may_not_be_added_to_is_left_alone(self, mode):
        cluster = shrunk({LARGE: 1})
        assert () == raised(cluster, mode)

    def test_twice_is_once(self):
        cluster = shrunk({LARGE: 1})
        raised(cluster)
        assert () == raised(cluster)


class TestGivingBack:
    def turned(self, cluster, most=20):
        restoration, seen = Restoration(cluster, {LLAMA: Way.OWN}), []
        for number in range(most):
            if not restoration.turn(1000.0 + number):
                return seen
            cluster.tick()
            seen.append(standing(cluster).ready.replicas)
        raise AssertionError("it never ended")

    def test_copies_go_as_the_owners_own_becomes_ready(self):
        cluster = shrunk({SMALL: 3})
        ready = self.turned(cluster)
        assert Configuration({LARGE: 4}) == standing(cluster).ready
        assert min(ready) >= 3

    def test_what_has_grown_is_given_back_as_large_as_it_is(self):
        cluster = shrunk({SMALL: 5, WHOLE: 2})
        self.turned(cluster)
        assert Configuration({LARGE: 7}) == standing(cluster).ready

    @pytest.mark.parametrize(
        ("stood", "grown", "given_back"),
        [
            (2, {SMALL: 5}, {LARGE: 3, SMALL: 2}),
            (2, {LARGE: 4}, {LARGE: 2, SMALL: 2}),
            (0, {SMALL: 4}, {LARGE: 4}),
        ],
    )
    def test_what_its_owner_made_beside_it_stands_as_it_did_before(self, stood, grown, given_back):
        cluster = llama(2).add(LLAMA, SMALL, stood, name="by-owner")
        process = Process(cluster)
        for _ in range(8):
            process.tick(goal(grown))
        ready = self.turned(cluster)
        assert Configuration(given_back) == standing(cluster).ready
        assert min(ready) >= min(4, sum(grown.values()))

    @pytest.mark.parametrize(("own", "given_back"), [(0, {SMALL: 4}), (1, {LARGE: 1, SMALL: 4})])
    def test_one_that_breaks_off_on_the_way_goes_on_to_where_it_went(self, own, given_back):
        cluster = llama(own).add(LLAMA, SMALL, 4, name="by-owner")
        process = Process(cluster)
        for _ in range(8):
            process.tick(goal({LARGE: 2}))
        Restoration(cluster, {LLAMA: Way.OWN}).turn(900.0)
        assert Configuration({LARGE: 2, SMALL: 4}) == standing(cluster).wanted
        self.turned(cluster)
        assert Configuration(given_back) == standing(cluster).ready

    def test_what_foreslice_was_about_to_add_on_its_owners_shapes_is_not_lost(self):
        cluster = llama(2).add(LLAMA, SMALL, 2, name="by-owner")
        Process(cluster).tick(goal({LARGE: 1, SMALL: 6}), held=terms(need_keep=1.0))
        assert Configuration({LARGE: 1, SMALL: 6}) == standing(cluster).moving_to
        self.turned(cluster)
        assert Configuration({LARGE: 6, SMALL: 2}) == standing(cluster).ready

    def test_copies_stay_while_the_owners_own_does_not_become_ready(self):
        cluster = shrunk({SMALL: 3})
        cluster.room[LARGE] = 0
        restoration = Restoration(cluster, {LLAMA: Way.OWN})
        for number in range(10):
            restoration.turn(1000.0 + number)
            cluster.tick()
        assert Configuration({SMALL: 3}) == standing(cluster).ready

    def test_a_workload_that_was_never_changed_is_its_owners_already(self):
        assert () == Restoration(llama(2), {LLAMA: Way.OWN}).turn(1000.0)
