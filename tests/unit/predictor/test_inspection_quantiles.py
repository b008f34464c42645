"""Quantiles as Prometheus reckons them, and a bound where the top bucket holds them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.inspection.quantiles import Quantile, quantile_of

INF = math.inf

# `histogram_quantile` of Prometheus 2.42 gives these values (tests/prometheus asks it for others).
CASES = {
    "inside a bucket it is linear": (0.5, {1: 10, 2: 30, INF: 40}, Quantile(1.5, 1, 2)),
    "the lowest bucket begins at zero": (0.1, {1: 10, 2: 30, INF: 40}, Quantile(0.4, 0, 1)),
    "a lowest bound below zero is the quantile itself": (0.1, {-1: 10, 2: 30, INF: 40}, Quantile(-1, -1, -1)),
    "at the edge of a bucket it is the bound": (0.75, {1: 10, 2: 30, INF: 40}, Quantile(2, 1, 2)),
    "in the top bucket it is at least the highest bound": (
        0.99,
        {1: 10, 2: 30, INF: 40},
        Quantile(2, 2, INF),
    ),
    "counts that fall are taken as flat": (0.9, {1: 10, 2: 8, 4: 20, INF: 20}, Quantile(3.6, 2, 4)),
    "nothing was observed": (0.5, {1: 0, INF: 0}, None),
    "no bucket has a bound": (0.5, {INF: 3}, None),
    "the top bucket is missing": (0.5, {1: 3, 2: 4}, None),
    "no buckets": (0.5, {}, None),
}


@pytest.mark.parametrize(("q", "buckets", "expected"), CASES.values(), ids=CASES)
def test_quantiles(q, buckets, expected):
    got = quantile_of(q, buckets)
    if expected is None:
        assert got is None
    else:
        assert (pytest.approx(expected.value), expected.low, expected.high) == (got.value, got.low, got.high)
        assert math.isinf(expected.high) == got.is_censored


counts = st.lists(st.integers(0, 100), min_size=2, max_size=12).filter(lambda added: sum(added) > 0)


@given(counts, st.lists(st.floats(0.01, 1), min_size=2, max_size=2))
def test_a_higher_share_is_never_a_lower_quantile_and_lies_in_its_bucket(added, shares):
    bounds = [*(float(bound) for bound in range(1, len(added))), INF]
    buckets = {bound: sum(added[: at + 1]) for at, bound in enumerate(bounds)}
    low, high = (quantile_of(q, buckets) for q in sorted(shares))
    assert low.value <= high.value
    for quantile in (low, high):
        assert quantile.low <= quantile.value <= quantile.high
