"""Statistics of the last values: those of one row are those of the whole table."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from predictor.trailing import FEW, shifted, trailing

LEVELS = st.lists(
    st.one_of(st.just(np.nan), st.floats(0, 1e6, allow_subnormal=False)), min_size=FEW + 1, max_size=60
)


@given(values=LEVELS, width=st.integers(2, 20), least=st.integers(1, 5))
def test_the_last_rows_alone_are_those_of_the_whole_table(values, width, least):
    values, least = np.array(values), min(least, width)
    since = len(values) - 3
    for whole, last in zip(
        trailing(values, width, least, 0), trailing(values, width, least, since), strict=True
    ):
        np.testing.assert_allclose(whole[since:], last, rtol=1e-6, atol=1e-3)


@given(values=LEVELS, steps=st.integers(0, 80), data=st.data())
def test_a_shift_is_what_was_there_so_many_steps_before(values, steps, data):
    since = data.draw(st.integers(0, len(values)))
    padded = np.concatenate([np.full(steps, np.nan), values])[: len(values)]
    np.testing.assert_array_equal(padded[since:], shifted(np.array(values), steps, since))
