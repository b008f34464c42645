"""The top rung: made from a history, judged by days that it had not seen, fed by minutes."""

import math
import pickle
from concurrent.futures import Future
from functools import cache

import numpy as np
import pytest

from fleet.demand import QUANTILES, WINDOWS_S
from predictor.forecasters.learned import HELD_OUT_S, LEARNED, STEP_S, LearnedRung
from predictor.ladder import Ladder
from predictor.learning import Learning
from predictor.ports import BUCKET_S
from predictor.shared import Shared, Shelf
from tests.builders.recipes import OWN
from tests.builders.work import DAY, KEY, series

EVERYTHING = dict.fromkeys(LEARNED, math.inf)


def cron(days, seed=0):
    """Quiet, but for a rush that begins forty minutes past every second hour: no rung below knows of it."""
    minute = np.arange(round(days * DAY))
    rush = np.where((minute % 120 >= 40) & (minute % 120 < 60), 5.0, 1.0)
    return rush * np.random.default_rng(seed).uniform(0.95, 1.05, len(minute))


def below(days, loss):
    """What the rung below lost, alike at every step of the history."""
    return {window: dict.fromkeys(range(0, round(days * 86400), STEP_S), loss) for window in LEARNED}


@cache
def _kept(minutes):
    """Made once: a rung takes seconds."""
    return pickle.dumps(trained(cron(6.1)[:minutes]))


def rung_of(minutes=6 * DAY):
    """A rung that has learnt from so many minutes of `cron`, nobody's but the caller's."""
    return pickle.loads(_kept(minutes))  # noqa: S301 -- made here


def trained(work, loss=math.inf, **given):
    return LearnedRung.trained(series(work, **given), below(len(work) / DAY, loss), OWN)


def test_it_serves_windows_of_a_quarter_of_an_hour_to_an_hour():
    assert [900, 1800, 3600] == [WINDOWS_S[window] for window in LEARNED]


@pytest.mark.parametrize(("days", "is_made"), [(4.9, False), (5.1, True)])
def test_it_takes_five_days_of_history(days, is_made):
    assert is_made == (trained(cron(days)) is not None)


def test_it_is_made_only_where_it_has_won():
    assert trained(cron(6), loss=0.0) is None
    short = below(6, math.inf) | {LEARNED[0]: dict.fromkeys(range(0, 6 * 86400, STEP_S), 0.0)}
    rung = LearnedRung.trained(series(cron(6)), short, OWN)
    assert [False, True, True] == [rung.row(window) is not None for window in LEARNED]
    assert rung.row(0) is None


def test_a_win_takes_half_a_day_of_comparisons():
    few = {
        window: dict.fromkeys(range(6 * 86400 - 12 * 3600, 6 * 86400, STEP_S), math.inf) for window in LEARNED
    }
    assert LearnedRung.trained(series(cron(6)), few, OWN) is None
    assert HELD_OUT_S > 43200


def test_it_foresees_a_rush_that_comes_by_the_clock():
    rung = rung_of(6 * DAY + 30)
    row = rung.row(LEARNED[0])
    assert len(QUANTILES) == len(row.work)
    assert 4 < row.work[0] < 7
    assert rung.row(LEARNED[0]) is row


def test_it_keeps_what_it_said_of_the_days_that_it_was_tried_on():
    tried = rung_of().tried(LEARNED[0])
    assert [4 * 86400 + STEP_S, 6 * 86400] == [tried[0][0], tried[-1][0]]
    assert {len(QUANTILES)} == {len(row) for _, row in tried}
    assert () == tuple(rung_of().tried(0))


def shared_model(until_s=0):
    """A model that was learnt from another such demand."""
    return Shared("0123456789ab", rung_of().model, until_s)


def young(shared, days=1.0, loss=math.inf):
    """A rung of demand too short for an own model."""
    work = cron(days, seed=7)
    return LearnedRung.trained(series(work), below(days, loss), OWN, shared)


def test_a_model_that_others_taught_foresees_for_a_workload_of_a_day():
    rung = young(shared_model())
    assert rung.model is None
    quiet = rung.row(LEARNED[0]).work[0]
    for value in cron(1.1, seed=7)[DAY : DAY + 30]:
        rung.update(float(value), is_censored=False)
    assert rung.row(LEARNED[0]).work[0] > 1.5 * quiet


@pytest.mark.parametrize(
    ("shared", "loss"),
    [(None, math.inf), (shared_model, 0.0)],
    ids=["there is none", "it has won nowhere"],
)
def test_without_a_shared_model_that_has_won_a_young_workload_has_no_rung(shared, loss):
    assert young(shared and shared(), loss=loss) is None


def test_a_shared_model_is_not_tried_on_what_it_has_seen():
    assert young(shared_model(until_s=60)) is None


class Shelved(Shelf):
    """A shelf that has what it is told."""

    def __init__(self, shared, challenger=None):
        super().__init__()
        self.shared, self.challenger = shared, challenger
        if challenger is not None:
            self.tally.begin(challenger.version, shared.version)

    def now(self):
        return self.shared


def test_an_own_model_stands_beside_the_shared_one_and_another_version_serves_at_once():
    rung = LearnedRung.trained(series(cron(6)), below(6, math.inf), OWN, shared_model())
    assert rung.model is not None
    before = rung.row(LEARNED[0]).work
    far_off = Shared("ba9876543210", Scaled(shared_model().model, 50.0), 0)
    for version in (far_off, None):
        rung.share(Shelved(version))
        for value in cron(6.1)[6 * DAY : 6 * DAY + 10]:
            rung.update(float(value), is_censored=False)
        assert np.isfinite(rung.row(LEARNED[0]).work).all()
    assert before != rung.row(LEARNED[0]).work


def test_a_challenger_is_scored_in_shadow_on_the_champions_windows_and_serves_nobody():
    champion, worse = shared_model(), Shared("ba9876543210", Scaled(shared_model().model, 3.0), 0)
    alone, beside = young(champion), young(champion)
    shelf = Shelved(champion, worse)
    assert ("ba9876543210", 0, None) == (shelf.tally.beside().version, 0, shelf.tally.beside().ratio)
    for value in cron(1.2, seed=7)[DAY : DAY + 180]:
        beside.share(shelf)
        for rung in (alone, beside):
            rung.update(float(value), is_censored=False)
    assert alone.row(LEARNED[0]).work == beside.row(LEARNED[0]).work
    assert shelf.tally.beside().windows > 60
    assert shelf.tally.beside().ratio > 1.5


class Scaled:
    """Says a multiple of what a model does."""

    def __init__(self, model, factor):
        self.model, self.factor = model, factor

    def predict(self, rows, window_s):
        learned, anchored = self.model.predict(rows, window_s)
        return learned + math.log(self.factor), anchored


def test_it_goes_on_minute_by_minute():
    rung = rung_of()
    quiet = rung.row(LEARNED[0]).work[0]
    for value in cron(6.1)[6 * DAY : 6 * DAY + 30]:
        rung.update(float(value), is_censored=False)
    assert rung.row(LEARNED[0]).work[0] > 2 * quiet


def test_a_row_stands_until_a_step_closes():
    rung = rung_of()
    row = rung.row(LEARNED[1])
    for _ in range(STEP_S // BUCKET_S - 1):
        rung.update(9.0, is_censored=False)
        assert rung.row(LEARNED[1]) is row
    rung.update(9.0, is_censored=False)
    assert rung.row(LEARNED[1]) is not row


def test_minutes_after_the_last_whole_step_are_not_lost():
    work = cron(6.1)
    whole, odd = rung_of(), rung_of(6 * DAY + 3)
    for rung, start in ((whole, 6 * DAY), (odd, 6 * DAY + 3)):
        for value in work[start : 6 * DAY + 5]:
            rung.update(float(value), is_censored=False)
    assert whole.row(LEARNED[0]) == odd.row(LEARNED[0])


def test_unknown_and_censored_minutes_are_endured():
    rung = rung_of()
    for minute in range(60):
        rung.update(math.nan if minute % 7 else 2.0, is_censored=minute % 3 == 0)
    row = np.array(rung.row(LEARNED[2]).work)
    assert np.isfinite(row).all()
    assert (np.diff(row) >= 0).all()


def test_it_travels_between_processes():
    rung = rung_of()
    other = pickle.loads(pickle.dumps(rung))  # noqa: S301 -- made here
    for one in (rung, other):
        for value in cron(0.01):
            one.update(float(value), is_censored=False)
    assert rung.row(LEARNED[0]) == other.row(LEARNED[0])


def done(rung):
    future = Future()
    future.set_result(rung)
    return future


def train(history, lost):
    return done(LearnedRung.trained(history, lost, OWN))


def test_the_ladder_climbs_to_it_where_it_won():
    """Each day has its own height: yesterday does not tell it, and the last minutes do not tell the rush."""
    heights = np.repeat([1.0, 4.0, 0.5, 3.0, 1.0, 5.0, 2.0], DAY)
    work = cron(6.1) * heights[: len(cron(6.1))]
    ladder = Ladder(KEY, train).fit(series(work[: 6 * DAY]))
    assert "learned" not in ladder.rungs.values()
    ladder.update(float(work[6 * DAY]))
    assert "learned" == ladder.rungs[3600]
    assert "learned" not in {ladder.rungs[120], ladder.rungs[300], ladder.rungs[21600]}
    assert ladder.peaks().rung.endswith("learned")


class Scripted:
    """Answers trainings as it was told to, and keeps what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, history, lost):
        answer = self.answers.pop(0) if self.answers else None
        self.asked.append(history)
        return answer


def learning(script, days=5.5):
    one = Learning(KEY, script)
    one.begin(series(np.ones(round(days * DAY))))
    return one


def test_training_is_asked_for_once_a_day():
    script = Scripted(done(None), done(None))
    one = learning(script)
    for _ in range(DAY):
        one.append(1.0, is_censored=False)
    assert [5.5 * DAY + 1, 6 * DAY] == [len(history.work) for history in script.asked]


def test_in_a_hurry_another_is_asked_for_once_the_one_that_is_being_made_is_taken_up():
    late, newer = Future(), Future()
    script = Scripted(late, newer)
    one = learning(script)
    one.append(1.0, is_censored=False)
    one.hurry()
    one.append(2.0, is_censored=False)
    late.set_result(rung := Heard())
    for work in (3.0, 4.0, 5.0):
        one.append(work, is_censored=False)
    assert ([2.0, 3.0, 4.0, 5.0], 2) == (rung.heard, len(script.asked))
    newer.set_result(rung := Heard())
    one.append(6.0, is_censored=False)
    assert ([5.0, 6.0], 2) == (rung.heard, len(script.asked))


class Heard:
    """A rung that remembers what it was told."""

    def __init__(self):
        self.heard = []

    def update(self, work, *, is_censored):
        assert not is_censored
        self.heard.append(work)

    def share(self, shelf):
        """Nothing of it is shared."""


def test_nothing_is_asked_for_before_fourteen_hours_are_there():
    script = Scripted(done(None))
    one = learning(script, days=14 / 24 - 2 / DAY)
    one.append(1.0, is_censored=False)
    assert [] == script.asked
    one.append(1.0, is_censored=False)
    assert 1 == len(script.asked)


def test_a_busy_workshop_is_asked_again():
    script = Scripted(None, None, done(None))
    one = learning(script)
    for _ in range(5):
        one.append(1.0, is_censored=False)
    assert 3 == len(script.asked)


def test_what_came_in_the_meantime_is_caught_up_with():
    pending = Future()
    one, work = learning(Scripted(pending), days=6), cron(6.1)
    one.begin(series(work[: 6 * DAY]))
    one.append(float(work[6 * DAY]), is_censored=False)
    late = rung_of(6 * DAY + 1)
    for value in work[6 * DAY + 1 : 6 * DAY + 20]:
        one.append(float(value), is_censored=False)
        assert one.row(LEARNED[0]) is None
    pending.set_result(late)
    one.append(float(work[6 * DAY + 20]), is_censored=False)
    prompt = rung_of(6 * DAY + 1)
    for value in work[6 * DAY + 1 : 6 * DAY + 21]:
        prompt.update(float(value), is_censored=False)
    assert prompt.row(LEARNED[0]) == one.row(LEARNED[0])


def test_a_training_that_fails_leaves_the_rungs_below():
    """A18: a broken candidate is not selected, and breaks nothing."""
    broken = Future()
    broken.set_exception(RuntimeError("no memory"))
    one = learning(Scripted(broken))
    one.append(1.0, is_censored=False)
    assert one.row(LEARNED[0]) is None


def test_history_is_kept_for_a_fortnight():
    script = Scripted(done(None))
    one = learning(script, days=20)
    one.append(7.0, is_censored=True)
    (history,) = script.asked
    assert (15 * DAY, 7.0, True) == (len(history.work), history.work[-1], history.is_censored[-1])
    assert 20 * 86400 + 60 == history.end_s
