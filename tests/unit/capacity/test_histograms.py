"""Operating points out of counters: what a law foretells of a load is what its point says."""

import pytest

from capacity.histograms import LEAST_REQUESTS, Window
from capacity.law import Law
from capacity.replica import MAX_BATCH
from capacity.tails import ITL_BIAS, TTFT_BIAS
from fleet.demand import Mix
from fleet.shape import Shape

CUT = Shape("h100-80gb", "2g.20gb")
AMPLE = 1e9
LAW = Law(alpha_ms=19.7, beta_ms_per_token=0.10, gamma_ms_per_kv_token=3.5e-5)


def window(**changed):
    """A minute: 60 requests of 500 prompt and 100 output tokens, 0.2 s to the first, 40 ms to each other."""
    usual = {
        "seconds": 60.0,
        "itl_sum_s": 240.0,
        "tokens": 6000.0,
        "ttft_sum_s": 12.0,
        "first_tokens": 60.0,
        "completions": 60.0,
        "prompt_tokens": 30_000.0,
        "output_tokens": 6000.0,
        "is_queued": False,
    }
    return Window(**{**usual, **changed})


def test_means_are_sums_over_counts():
    point = window().point(CUT, AMPLE)

    assert (40.0, 200.0, 60.0) == pytest.approx((point.itl_ms, point.ttft_ms, point.requests))
    assert Mix(500.0, 100.0) == point.mix
    assert CUT == point.shape


def test_who_is_resident_follows_from_little_s_law():
    """240 request-seconds in 60 s: four residents, whom a fifth joins where there is ample room."""
    assert 1 + 4.0 * (1 - 1 / MAX_BATCH) == pytest.approx(window().point(CUT, AMPLE).batch)


def test_in_a_full_batch_a_request_is_one_of_the_residents():
    """Room for four: each of them has three others beside it, not four."""
    assert 4.0 == pytest.approx(window().point(CUT, 4 * 600.0).batch)


def test_no_more_are_taken_to_be_resident_than_fit():
    assert 2.0 == pytest.approx(window().point(CUT, 2 * 600.0).batch)


def test_one_place_is_company_for_nobody():
    assert 1.0 == window().point(CUT, 10.0).batch


def test_where_requests_queued_the_first_token_says_nothing_of_the_engine():
    assert window(is_queued=True).point(CUT, AMPLE).ttft_ms is None


def test_means_are_compared_with_what_sizing_takes_them_to_be():
    point = window().point(CUT, AMPLE)

    assert (ITL_BIAS, TTFT_BIAS) == (point.itl_bias, point.ttft_bias)


@pytest.mark.parametrize("few", ["first_tokens", "completions"])
def test_a_few_requests_are_not_enough(few):
    assert window().is_enough
    assert window(**{few: LEAST_REQUESTS}).is_enough
    assert not window(**{few: LEAST_REQUESTS - 1}).is_enough


@pytest.mark.parametrize("nothing", ["itl_sum_s", "tokens", "ttft_sum_s", "prompt_tokens", "output_tokens"])
def test_a_counter_that_stood_still_is_no_measurement(nothing):
    """Answers of a single token, say, have no time between tokens."""
    assert not window(**{nothing: 0.0}).is_enough


def test_a_request_has_a_token_at_least():
    """Between two scrapes more may end than the tokens that were counted."""
    assert Mix(1.0, 1.0) == window(prompt_tokens=3.0, output_tokens=3.0).point(CUT, AMPLE).mix


def test_windows_add_up():
    quiet = window(itl_sum_s=60.0, tokens=2000.0, ttft_sum_s=3.0, first_tokens=20.0, completions=20.0)

    both = window().joined(quiet)

    assert (120.0, 300.0, 8000.0) == (both.seconds, both.itl_sum_s, both.tokens)
    assert (15.0, 80.0, 80.0) == (both.ttft_sum_s, both.first_tokens, both.completions)
    assert (60_000.0, 12_000.0) == (both.prompt_tokens, both.output_tokens)
    assert not both.is_queued
    assert window().joined(window(is_queued=True)).is_queued
    assert window(is_queued=True).joined(window()).is_queued
