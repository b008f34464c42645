import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreslice.settings.durations import seconds, written


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("500ms", 0.5),
        ("1s", 1.0),
        ("1.5s", 1.5),
        (" 10 m ", 600.0),
        ("2h", 7200.0),
        ("7d", 604800.0),
        ("0s", 0.0),
        ("9ms", 0.009),
    ],
)
def test_a_number_with_a_unit_is_a_duration(text, expected_s):
    assert expected_s == seconds(text)


@pytest.mark.parametrize(
    "text",
    ["", "500", "ms", "-1s", "1 sec", "1m30s", "1e3s", "1,5s", "1.s", "inf s", "1s\nx", 500, 1.5, None, True],
)
def test_anything_else_is_not(text):
    with pytest.raises(ValueError, match="a duration needs a number and a unit"):
        seconds(text)


@pytest.mark.parametrize(
    ("duration_s", "expected"),
    [
        (0.5, "500ms"),
        (1.5, "1500ms"),
        (90, "90s"),
        (600, "10m"),
        (3600, "1h"),
        (5400, "90m"),
        (864000, "10d"),
    ],
)
def test_a_duration_is_written_in_the_largest_unit_that_needs_no_fraction(duration_s, expected):
    assert expected == written(duration_s)


@given(st.integers(0, 10**10))
def test_what_is_written_is_read_back(duration_ms):
    assert duration_ms / 1000 == seconds(written(duration_ms / 1000))
