"""Percentile targets become means by ratios that were simulated."""

import pytest

from capacity.tails import e2e_tail, itl_tail, ttft_tail


@pytest.mark.parametrize(("quantile", "simulated_ms"), [(0.95, 399), (0.99, 641)])
def test_ttft_tails_are_the_simulated_percentiles_over_the_predicted_mean(quantile, simulated_ms):
    assert simulated_ms / 113 == pytest.approx(ttft_tail(quantile), rel=0.05)


def test_the_itl_tail_is_the_simulated_p95_over_the_predicted_mean():
    assert 43.6 / 31.0 == pytest.approx(itl_tail(0.95), rel=0.01)


@pytest.mark.parametrize(
    ("quantile", "simulated_ms"), [(0.5, 5574), (0.9, 18_579), (0.95, 24_074), (0.99, 37_244)]
)
def test_e2e_tails_are_the_simulated_percentiles_over_the_predicted_mean(quantile, simulated_ms):
    """At 0.70 of the full rate, 512 prompt and 256 output tokens, where the model's mean is 8,011 ms."""
    assert simulated_ms / 8011 == pytest.approx(e2e_tail(quantile), rel=0.02)


@pytest.mark.parametrize("tail", [ttft_tail, itl_tail, e2e_tail])
def test_a_higher_percentile_lies_further_out(tail):
    tails = [tail(quantile) for quantile in (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)]

    assert tails == sorted(set(tails))


def test_ttft_spreads_more_than_itl():
    """A first token waits for whoever came before; later ones average over the company of an answer."""
    assert ttft_tail(0.95) / ttft_tail(0.5) > 3 * itl_tail(0.95) / itl_tail(0.5)
