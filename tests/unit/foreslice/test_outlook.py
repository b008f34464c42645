"""What is known of demand after each look at the metrics source."""

import math

import numpy as np
import pytest

from capacity.belief import Source
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.errors import UnavailableError
from fleet.shape import Shape
from fleet.workload import Isolation, LatencyTarget, Slo
from foreslice.outlook import AT_ONCE, DEFAULT_MIX, Observatory
from predictor.ladder import Ladder
from tests.builders.deciding import workload
from tests.fakes.metrics import OUTPUT, PROMPT, FakeMetrics

START_S = 1_700_000_040
"""A whole minute."""

CHAT = workload("chat")
KEY = CHAT.key
HISTORY_S = 7200.0


class Learner:
    """Forecasts as the ladder does, and keeps what it was told."""

    def __init__(self, key):
        self.ladder = Ladder(key)
        self.seen = []

    def fit(self, history):
        self.seen = list(history.work)
        self.ladder.fit(history)
        return self

    def update(self, work, *, is_censored=False):
        self.seen.append(work)
        self.ladder.update(work, is_censored=is_censored)

    def peaks(self):
        return self.ladder.peaks()


class CountingCapacity(CapacityModel):
    """Counts the shapes that were reckoned."""

    def __init__(self):
        super().__init__([H100_80GB])
        self.reckoned = 0

    def capacities(self, workload, shapes, mixes):
        self.reckoned += len(shapes)
        return super().capacities(workload, shapes, mixes)


class Scene:
    """An observatory over scripted metrics, and what it works with."""

    def __init__(self, rates, minutes=60):
        self.metrics = FakeMetrics(START_S, {KEY: rates})
        self.learner = Learner(KEY)
        self.capacity = CountingCapacity()
        self.observatory = Observatory(
            [CHAT], self.metrics, self.capacity, [H100_80GB], lambda _: self.learner, HISTORY_S
        )

    def at(self, minute, seconds=0.0):
        return self.observatory.refresh(START_S + 60 * minute + seconds, {})[KEY]


def quiet_peak(outlook, quiet_s=600, age_s=0.0):
    """What the quiet time before `age_s` after the last bucket says."""
    return outlook.quiet_peak(outlook.end_s + age_s, quiet_s)


def test_history_is_read_once_and_then_only_what_closed_since():
    scene = Scene([2.0] * 200)
    for minute, seconds in ((100, 20.0), (101, 20.0), (101, 50.0), (104, 0.0)):
        scene.at(minute, seconds)

    assert [
        (START_S + 6000 - 7200, START_S + 6000),
        (START_S + 6000, START_S + 6060),
        (START_S + 6060, START_S + 6240),
    ] == scene.metrics.asked
    assert 120 + 4 == len(scene.learner.seen)


def test_a_source_that_does_not_answer_loses_nothing():
    scene = Scene(np.linspace(1.0, 3.0, 200))
    scene.at(100)
    scene.metrics.is_down = True
    for minute in (101, 102):
        with pytest.raises(UnavailableError):
            scene.at(minute)
    scene.metrics.is_down = False
    caught_up = scene.at(103)
    smooth = Scene(np.linspace(1.0, 3.0, 200))
    for minute in (100, 101, 102):
        smooth.at(minute)
    expected = smooth.at(103)

    assert (START_S + 6000, START_S + 6180) == scene.metrics.asked[-1]
    np.testing.assert_array_equal(smooth.learner.seen, scene.learner.seen)
    assert expected.forecast == caught_up.forecast
    assert START_S + 6180 == caught_up.end_s


def test_a_source_that_is_down_from_the_start_leaves_no_outlook_behind():
    scene = Scene([2.0] * 200)
    scene.metrics.is_down = True
    with pytest.raises(UnavailableError):
        scene.at(100)
    scene.metrics.is_down = False

    assert scene.at(100).forecast is not None
    assert 120 == len(scene.learner.seen)


class FailingMidway(FakeMetrics):
    """Fails once, at the second read."""

    def __init__(self, rates):
        super().__init__(START_S, rates)
        self.together = []

    def samples(self, signals, workloads, start_s, end_s):
        self.together.append(len(workloads))
        self.is_down = len(self.together) == 2
        return super().samples(signals, workloads, start_s, end_s)


def test_first_histories_are_read_a_few_at_once_and_none_twice():
    """Where the source fails midway the next look reads what is missing, and of the others what closed."""
    many = [workload(f"chat-{number:03d}") for number in range(AT_ONCE + 2)]
    metrics = FailingMidway({one.key: [2.0] * 200 for one in many})
    learners = {one.key: Learner(one.key) for one in many}
    observatory = Observatory(
        many, metrics, CountingCapacity(), [H100_80GB], lambda one: learners[one.key], HISTORY_S
    )
    with pytest.raises(UnavailableError):
        observatory.refresh(START_S + 6000, {})
    told = observatory.refresh(START_S + 6060, {})

    assert [AT_ONCE, 2, 2, AT_ONCE] == metrics.together
    assert {START_S + 6060} == {outlook.end_s for outlook in told.values()}
    assert [121] * AT_ONCE + [120, 120] == [len(learners[one.key].seen) for one in many]


def test_time_that_goes_back_teaches_nothing_twice():
    scene = Scene([2.0] * 200)
    scene.at(100)
    assert START_S + 6000 == scene.at(90).end_s
    scene.at(101)

    assert 121 == len(scene.learner.seen)
    assert (START_S + 6000, START_S + 6060) == scene.metrics.asked[-1]


def test_the_first_forecast_comes_with_the_first_known_work():
    scene = Scene([math.nan] * 100 + [2.0] * 100)
    blind = scene.at(100)
    scene.at(101)  # the growth of a first bucket is not known
    seeing = scene.at(102)

    assert blind.forecast is None
    assert blind.no_forecast_because != ""
    assert seeing.forecast is not None
    assert "" == seeing.no_forecast_because


def test_the_mix_is_carried_through_minutes_in_which_nothing_finished():
    scene = Scene([2.0] * 100 + [0.0] * 100)
    scene.at(100)
    idle = scene.at(180)

    assert Mix(PROMPT, OUTPUT) == idle.mix
    assert [0.0] * 60 == idle.recent_work[-60:].tolist()


def test_a_mix_that_was_never_seen_is_assumed():
    assert DEFAULT_MIX == Scene([math.nan] * 200).at(100).mix


def test_the_quiet_peak_is_the_largest_work_of_the_quiet_time():
    scene = Scene([2.0] * 95 + [6.0] + [2.0] * 100)
    ratio = quiet_peak(scene.at(100)) / quiet_peak(scene.at(110))

    assert pytest.approx(3.0, rel=0.2) == ratio


@pytest.mark.parametrize("minute", [91, 95, 100])
def test_there_is_no_quiet_peak_while_any_minute_of_it_is_unknown(minute):
    rates = np.full(200, 2.0)
    rates[minute - 1] = math.nan
    scene = Scene(rates)

    assert quiet_peak(scene.at(100)) is None


def test_there_is_no_quiet_peak_before_so_much_time_was_seen():
    outlook = Scene([2.0] * 200).at(100)

    assert quiet_peak(outlook, 5400) is not None
    assert quiet_peak(outlook, 6600) is None


@pytest.mark.parametrize("quiet_s", [61, 80, 89, 150, 5400])
def test_a_quiet_time_of_any_length_can_be_known(quiet_s):
    assert quiet_peak(Scene([2.0] * 200).at(150), quiet_s) is not None


@pytest.mark.parametrize(("age_s", "is_known"), [(0, True), (300, True), (301, False), (3600, False)])
def test_what_closed_long_ago_says_nothing_of_the_quiet_time(age_s, is_known):
    assert is_known == (quiet_peak(Scene([2.0] * 200).at(100), age_s=age_s) is not None)


def test_before_any_history_only_what_is_offered_is_known():
    (blind,) = Scene([2.0] * 200).observatory.blind().values()

    assert blind.is_blind
    assert blind.forecast is None
    assert quiet_peak(blind) is None
    assert blind.offers.by_shape != {}


def test_shapes_are_reckoned_anew_only_when_a_mix_has_moved():
    scene = Scene([2.0] * 400)
    scene.at(100)
    before = scene.capacity.reckoned
    scene.metrics.prompt = PROMPT * 1.04
    scene.at(160)
    assert before == scene.capacity.reckoned

    scene.metrics.prompt = PROMPT * 1.3
    moved = scene.at(230)
    assert before < scene.capacity.reckoned
    assert pytest.approx(PROMPT * 1.3) == moved.mix.prompt_tokens


def test_what_ready_pods_show_moves_the_capacities_of_all_shapes():
    """Tokens take 40 ms where some 12 were expected: the card carries less, and slices do, too."""
    scene = Scene([2.0] * 400)
    ready = {KEY: {"pod-0": Shape("h100-80gb")}}
    before = scene.observatory.refresh(START_S + 60 * 100, ready)[KEY].offers

    scene.metrics.itl_s = 0.040
    after = scene.observatory.refresh(START_S + 60 * 101, ready)[KEY].offers

    assert {Source.PRIOR} == {offer.source for offer in before.by_shape.values()}
    assert {Source.CORRECTED} == {offer.source for offer in after.by_shape.values()}
    assert all(after.works[shape] < 0.8 * before.works[shape] for shape in after.works)


def test_a_bucket_that_was_read_already_teaches_nothing_again():
    scene = Scene([2.0] * 400)
    ready = {KEY: {"pod-0": Shape("h100-80gb")}}
    scene.metrics.itl_s = 0.040
    scene.observatory.refresh(START_S + 60 * 100, ready)
    scene.observatory.refresh(START_S + 60 * 100 + 30, ready)

    assert scene.capacity.fitted(KEY) is None


def test_work_per_request_rate_makes_one_replica_out_of_what_the_reference_sustains():
    capacity = CapacityModel([H100_80GB])
    scene = Scene([2.0] * 200)
    mix = Mix(PROMPT, OUTPUT)
    sustained = capacity.sustained(CHAT, capacity.reference(CHAT), mix)

    assert pytest.approx(1.0) == sustained * scene.observatory.work_per_request_rate(CHAT, mix)


class TestDoubts:
    """What sizes do not keep is said."""

    def doubts(self, **more):
        one = workload("chat", **more)
        metrics, capacity = FakeMetrics(START_S, {KEY: [2.0] * 200}), CapacityModel([H100_80GB])
        boards = [H100_80GB]
        observatory = Observatory([one], metrics, capacity, boards, lambda _: Learner(KEY), HISTORY_S)
        return observatory.refresh(START_S + 6000, {})[KEY].doubts

    def test_where_all_is_kept_there_are_none(self):
        assert () == self.doubts()

    def test_an_objective_that_no_number_of_replicas_keeps(self):
        told = self.doubts(slo=Slo(LatencyTarget(0.95, 0.020), LatencyTarget(0.95, 0.060)))

        assert (
            (
                "no number of replicas keeps TTFT at 1000 prompt and 200 output tokens: sized for what "
                "h100-80gb:whole does for one request"
            ),
        ) == told

    def test_a_workload_that_no_shape_suits(self):
        told = self.doubts(mechanism="kai", isolation=Isolation.HARD)

        assert ("no shape of one card holds the model and keeps its objectives and isolation",) == told
