"""From what simulated pods show to the capacity of their shapes."""

import pytest

from capacity.belief import Source
from capacity.estimate import CapacityModel
from capacity.law import Law
from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from fleet.shape import Shape
from foreslice.fitting import COUNTED, Fitting
from predictor.engines import shipped
from simulator.metrics import SCRAPE_S, EmbeddedMetrics
from tests.builders.engines import MIX, Laws, Offered, constant, engines, workload

SERVED = workload("a")
WHOLE, CUT = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")


class Scene:
    """One workload on pods whose law is some times the prior's, scraped, with the fitting beside it."""

    def __init__(self, rates, slower=1.0, shape=WHOLE, pods=1):
        self.capacity = CapacityModel([H100_80GB])
        before, room = self.capacity.unmeasured(SERVED, shape)
        self.made = engines(rates, pods=pods, laws=Laws(before.slower(slower), room))
        self.metrics = EmbeddedMetrics(self.made)
        self.fitting = Fitting([SERVED], self.metrics, self.capacity)
        self.ready = {SERVED.key: {f"a-{number}": shape for number in range(pods)}}
        self.now_s = 0

    def run(self, minutes):
        for _ in range(minutes):
            for _ in range(60 // SCRAPE_S):
                self.now_s += SCRAPE_S
                self.metrics.scrape(self.now_s)
            self.fitting.update(self.ready, self.now_s)
        return self

    def factor(self, shape):
        """How much slower than its prior a shape's iterations at its load are held to be."""
        law, (before, _) = self.capacity.belief(SERVED, shape).law, self.capacity.unmeasured(SERVED, shape)
        return law.itl_ms(MIX.prompt_tokens, MIX.output_tokens, 5.0) / before.itl_ms(
            MIX.prompt_tokens, MIX.output_tokens, 5.0
        )


def test_a_slow_engine_is_noticed_within_three_minutes():
    scene = Scene(constant(8, 300), slower=1.35, shape=CUT).run(3)

    assert 1.35 == pytest.approx(scene.factor(CUT), rel=0.05)
    assert Source.CORRECTED is scene.capacity.belief(SERVED, CUT).source


def test_pods_on_cards_that_nothing_is_known_about_teach_nothing():
    """Cards may join a cluster after the service has started."""
    scene = Scene(constant(8, 300), slower=1.35)
    scene.ready = {SERVED.key: {"a-0": Shape("nvidia-geforce-rtx-4090")}}

    assert scene.run(3).capacity.fitted(SERVED.key) is None


def test_its_capacity_falls_below_the_bound_before_and_is_told_so():
    scene = Scene(constant(8, 300), slower=1.6, shape=CUT)
    before = scene.capacity.capacity(SERVED, CUT, [MIX])
    after = scene.run(3).capacity.capacity(SERVED, CUT, [MIX])

    assert after.work_low < after.work < before.work_low
    assert (Source.PRIOR, Source.CORRECTED) == (before.source, after.source)


def test_an_engine_as_expected_is_known_better():
    scene = Scene(constant(8, 300), shape=CUT)
    before = scene.capacity.capacity(SERVED, CUT, [MIX])
    after = scene.run(5).capacity.capacity(SERVED, CUT, [MIX])

    assert before.work == pytest.approx(after.work, rel=0.05)
    assert before.work_low < after.work_low < after.work


def test_work_is_counted_as_before_whatever_is_learnt():
    scene = Scene(constant(8, 300), slower=1.6)
    before = scene.capacity.sustained(SERVED, WHOLE, MIX)

    assert before == scene.run(3).capacity.sustained(SERVED, WHOLE, MIX)


def test_a_load_that_varies_tells_slopes_apart():
    rising = [[rate] for rate in (2, 20, 60, 100, 140) for _ in range(180)]
    scene = Scene(rising, slower=1.2).run(15)

    assert Source.FITTED is scene.capacity.belief(SERVED, WHOLE).source
    law, (before, _) = scene.capacity.belief(SERVED, WHOLE).law, scene.capacity.unmeasured(SERVED, WHOLE)
    assert 1.2 == pytest.approx(law.alpha_ms / before.alpha_ms, rel=0.08)
    assert 1.2 == pytest.approx(law.beta_ms_per_token / before.beta_ms_per_token, rel=0.08)


def test_the_first_minute_of_a_pod_is_left_out():
    """It was not there all through it, so that what it counted is less than a minute's."""
    scene = Scene(constant(8, 300), slower=1.5).run(1)

    assert scene.capacity.fitted(SERVED.key) is None
    assert scene.run(1).capacity.fitted(SERVED.key) is not None


def test_too_few_requests_are_gathered_until_they_say_something():
    """Eight a minute: nothing after two minutes, and after the twenty that it takes the same answer."""
    scene = Scene(constant(8 / 60, 1200), slower=1.5).run(3)
    assert scene.capacity.fitted(SERVED.key) is None

    scene.run(3)
    assert 1.5 == pytest.approx(scene.factor(WHOLE), rel=0.05)


def test_an_idle_workload_teaches_nothing():
    assert Scene(constant(0, 300)).run(4).capacity.fitted(SERVED.key) is None


def test_pods_that_are_not_ready_teach_nothing():
    scene = Scene(constant(8, 300), slower=1.5)
    scene.ready = {SERVED.key: {}}

    assert scene.run(4).capacity.fitted(SERVED.key) is None


def test_a_law_that_stays_is_learnt_once():
    """Capacities are reckoned anew only when they would come out otherwise."""
    scene = Scene(constant(8, 900), slower=1.3).run(4)
    held = scene.capacity.fitted(SERVED.key)

    assert held is scene.run(8).capacity.fitted(SERVED.key)


def test_two_shapes_of_one_workload_are_told_apart():
    capacity = CapacityModel([H100_80GB])

    class ByShape:
        def law(self, of, shape):
            return capacity.unmeasured(of, shape)[0].slower(1.5 if shape == CUT else 1.0)

        def kv_tokens(self, of, shape):
            return capacity.unmeasured(of, shape)[1]

    scene = Scene(constant(10, 600))
    scene.made = type(scene.made)([SERVED], Offered(constant(10, 600)), ByShape(), 0)
    for pod, shape in (("whole", WHOLE), ("cut", CUT)):
        scene.made.start(pod, SERVED.key, shape)
        scene.made.set_ready(pod, is_ready=True)
    scene.metrics = EmbeddedMetrics(scene.made)
    scene.fitting = Fitting([SERVED], scene.metrics, scene.capacity)
    scene.ready = {SERVED.key: {"whole": WHOLE, "cut": CUT}}

    scene.run(5)

    assert 1.5 == pytest.approx(scene.factor(CUT), rel=0.06)
    assert 1.0 == pytest.approx(scene.factor(WHOLE), rel=0.06)


def test_a_source_that_is_down_says_so():
    class Down:
        def now(self, signals, workloads, at_s):
            raise UnavailableError("the metrics source does not answer")

    fitting = Fitting([SERVED], Down(), CapacityModel([H100_80GB]))

    with pytest.raises(UnavailableError):
        fitting.update({SERVED.key: {"a-0": WHOLE}}, 60.0)


def test_engines_that_show_no_time_between_tokens_are_left_at_their_prior():
    class Silent:
        def now(self, signals, workloads, at_s):
            return {SERVED.key: type("Samples", (), {"pods": {"a-0": {}}})()}

    capacity = CapacityModel([H100_80GB])
    fitting = Fitting([SERVED], Silent(), capacity)
    for minute in range(5):
        fitting.update({SERVED.key: {"a-0": WHOLE}}, 60.0 * minute)

    assert capacity.fitted(SERVED.key) is None
    assert isinstance(capacity.belief(SERVED, WHOLE).law, Law)


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_engines_count_all_that_a_window_is_made_of(name):
    assert set(COUNTED.values()) <= shipped()[name].signals
