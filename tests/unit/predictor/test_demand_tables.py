"""Tidy tables of demand, good and bad."""

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError
from predictor.sources.demand_table import Columns, read_tidy, tidy_or_why_not

COLUMNS = Columns("t", "who", "demand")
ALONE = Columns("t", "", "demand")


@pytest.fixture
def write(tmp_path):
    def to(rows, name="demand.csv", columns=("t", "who", "demand")):
        path = tmp_path / name
        frame = pd.DataFrame(rows, columns=list(columns))
        if name.endswith("parquet"):
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        return path

    return to


ROWS = [(0, "a", 1.0), (600, "a", 2.0), (0, "b", 5.0), (1200, "a", 3.0), (300, "b", 6.0), (600, "b", 7.0)]


@pytest.mark.parametrize("name", ["demand.csv", "demand.csv.gz", "demand.parquet"])
def test_series_are_told_apart_each_with_its_step(write, name):
    first, second = read_tidy(write(ROWS, name), COLUMNS)
    assert ("a", 600, [1, 2, 3]) == (first.name, first.series.step_s, list(first.series.values))
    assert ("b", 300, [5, 6, 7]) == (second.name, second.series.step_s, list(second.series.values))


def test_one_series_needs_no_name(write):
    (one,) = read_tidy(write([(0, "x", 1), (60, "x", 2)]), ALONE)
    assert ("all", [1, 2]) == (one.name, list(one.series.values))


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_timestamps_are_utc_unless_they_say(write, zone):
    rows = [(f"2026-03-01T00:0{minute}:00{zone}", "a", minute) for minute in range(3)]
    (one,) = read_tidy(write(rows), COLUMNS)
    assert (1772323200, 60) == (one.series.start_s, one.series.step_s)


def test_timestamps_that_say_where_they_are_from_are_taken_at_their_word(write):
    (one,) = read_tidy(write([(f"2026-03-01T09:0{minute}:00+09:00", "a", 1) for minute in range(3)]), COLUMNS)
    assert 1772323200 == one.series.start_s


@pytest.mark.parametrize("per_s", [1, 1e3, 1e6, 1e9])
def test_numbers_since_the_epoch_are_of_any_usual_unit(write, per_s):
    rows = [(int((1772323200 + 60 * minute) * per_s), "a", minute) for minute in range(3)]
    (one,) = read_tidy(write(rows), COLUMNS)
    assert (1772323200, 60) == (one.series.start_s, one.series.step_s)


def test_the_index_of_a_parquet_file_is_a_column(tmp_path):
    path = tmp_path / "demand.parquet"
    pd.DataFrame(ROWS, columns=["t", "who", "demand"]).set_index("t").to_parquet(path)
    assert ["a", "b"] == [one.name for one in read_tidy(path, COLUMNS)]


def test_rows_without_a_name_are_a_series_too(write):
    rows = [*ROWS, (0, None, 9), (60, None, 8)]
    assert ["a", "b", "unnamed"] == [one.name for one in read_tidy(write(rows), COLUMNS)]


def test_a_series_that_is_wrong_does_not_hide_the_others(write):
    found = dict(tidy_or_why_not(write([*ROWS, (0, "once", 1)]), COLUMNS))
    assert ["a", "b", "once"] == list(found)
    assert "has no two times" == found["once"].what


def test_what_has_no_row_or_no_value_is_unknown(write):
    (one,) = read_tidy(
        write([(0, "a", 1), (60, "a", None), (120, "a", 3), (240, "a", 4), (300, "a", 0)]), COLUMNS
    )
    np.testing.assert_array_equal([1, np.nan, 3, np.nan, 4, 0], one.series.values)


def test_a_row_that_is_late_by_little_is_on_its_step(write):
    (one,) = read_tidy(write([(0, "a", 1), (600, "a", 2), (1203, "a", 3), (1800, "a", 4)]), COLUMNS)
    assert [1, 2, 3, 4] == list(one.series.values)


def test_the_hour_that_a_clock_repeats_is_taken_once(write):
    rows = [(60 * minute, "a", minute) for minute in range(200)] + [(600, "a", 99)]
    (one,) = read_tidy(write(rows), COLUMNS)
    assert (200, 10) == (len(one.series), one.series.values[10])


def test_first_steps_after_a_gap_that_hold_next_to_nothing_are_partial(write):
    """A collector that comes back: 14 requests/s in place of 2,000."""
    rows = [(600 * step, "a", 2000.0) for step in range(40) if not 20 <= step < 26]
    rows[20] = (600 * 26, "a", 14.0)
    (one,) = read_tidy(write(rows), COLUMNS)
    assert [26] == list(np.flatnonzero(one.is_masked))
    assert np.isnan(one.series.values[20:27]).all()
    assert 2000 == one.series.values[27]


def test_what_stays_down_after_a_gap_is_believed_within_the_hour(write):
    rows = [(600 * step, "a", 2000.0 if step < 20 else 1.0) for step in range(60) if not 20 <= step < 26]
    (one,) = read_tidy(write(rows), COLUMNS)
    assert list(range(26, 32)) == list(np.flatnonzero(one.is_masked))


def test_partial_steps_are_judged_by_the_past_alone(write):
    rows = [(600 * step, "a", 2000.0) for step in range(40) if step != 20]
    later = [(t, who, value if t <= 600 * 22 else 1e9) for t, who, value in rows]
    ours, theirs = (read_tidy(write(one), COLUMNS)[0] for one in (rows, later))
    np.testing.assert_array_equal(ours.is_masked, theirs.is_masked)


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (ROWS, Columns("time", "who", "demand"), r"no column 'time' \(--time\); there are t, who, demand"),
        (ROWS, Columns("t", "whom", "x"), r"'whom' \(--by\), 'x' \(--value\)"),
        ([], COLUMNS, "holds no rows"),
        ([("soon", "a", 1)], COLUMNS, "t 'soon' in row 1 is no time"),
        ([(0, "a", 1), (60, "a", "many")], COLUMNS, "demand 'many' in row 2 is no demand"),
        ([(0, "a", 1), (60, "a", -2)], COLUMNS, "'-2' in row 2 is no demand"),
        ([(0, "a", float("inf"))], COLUMNS, "is no demand"),
        ([(0, "a", 1e31)], COLUMNS, "is no demand"),
        (ROWS, ALONE, "rows with a time that is there already.*--by"),
        ([(0, "a", 1)], COLUMNS, "series a: has no two times"),
        ([(0, "a", 1), (7, "a", 1), (60, "a", 1), (99, "a", 1), (200, "a", 1)], COLUMNS, "not whole steps"),
        ([*((60 * n, "a", 1) for n in range(150)), (6e9, "a", 1)], COLUMNS, "151 rows over .* far from the"),
        ([(0, "a", pd.Timestamp(0)), (60, "a", pd.Timestamp(1))], COLUMNS, "is no demand"),
        ([(60 * n + (n % 3 == 0) * 25, "a", 1) for n in range(90)], COLUMNS, "not whole steps"),
    ],
)
def test_what_is_wrong_is_one_clear_line(write, rows, columns, said):
    with pytest.raises(InputError, match=said):
        read_tidy(write(rows), columns)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("no.csv", None, "cannot be read"),
        ("no.parquet", b"PAR2", "is not such a file"),
        ("no.csv.gz", b"plain", "cannot be read"),
        ("empty.csv", b"", "is not such a file"),
        ("binary.csv", b"t,who,demand\n\xff\xfe\x00", "is not such a file"),
    ],
)
def test_what_is_no_table_is_one_clear_line(tmp_path, name, content, said):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_tidy(path, COLUMNS)
