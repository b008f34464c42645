"""Two scrapers of one thing: known by their labels, or suspected because everything comes in pairs."""

from predictor.copies import suspected

TELLING = ("pod", "le")


def pairs(label, *values, other=None):
    return [
        (f"series_{at}", {"pod": "a", label: name}, value)
        for at, pair in enumerate(values)
        for name, value in zip("xy", pair, strict=True)
    ]


def test_pairs_of_nearly_the_same_value_are_suspected():
    assert ["scraper"] == suspected(pairs("scraper", (100, 101), (5000, 4990), (3, 3)), TELLING)


def test_parts_of_one_thing_differ():
    assert [] == suspected(pairs("reason", (790, 45), (100, 3), (7, 7)), TELLING)


def test_a_label_that_is_known_to_tell_things_apart_is_not_suspected():
    alike = [(f"s{at}", {"pod": pod}, 100.0) for at in range(5) for pod in "ab"]
    assert [] == suspected(alike, TELLING)


def test_two_pairs_may_be_alike_by_chance():
    assert [] == suspected(pairs("scraper", (100, 101), (5000, 4990)), TELLING)


def test_zeros_show_nothing():
    assert [] == suspected(pairs("scraper", (0, 0), (0, 0), (0, 0), (4, 4)), TELLING)


def test_single_series_are_no_copies():
    assert [] == suspected([(f"s{at}", {"scraper": "x"}, 1.0) for at in range(9)], TELLING)
