"""Incidents of autoscalers that began with a signal, replayed from the counters up, with the right reading.

Each names the public report; the numbers are the report's, or made in its proportions.
"""

import math

import numpy as np
import pytest

from fleet.demand import DemandOrigin, Mix
from fleet.sample import Idle, Reason, Unknown, Value
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.now import FRESH_S, NOW_SIGNALS, now_reading
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from predictor.sources.matching import Match
from tests.builders.scrapes import LLAMA, minutes

NAN = math.nan
BOTH = Match({"model_name": "llama"}, router={"model": "llama"}).vocabulary()
"""Any engine, and any router in front."""

DONE, FIRST = "vllm:request_success_total", "vllm:time_to_first_token_seconds_count"
PROMPT, OUTPUT = "vllm:prompt_tokens_total", "vllm:generation_tokens_total"
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
KV = "vllm:kv_cache_usage_perc"
STARTED = "dynamo_frontend_requests_started_total"
CALM = {DONE: 0, FIRST: 0, PROMPT: 0, OUTPUT: 0, RUNNING: 0, WAITING: 0, KV: 0.1}


class Scrapes:
    """Readings of pods, and what they amount to."""

    def __init__(self):
        self._store = SeriesStore(BOTH)

    def add(self, pod, series, readings, **labels):
        for t_s, value in readings:
            self._store.append(SeriesKey(pod, series, tuple(labels.items())), t_s, value)
        return self

    def calm(self, pod, times_s, changed=CALM):
        """A pod whose gauges and counters stand still, but for what is said."""
        for series, value in (CALM | changed).items():
            values = value if isinstance(value, list) else [value] * len(times_s)
            self.add(pod, series, list(zip(times_s, values, strict=True)))
        return self

    def now(self, at_s, ready, last_mix=None, fresh=()):
        samples = InstantSamples(LLAMA, at_s, self._store.now(NOW_SIGNALS, at_s))
        return now_reading(samples, frozenset(ready), last_mix, fresh_pods=frozenset(fresh))

    def per_s(self, end_s):
        return self.history(end_s).requests_per_s

    def history(self, end_s):
        return demand_history(SignalBuckets(LLAMA, 0, self._store.buckets(HISTORY_SIGNALS, 0, end_s)))


def counted(rates_per_s, start_s=0):
    """A counter at whole minutes."""
    return minutes([0.0, *(60.0 * np.asarray(rates_per_s)).cumsum()], start_s)


class TestIdleAndUnknown:
    """Empty, NaN, absent and down are unknown; zero is idle where its producer is there to say so."""

    def test_a_monitoring_outage_at_the_peak_is_unknown(self):
        """kedacore/keda#3065: everything was scaled to its minimum."""
        rates = np.full(60, 55.0)
        readings = [one for one in counted(rates) if not 20 * 60 <= one[0] < 38 * 60]
        scrapes = Scrapes().add("front", STARTED, readings)
        offered = scrapes.per_s(3600)
        assert np.isnan(offered[19:38]).all()
        np.testing.assert_allclose(55.0, np.concatenate((offered[:19], offered[38:])))
        now = scrapes.now(30 * 60, "a")
        assert (Unknown(Reason.EMPTY), DemandOrigin.NOWHERE) == (now.arrivals_per_s, now.origin)
        assert now.distrust

    def test_when_data_are_back_the_first_sample_is_whole(self):
        readings = [one for one in counted(np.full(60, 55.0)) if not 20 * 60 <= one[0] < 38 * 60]
        scrapes = Scrapes().add("front", STARTED, readings)
        assert isinstance(scrapes.now(38 * 60, "a").arrivals_per_s, Unknown)
        assert Value(55) == scrapes.now(39 * 60, "a").arrivals_per_s

    def test_zero_of_a_producer_that_is_there_is_idle(self):
        """ai-dynamo/dynamo#14765 (a): the query answers, and says 0."""
        scrapes = Scrapes().calm("a", [0, 60]).add("front", STARTED, minutes([7, 7]))
        now = scrapes.now(60, "a")
        assert (Idle(), DemandOrigin.ROUTER, ()) == (now.arrivals_per_s, now.origin, now.distrust)

    def test_zero_of_a_target_that_is_down_is_unknown(self):
        """Its counters stood still before it went down; `up` is 0."""
        now = Scrapes().calm("a", [0, 60]).now(240, "a")
        assert isinstance(now.arrivals_per_s, Unknown)
        assert now.distrust

    def test_a_count_that_is_missing_is_unknown_though_the_target_is_up(self):
        scrapes = Scrapes()
        for series in (RUNNING, WAITING, KV):
            scrapes.add("a", series, minutes([0, 0]))
        now = scrapes.now(60, "a")
        assert isinstance(now.arrivals_per_s, Unknown)
        assert "completions of pod a unknown: no such series" in now.distrust

    def test_lengths_of_no_requests_are_the_last_known(self):
        """ai-dynamo/dynamo#6985, #3131: 0/0 is NaN, and the fleet never shrank."""
        now = Scrapes().calm("a", [0, 60]).now(60, "a", Mix(2048, 150))
        assert (Idle(), Mix(2048, 150), ()) == (now.arrivals_per_s, now.mix, now.distrust)

    def test_lengths_that_are_not_numbers_while_requests_finish_are_invalid(self):
        scrapes = Scrapes().calm(
            "a", [0, 60], {DONE: [0, 37], FIRST: [0, 37], PROMPT: [NAN, NAN], OUTPUT: [NAN, NAN]}
        )
        now = scrapes.now(60, "a", Mix(2048, 150))
        assert (Value(37 / 60), Mix(2048, 150)) == (now.arrivals_per_s, now.mix)
        assert any("prompt_tokens of pod a unknown" in line for line in now.distrust)

    def test_few_requests_give_no_mean(self):
        """llm-d-autoscaling#149: 400 tokens/s over 0.02 requests/s are no request of 20,000 tokens."""
        scrapes = Scrapes().calm("a", [0, 60], {DONE: [0, 1], FIRST: [0, 1], OUTPUT: [0, 24000]})
        assert Mix(300, 180) == scrapes.now(60, "a", Mix(300, 180)).mix

    def test_a_long_request_is_not_idle(self):
        """llm-d WVA counts completions only: one request longer than the retention looked idle."""
        now = Scrapes().calm("a", list(range(0, 1201, 60)), {RUNNING: 1}).now(1200, "a")
        assert Value(0) == now.arrivals_per_s


class TestCounters:
    def test_a_counter_that_stands_is_no_load(self):
        """volcano-sh/kthena#1037: 50 was taken for the load."""
        assert [NAN, 0, 0] == pytest.approx(
            Scrapes().calm("a", [0, 60, 120, 180], {DONE: 50}).per_s(180), nan_ok=True
        )

    def test_a_restart_is_growth_from_zero(self):
        """kubernetes/autoscaler#1501: never -955, never 965."""
        offered = 60 * Scrapes().calm("a", [0, 60, 120, 180], {DONE: [900, 960, 5, 65]}).per_s(180)
        assert [NAN, 5, 60] == pytest.approx(offered, nan_ok=True)

    def test_a_pod_is_replaced_under_constant_traffic(self):
        """prometheus/prometheus#3886: within 0.8 and 1.2 of 1 request/s at every moment."""
        times = [15.0 * n for n in range(41)]
        scrapes = Scrapes()
        for pod, its in (("a", times[:21]), ("b", times[20:])):
            grown = [t_s - its[0] for t_s in its]
            scrapes.calm(pod, its, {DONE: grown, FIRST: grown})
        known = [scrapes.now(t_s, "b" if t_s > 300 else "a").arrivals_per_s for t_s in times[4:]]
        assert all(isinstance(sample, Value) and 0.8 <= sample.value <= 1.2 for sample in known)
        assert [1.0] * 9 == pytest.approx(scrapes.per_s(600)[1:])

    def test_what_is_started_and_not_finished_is_demand(self):
        """ai-dynamo/dynamo#9526: 10 requests/s that last two minutes."""
        times = [0, 60, 120]
        engine = Scrapes().calm("a", times, {RUNNING: [0, 600, 1200], FIRST: [0, 600, 1200]})
        assert [NAN, 10] == pytest.approx(engine.per_s(120), nan_ok=True)
        now = engine.now(60, "a")
        assert (Value(10), DemandOrigin.FIRST_TOKENS) == (now.arrivals_per_s, now.origin)
        router = Scrapes().calm("a", times).add("front", STARTED, minutes([0, 600, 1200]))
        assert [10, 10] == router.per_s(120).tolist()

    def test_a_pod_that_was_deleted_has_no_queue(self):
        """llm-d-autoscaling#368: its last 20 waiting requests were counted for five minutes."""
        scrapes = Scrapes().calm("p1", [0, 60, 120]).calm("p2", [0, 60, 120])
        scrapes.calm("p3", [0], {WAITING: 20})
        assert (Value(0), ()) == (
            scrapes.now(120, ["p1", "p2"]).waiting,
            scrapes.now(120, ["p1", "p2"]).distrust,
        )

    def test_a_suffix_on_the_name_of_a_pod_is_a_pod_that_nobody_scrapes(self):
        """kserve/kserve#5701: `-rank-0`. Unknown, not zero."""
        now = Scrapes().calm("chat-0-rank-0", [0, 60]).now(60, ["chat-0"])
        assert "1 of 1 ready pods not scraped: chat-0" in now.distrust

    def test_two_names_of_one_model_are_one_demand(self):
        """A canary renames model_name: demand moves from one series to the other and stays."""
        share = np.clip((np.arange(60) - 20) / 20, 0, 1)
        scrapes = Scrapes()
        for pod, name, rates in (("v1-0", "chat-v1", 50 * (1 - share)), ("v2-0", "chat-v2", 50 * share)):
            scrapes.add(pod, DONE, counted(rates), model_name=name)
        offered = scrapes.per_s(3600)
        assert [50.0] * 60 == pytest.approx(offered)

    def test_history_that_was_lost_is_unknown_and_not_low(self):
        """knative/serving#4795: a rate over a half-filled window looked low, and 7 pods became 1."""
        offered = Scrapes().add("front", STARTED, counted(np.full(5, 68.0), start_s=600)).per_s(900)
        assert [True] * 10 + [False] * 5 == np.isnan(offered).tolist()
        assert [68.0] * 5 == pytest.approx(offered[10:])


def test_a_retry_storm_is_neither_learnt_nor_evidence():
    """storecode.pro, 2019: attempts rise to 2.5 times while what gets through stays the same."""
    amplification = np.concatenate((np.ones(13), np.linspace(1.12, 2.5, 12), np.full(29, 2.5), np.ones(36)))
    attempts = 40 * amplification
    done = np.where(amplification > 1, 38.4, 39.92)
    scrapes = Scrapes()
    scrapes.add("a", "tgi_request_count", counted(attempts))
    scrapes.add("a", "tgi_request_success", counted(done))
    scrapes.add("a", "tgi_request_failure", counted(attempts - done), err="incomplete")
    scrapes.add("a", "tgi_queue_size", minutes([0] * 91))
    scrapes.add("a", "tgi_batch_current_size", minutes([8] * 91))
    offered = scrapes.per_s(90 * 60)
    assert [*range(13, 54)] == np.flatnonzero(np.isnan(offered)).tolist()
    np.testing.assert_allclose(40.0, offered[~np.isnan(offered)])


SCRAPED = range(0, 601, 60)
BUSY = {series: [60.0 * n for n in range(11)] for series in (DONE, FIRST, PROMPT, OUTPUT)}


class TestNewPods:
    """What nobody has scraped yet looks at first like what nobody can scrape any more."""

    BORN_S = 330

    def now(self, at_s, *, is_scraped):
        """What is read of two old pods and one that is ready since `BORN_S`."""
        scrapes = Scrapes().calm("a", list(SCRAPED), BUSY).calm("b", list(SCRAPED), BUSY)
        if is_scraped:
            times = [t for t in SCRAPED if t > self.BORN_S]
            scrapes.calm("new", times, {series: values[: len(times)] for series, values in BUSY.items()})
        is_new = at_s - self.BORN_S < FRESH_S
        return scrapes.now(at_s, ("a", "b", "new"), fresh=("new",) if is_new else ())

    @pytest.mark.parametrize("at_s", [331, 365, 415])
    def test_before_its_second_scrape_a_new_pod_taints_nothing_and_counts_with_its_part(self, at_s):
        now = self.now(at_s, is_scraped=True)
        assert ((), Value(2), 1.0) == (now.distrust, now.arrivals_per_s, now.unseen_per_s)

    @pytest.mark.parametrize("at_s", [425, 455, 600])
    def test_from_then_on_it_is_one_of_them(self, at_s):
        now = self.now(at_s, is_scraped=True)
        assert ((), Value(3), 0.0) == (now.distrust, now.arrivals_per_s, now.unseen_per_s)

    @pytest.mark.parametrize(("is_trusted", "at_s"), [(True, 331), (True, 449), (False, 450), (False, 600)])
    def test_one_that_is_never_scraped_is_lost_once_it_is_new_no_more(self, is_trusted, at_s):
        now = self.now(at_s, is_scraped=False)
        assert is_trusted == (() == now.distrust)
        assert Value(2) == now.arrivals_per_s
        assert (1.0 if is_trusted else 0.0) == now.unseen_per_s
