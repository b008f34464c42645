"""Engines that start one after the other on one card."""

from allocator.starts import Start, is_quiet, latest_starts


def test_the_longest_goes_first_and_the_last_is_ready_a_margin_before_the_peak():
    assert (Start("a", 760, 880), Start("b", 880, 970)) == latest_starts({"b": 90, "a": 120}, 1000, 30)
    assert (Start("b", 760, 880), Start("a", 880, 970)) == latest_starts({"b": 120, "a": 90}, 1000, 30)


def test_of_equals_the_order_is_that_of_names_backwards():
    assert ["c", "b", "a"] == [start.name for start in latest_starts({"b": 5, "a": 5, "c": 5}, 100, 0)]


def test_without_engines_there_are_no_starts_and_the_card_is_quiet():
    assert () == latest_starts({}, 100, 0)
    assert is_quiet((), 50)


def test_a_card_is_not_quiet_from_the_first_start_until_the_last_is_ready():
    starts = latest_starts({"a": 10, "b": 20}, 100, 0)

    assert [True, False, False, False, True] == [is_quiet(starts, at_s) for at_s in (69, 70, 90, 99, 100)]
