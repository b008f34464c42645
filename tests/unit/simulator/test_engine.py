"""Engines serve what arrives, refuse what they cannot, and lose nothing that they were given time for."""

import numpy as np
import pytest

from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Slo
from simulator.errors import NotModelledError
from tests.builders.engines import LAW, MIX, WHOLE, Laws, constant, engines, workload

FULL_PER_S = float(engines(constant(1, 1)).pace.full_per_s[0])


def test_requests_are_spread_evenly_over_ready_pods():
    made = engines(constant(6, 60), pods=3)
    made.advance(60)
    assert np.allclose(made.counts.completions[0], made.counts.completions)
    assert pytest.approx(360, rel=0.02) == made.counts.completions.sum()


def test_a_workload_without_a_ready_pod_is_refused_everything():
    made = engines(constant(6, 60), pods=0)
    made.start("a-0", workload().key, WHOLE)
    made.advance(60)
    assert 360 == made.tally.offered[0] == made.tally.refused[0]
    assert 0 == made.tally.inside[0]


def test_what_does_not_fit_in_the_queue_is_refused():
    made = engines(constant(2 * FULL_PER_S, 600))
    made.advance(600)
    served = made.tally.completed[0] + made.in_service()[0]
    assert pytest.approx(served + made.tally.refused[0]) == made.tally.offered[0]
    assert pytest.approx(0.5, abs=0.04) == made.tally.refused[0] / made.tally.offered[0]


def test_a_queue_misses_the_slo_before_anything_is_refused():
    made = engines(constant(1.2 * FULL_PER_S, 60))
    made.advance(60)
    assert 0 == made.tally.refused[0]
    assert made.tally.inside[0] < 0.5 * made.tally.offered[0]


def test_an_idle_engine_keeps_its_slo():
    made = engines(constant(1, 600))
    made.advance(600)
    assert 0.999 * made.tally.offered[0] < made.tally.inside[0] <= made.tally.offered[0]


def test_without_objectives_everyone_is_inside_who_is_served():
    made = engines(constant(2 * FULL_PER_S, 600), workloads=[workload(slo=Slo())])
    made.advance(600)
    assert made.tally.refused[0] > 0
    assert pytest.approx(made.tally.offered[0] - made.tally.refused[0]) == made.tally.inside[0]


def test_each_workload_is_judged_by_its_own_slo():
    strict = workload("a", Slo(ttft=LatencyTarget(0.95, 0.02)))
    loose = workload("b", Slo(ttft=LatencyTarget(0.95, 10.0)))
    made = engines(np.ones((60, 2)), workloads=[strict, loose])
    made.advance(60)
    assert made.tally.inside[0] < 0.6 * 60
    assert pytest.approx(60) == made.tally.inside[1]


@pytest.mark.parametrize(
    ("late", "kept"),
    [
        (Slo(ttft=LatencyTarget(0.95, 0.02)), {"itl", "e2e"}),
        (Slo(itl=LatencyTarget(0.95, 0.005)), {"ttft", "e2e"}),
        (Slo(e2e=LatencyTarget(0.95, 0.2)), {"ttft", "itl"}),
    ],
    ids=["ttft", "itl", "e2e"],
)
def test_requests_that_miss_one_term_keep_the_others(late, kept):
    made = engines(np.ones((60, 1)), workloads=[workload("a", late)])
    made.advance(60)
    within = {term: getattr(made.tally, f"within_{term}")[0] for term in ("ttft", "itl", "e2e")}
    assert kept == {term for term, count in within.items() if count > 59.9}
    [missed] = within.keys() - kept
    assert within[missed] == pytest.approx(made.tally.inside[0])
    assert within[missed] < 0.6 * 60


def test_tokens_are_those_of_the_mix():
    made = engines(constant(4, 600))
    made.advance(600)
    counts = made.counts
    assert pytest.approx(MIX.prompt_tokens) == counts.prompt_tokens[0] / counts.ttft_count[0]
    assert pytest.approx(MIX.output_tokens) == counts.output_tokens[0] / counts.completions[0]


def test_the_mean_time_to_first_token_is_what_the_law_says_of_the_batch():
    made = engines(constant(4, 1200))
    made.advance(1200)
    resident = made.counts.running[0]
    company = 1 + resident * (1 - 1 / made.pace.places[0])
    bias = 399 / 113 / 3.0
    expected_s = bias * LAW.ttft_ms(MIX.prompt_tokens, MIX.output_tokens, company) / 1000
    assert pytest.approx(expected_s, rel=0.01) == made.counts.ttft_sum_s[0] / made.counts.ttft_count[0]


def test_it_does_not_matter_in_which_steps_time_is_advanced():
    arrivals = np.random.default_rng(1).poisson(0.9 * FULL_PER_S, (700, 1))
    at_once, in_steps = engines(arrivals), engines(arrivals)
    at_once.advance(700)
    for until_s in (0.5, 7, 7.9, 8.1, 601, 650.4, 700.9):
        in_steps.advance(until_s)
    assert 700 == in_steps.now_s
    assert np.allclose(at_once.tally.inside, in_steps.tally.inside)
    assert np.allclose(at_once.counts.running, in_steps.counts.running)


def test_time_does_not_run_backwards():
    made = engines(constant(1, 60))
    made.advance(60)
    made.advance(30)
    assert 60 == made.now_s


@pytest.mark.parametrize("rate", [0.5, 5.0, 3.0 * FULL_PER_S], ids=["idle", "busy", "queueing"])
def test_a_pod_that_drains_for_as_long_as_it_says_cuts_nothing(rate):
    made = engines(constant(rate, 100), pods=2)
    made.advance(30)
    drain_s = made.drain_s("a-0")
    made.advance(30 + drain_s)
    made.stop("a-0")
    assert 0 == made.tally.cut[0]
    assert ("a-1",) == made.names


def test_a_draining_pod_takes_nothing_new():
    made = engines(constant(5, 200), pods=2)
    made.advance(60)
    made.drain_s("a-0")
    before = made.counts.ttft_count.copy()
    made.advance(120)
    assert pytest.approx(before[0]) == made.counts.ttft_count[0]
    assert pytest.approx(before[1] + 300, rel=0.01) == made.counts.ttft_count[1]


def test_a_pod_that_is_stopped_at_once_cuts_what_it_serves():
    made = engines(constant(5, 60))
    made.advance(30)
    resident = made.counts.running[0]
    made.stop("a-0")
    assert pytest.approx(resident) == made.tally.cut[0]


def test_an_idle_pod_drains_in_no_time():
    assert 0.0 == engines(constant(0, 10)).drain_s("a-0")


def test_a_pod_starts_with_empty_counters():
    made = engines(constant(5, 120))
    made.advance(60)
    made.stop("a-0")
    made.start("a-9", workload().key, WHOLE)
    assert [0.0] == made.counts.completions.tolist()


def test_those_that_stay_keep_their_own_pace_when_another_stops():
    made = engines(constant(1, 60), pods=1)
    half = Shape("h100-80gb", "3g.40gb")
    made.start("a-half", workload().key, half)
    made.set_ready("a-half", is_ready=True)
    whole, halved = made.pace.kv_use_per_request
    made.stop("a-0")
    assert (whole != halved, [halved]) == (True, list(made.pace.kv_use_per_request))
    made.advance(60)
    assert made.tally.offered[0] == pytest.approx(made.tally.completed[0] + made.in_service()[0])


def test_a_pod_is_up_from_the_moment_it_was_ready_until_it_stops():
    made = engines(constant(1, 10), pods=1)
    made.start("a-1", workload().key, WHOLE)
    assert (0,) == made.up
    made.set_ready("a-1", is_ready=True)
    made.set_ready("a-1", is_ready=False)
    assert (0, 1) == made.up


def test_a_new_mix_changes_the_pace():
    class Changing:
        def seconds(self, from_s, count):
            return np.ones((count, 1))

        def mixes(self, at_s):
            return (MIX if at_s < 600 else Mix(3000.0, 60.0),)

    made = engines(constant(1, 1))
    made = type(made)(made.workloads, Changing(), Laws(), 0)
    made.start("a-0", workload().key, WHOLE)
    made.advance(599)
    before = made.pace.first_token_s[0]
    made.advance(601)
    assert made.pace.first_token_s[0] > 3 * before


def test_an_engine_that_does_not_fit_is_not_imitated():
    made = engines(constant(1, 10), workloads=[workload(model="qwen2.5-14b-bf16")])
    with pytest.raises(NotModelledError, match=r"shop/a does not fit on h100-80gb:1g\.10gb"):
        made.start("a-1", workload().key, Shape("h100-80gb", "1g.10gb"))


def test_a_pod_that_is_not_here_can_be_told_anything():
    made = engines(constant(1, 10))
    made.set_ready("gone", is_ready=False)
    assert ("a-0",) == made.names
