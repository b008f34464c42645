"""How fast the fleet may shrink: by a share at once, and not at all in a fall that nobody foresaw."""

import pytest

from actuator.objects.plans import fall_of
from actuator.pace import CardShares, FallLimits, Pace
from actuator.ports import PlanRecord, StepRecord
from fleet.boards import H100_80GB
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Fall, Fleet, Gpu, Standing, Variant
from fleet.shape import Configuration
from tests.fakes.cluster import key, mig

WHOLE, HALF, SEVENTH = mig("whole"), mig("3g.40gb"), mig("1g.10gb")
NOW_S = 10_000.0
CARD = Gpu("GPU-0", "node", H100_80GB)


def standing(name, whole, *falls):
    return Standing(key(name), (Variant(name, WHOLE, whole, "1", is_base=True),), falls=falls)


def gave_up(minutes_ago, lost):
    return Fall(NOW_S - 60 * minutes_ago, Configuration({WHOLE: lost}), Configuration())


def shrinking(name, start, goal):
    return ChangeSet(key(name), Configuration({WHOLE: start}), Configuration(goal), (), NOW_S)


def pace(standings, changes=(), unforeseen=()):
    fleet = Fleet("1", (CARD,), (), (), tuple(standings))
    return Pace(fleet, changes, [key(name) for name in unforeseen], NOW_S, FallLimits())


def down(name, replicas, shape=WHOLE):
    return Step(Verb.SCALE_DOWN, name, shape, replicas, "1", "spare")


class TestOrdinaryFalls:
    """A fleet of 20 cards may give up 3 of them in ten minutes."""

    def refusal(self, given_up, replicas, lost_minutes_ago=5, goal=None):
        llama = standing("llama", 10, *([gave_up(lost_minutes_ago, given_up)] if given_up else []))
        change = shrinking("llama", 10, {WHOLE: replicas} if goal is None else goal)
        return pace([llama, standing("other", 10)], [change]).refusal(llama, down("llama", replicas))

    @pytest.mark.parametrize(("given_up", "replicas"), [(0, 7), (1, 8), (2, 9)])
    def test_what_stays_below_the_limit_may_go(self, given_up, replicas):
        assert self.refusal(given_up, replicas) is None

    def test_a_first_one_goes_whatever_it_takes(self):
        assert self.refusal(0, 2) is None

    def test_what_goes_beyond_it_waits(self):
        assert "4.00 cards would be given up in 10 min, 3.00 may be" == self.refusal(2, 8)

    def test_what_was_given_up_longer_ago_is_forgotten(self):
        assert self.refusal(3, 8, lost_minutes_ago=11) is None

    def test_replicas_that_others_replace_are_no_fall(self):
        assert self.refusal(3, 5, goal={WHOLE: 5, HALF: 20}) is None

    def test_what_passes_counts_for_the_next(self):
        llama, qwen = standing("llama", 10), standing("qwen", 10)
        changes = [shrinking(name, 10, {WHOLE: 8}) for name in ("llama", "qwen")]
        asked = pace([llama, qwen], changes)
        assert asked.refusal(llama, down("llama", 8)) is None
        asked.take(llama, down("llama", 8))
        assert "4.00 cards" in asked.refusal(qwen, down("qwen", 8))


class TestTheBreaker:
    """Ten workloads of 4 cards each."""

    NAMES = tuple(f"w{number}" for number in range(10))

    def asked(self, fall_to, falling, unforeseen, gone=0):
        """`falling` workloads fall to `fall_to` cards, the first `unforeseen` of them unexpectedly."""
        standings = [
            standing(name, 4, *([gave_up(1, 1)] if number < gone else []))
            for number, name in enumerate(self.NAMES)
        ]
        changes = [shrinking(name, 4, {WHOLE: fall_to}) for name in self.NAMES[:falling]]
        return pace(standings, changes, self.NAMES[:unforeseen])

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

    def test_it_says_what_would_go(self):
        expected = (
            "fleet breaker: 5 of 10 workloads would give up 5.00 of 40.00 cards within 10 min, "
            "which an hour ago was not thought possible"
        )
        assert expected == self.asked(3, 5, 5).breaker

    def test_then_nothing_shrinks_foreseen_or_not(self):
        asked = self.asked(3, 10, 5)
        refused = asked.refusal(standing("w9", 4), down("w9", 3))
        assert refused == asked.breaker

    def test_and_replicas_that_others_replace_may_still_move(self):
        standings = [standing(name, 4) for name in self.NAMES]
        moved = shrinking("w9", 4, {WHOLE: 2, HALF: 8})
        changes = [shrinking(name, 4, {WHOLE: 3}) for name in self.NAMES[:5]]
        asked = pace(standings, [*changes, moved], self.NAMES[:5])
        assert asked.breaker
        assert asked.refusal(standings[9], down("w9", 2)) is None

    def test_few_of_very_many_are_no_reason(self):
        standings = [standing(f"w{number}", 4) for number in range(40)]
        changes = [shrinking(name, 4, {WHOLE: 3}) for name in self.NAMES[:6]]
        assert "" == pace(standings, changes, self.NAMES).breaker


class TestShares:
    CARDS = CardShares([H100_80GB])

    def test_a_slice_takes_the_larger_of_its_compute_and_memory(self):
        assert 1.0 == self.CARDS.of(WHOLE)
        assert 0.5 == self.CARDS.of(HALF)
        assert 16 / 132 <= self.CARDS.of(SEVENTH) < 0.15

    def test_a_card_that_is_not_known_counts_whole(self):
        assert 1.0 == self.CARDS.of(mig("1g.5gb", board="a100-40gb"))

    def test_configurations_add_up(self):
        held = [Configuration({WHOLE: 2, HALF: 3}), Configuration({HALF: 1})]
        assert 4.0 == self.CARDS.total(held)


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
        expected = Fall(3.0, Configuration({WHOLE: 2}), Configuration({HALF: 4}))
        assert expected == self.fall(StepState.DONE, StepState.DONE, StepState.DONE)

    @pytest.mark.parametrize("state", set(StepState) - {StepState.DONE})
    def test_what_was_not_done_took_nothing(self, state):
        assert self.fall(StepState.DONE, StepState.DONE, state) is None

    def test_an_addition_that_was_not_done_added_nothing(self):
        assert Configuration() == self.fall(StepState.DONE, StepState.FAILED, StepState.DONE).gained
