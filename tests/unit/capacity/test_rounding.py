"""Mixes are rounded up to two digits, never down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.rounding import distinct_rounded_up, rounded_up
from fleet.demand import Mix


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (0.0, 1),
        (0.4, 1),
        (1.0, 1),
        (1.2, 2),
        (9.5, 10),
        (10.0, 10),
        (11.0, 11),
        (99.1, 100),
        (100.0, 100),
        (101.0, 110),
        (110.0, 110),
        (250.0000001, 250),
        (999.0, 1000),
        (1024.0, 1100),
        (31_999.0, 32_000),
        (1_000_000.0, 1_000_000),
    ],
)
def test_tokens_are_rounded_up_to_two_digits(tokens, expected):
    assert (expected, 7) == rounded_up(Mix(tokens, 7.0))
    assert (7, expected) == rounded_up(Mix(7.0, tokens))


def test_distinct_mixes_lead_back_to_each_one_given():
    prompts, outputs = np.array([1024.0, 1050.0, 10.0, 1024.0]), np.array([256.0, 251.0, 3.0, 20.0])

    mixes, indices = distinct_rounded_up(prompts, outputs)

    assert [(10, 3), (1100, 20), (1100, 260)] == sorted(mixes)
    assert [(1100, 260), (1100, 260), (10, 3), (1100, 20)] == [mixes[index] for index in indices]


def test_nothing_rounds_to_nothing():
    mixes, indices = distinct_rounded_up(np.array([]), np.array([]))

    assert [] == mixes
    assert 0 == len(indices)


@given(st.floats(0.0, 1e8))
def test_one_mix_is_rounded_as_many_are(tokens):
    mixes, _ = distinct_rounded_up(np.array([tokens]), np.array([tokens]))

    assert mixes == [rounded_up(Mix(tokens, tokens))]
