"""How fast the fleet may shrink: by a share at once, and not at all in a fall that nobody foresaw."""

from dataclasses import replace

import pytest

from actuator.gate import Terms
from actuator.objects.plans import fall_of
from actuator.pace import FallLimits, Pace
from actuator.ports import PlanRecord, StepRecord
from fleet.boards import H100_80GB
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Fleet, Gpu, Standing, Variant
from fleet.past import Fall
from fleet.shape import Configuration
from fleet.workload import Mode, Router
from tests.fakes.cluster import key, mig

WHOLE, HALF = mig("whole"), mig("3g.40gb")
NOW_S = 10_000.0
CARD = Gpu("GPU-0", "node", H100_80GB)


def standing(name, whole, *falls):
    return Standing(key(name), (Variant(name, WHOLE, whole, "1", is_base=True),), falls=falls)


def gave_up(minutes_ago, start, left):
    return Fall(NOW_S - 60 * minutes_ago, Configuration({WHOLE: start}), Configuration({WHOLE: left}))


def change(name, start, goal, *steps):
    return ChangeSet(key(name), Configuration({WHOLE: start}), Configuration(goal), steps, NOW_S)


def pace(standings, changes=(), unforeseen=(), hour_peak=100.0):
    """A whole card carries 1, half a card 0.5, by the sum of them; the last hour asked for `hour_peak`."""
    fleet = Fleet("1", (CARD,), (), (), tuple(standings))
    terms = {
        one.key: Terms(
            Mode.FULL,
            Router.LEAST_LOADED,
            0,
            {WHOLE: 1.0, HALF: 0.5},
            0.0,
            hour_peak=hour_peak,
            is_fall_foreseen=one.key.name not in unforeseen,
        )
        for one in standings
    }
    return Pace(fleet, changes, terms, NOW_S, FallLimits())


def down(name, replicas, shape=WHOLE):
    return Step(Verb.SCALE_DOWN, name, shape, replicas, "1", "spare")


class TestOrdinaryFalls:
    """A fleet of 20 cards may give up 3 of them in ten minutes."""

    def refusal(self, given_up, replicas, minutes_ago=5, hour_peak=100.0):
        falls = [gave_up(minutes_ago, 10 + given_up, 10)] if given_up else []
        llama = standing("llama", 10, *falls)
        asked = pace([llama, standing("other", 10)], hour_peak=hour_peak)
        return asked.refusal(llama, down("llama", replicas))

    @pytest.mark.parametrize(("given_up", "replicas"), [(0, 7), (1, 8), (2, 9)])
    def test_what_stays_below_the_limit_may_go(self, given_up, replicas):
        assert self.refusal(given_up, replicas) is None

    def test_a_first_one_may_go_whatever_it_takes(self):
        assert self.refusal(0, 2) is None

    def test_what_goes_beyond_it_waits(self):
        assert "4.00 cards would be given up in 10 min, 3.00 may be" == self.refusal(2, 8)

    def test_what_was_given_up_longer_ago_is_forgotten(self):
        assert self.refusal(3, 8, minutes_ago=11) is None

    @pytest.mark.parametrize(("hour_peak", "waits"), [(2.0, False), (5.0, False), (11.5, True)])
    def test_what_nobody_asked_for_in_the_last_hour_is_no_fall(self, hour_peak, waits):
        """Of ten cards five stay; those that were asked for and are no longer carried are given up."""
        refused = self.refusal(2, 5, hour_peak=hour_peak)
        assert waits is (refused is not None)

    def test_replicas_that_others_replace_are_no_fall(self):
        half = Variant("half", HALF, 10, "1", is_base=False)
        llama = standing("llama", 5, gave_up(1, 10, 0))
        llama = replace(llama, variants=(*llama.variants, half))
        assert pace([llama, standing("other", 10)], hour_peak=5.0).refusal(llama, down("llama", 0)) is None

    def test_what_passes_counts_for_the_next(self):
        llama, qwen = standing("llama", 10), standing("qwen", 10)
        asked = pace([llama, qwen])
        assert asked.refusal(llama, down("llama", 8)) is None
        asked.take(llama, down("llama", 8))
        assert "4.00 cards" in asked.refusal(qwen, down("qwen", 8))

    @pytest.mark.parametrize(
        ("hour_peak", "replicas", "left"), [(100.0, 2, 7), (100.0, 8, 8), (6.0, 0, 3), (2.0, 2, 2)]
    )
    def test_a_removal_is_cut_to_what_may_go(self, hour_peak, replicas, left):
        llama = standing("llama", 10)
        asked = pace([llama, standing("other", 10)], hour_peak=hour_peak)
        wanted = change("llama", 10, {WHOLE: replicas}, down("llama", replicas))
        cut = asked.cut(wanted, llama)
        assert [left] == [step.replicas for step in cut.steps]
        assert wanted.goal == cut.goal

    def test_one_replica_may_go_from_any_fleet(self):
        llama = standing("llama", 2)
        cut = pace([llama]).cut(change("llama", 2, {}, down("llama", 0)), llama)
        assert [1] == [step.replicas for step in cut.steps]

    def test_additions_are_not_cut(self):
        llama = standing("llama", 2)
        more = change("llama", 2, {WHOLE: 9}, Step(Verb.SCALE_UP, "llama", WHOLE, 9, "1", "peak"))
        assert more == pace([llama]).cut(more, llama)


class TestTheBreaker:
    """Ten workloads of 4 cards each."""

    NAMES = tuple(f"w{number}" for number in range(10))

    def asked(self, fall_to, falling, unforeseen, gone=0, hour_peak=100.0):
        """`falling` workloads fall to `fall_to` cards, the first `unforeseen` of them unexpectedly."""
        standings = [
            standing(name, 4, *([gave_up(1, 5, 4)] if number < gone else []))
            for number, name in enumerate(self.NAMES)
        ]
        changes = [change(name, 4, {WHOLE: fall_to}) for name in self.NAMES[:falling]]
        return pace(standings, changes, self.NAMES[:unforeseen], hour_peak)

    @pytest.mark.parametrize(
        ("fall_to", "falling", "unforeseen", "gone"),
        [(3, 5, 5, 0), (3, 10, 5, 0), (2, 3, 3, 0), (0, 2, 2, 0), (4, 0, 6, 6), (3, 5, 5, 1)],
        ids=["five of ten", "five, and five foreseen", "15 %", "two large", "gone lately", "one twice"],
    )
    def test_it_opens(self, fall_to, falling, unforeseen, gone):
        assert "fleet breaker: " in self.asked(fall_to, falling, unforeseen, gone).breaker

    @pytest.mark.parametrize(
        ("fall_to", "falling", "unforeseen"),
        [(3, 4, 4), (3, 10, 4), (4, 0, 10), (0, 10, 0), (2, 2, 10), (6, 10, 10)],
        ids=["four", "four unforeseen", "no fall", "all foreseen", "10 %", "all grow"],
    )
    def test_it_stays_closed(self, fall_to, falling, unforeseen):
        assert "" == self.asked(fall_to, falling, unforeseen).breaker

    def test_cards_that_the_last_hour_did_not_need_may_go_from_all_at_once(self):
        assert "" == self.asked(1, 10, 10, hour_peak=1.0).breaker
        assert "" != self.asked(1, 10, 10, hour_peak=1.5).breaker

    def test_it_says_what_would_go(self):
        expected = (
            "fleet breaker: 5 of 10 workloads would give up 5.00 of 40.00 cards within 10 min, "
            "which an hour ago was not thought possible"
        )
        assert expected == self.asked(3, 5, 5).breaker

    def test_then_nothing_shrinks_foreseen_or_not(self):
        asked = self.asked(3, 10, 5)
        assert asked.breaker == asked.refusal(standing("w9", 4), down("w9", 3))

    def test_few_of_very_many_are_no_reason(self):
        standings = [standing(f"w{number}", 4) for number in range(40)]
        changes = [change(name, 4, {WHOLE: 3}) for name in self.NAMES[:6]]
        assert "" == pace(standings, changes, self.NAMES).breaker

    def test_a_workload_without_terms_does_not_count(self):
        standings = [standing(name, 4) for name in self.NAMES]
        fleet = Fleet("1", (CARD,), (), (), tuple(standings))
        changes = [change(name, 4, {}) for name in self.NAMES]
        assert "" == Pace(fleet, changes, {}, NOW_S, FallLimits()).breaker


class TestWhatAPlanTook:
    STEPS = (
        Step(Verb.CREATE_VARIANT, "half", HALF, 0, None, "r"),
        Step(Verb.SCALE_UP, "half", HALF, 5, None, "r"),
        Step(Verb.SCALE_DOWN, "llama", WHOLE, 1, "1", "r"),
    )

    def fall(self, *states):
        change = ChangeSet(
            key(), Configuration({WHOLE: 3, HALF: 1}), Configuration({WHOLE: 1, HALF: 5}), self.STEPS, 0.0
        )
        records = tuple(StepRecord(state, float(at)) for at, state in enumerate(states, 1))
        return fall_of(PlanRecord(change, records, "1"))

    def test_what_it_took_and_what_it_added(self):
        expected = Fall(3.0, Configuration({WHOLE: 3, HALF: 1}), Configuration({WHOLE: 1, HALF: 5}))
        assert expected == self.fall(StepState.DONE, StepState.DONE, StepState.DONE)

    @pytest.mark.parametrize("state", [state for state in StepState if state is not StepState.DONE])
    def test_what_was_not_done_took_nothing(self, state):
        assert self.fall(StepState.DONE, StepState.DONE, state) is None

    def test_an_addition_that_was_not_done_added_nothing(self):
        left = self.fall(StepState.DONE, StepState.FAILED, StepState.DONE).left
        assert Configuration({WHOLE: 1, HALF: 1}) == left
