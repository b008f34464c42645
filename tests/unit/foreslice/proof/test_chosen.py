"""What is chosen on the days before, and what a pool aims at: as much as such choices kept on later days."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.proof.books import Book
from foreslice.proof.chosen import AIMS, aim_that_kept, choose
from foreslice.proof.mean import Mean
from foreslice.proof.scene import Part, Piece, Scene, drawn
from foreslice.proof.setting import Rule, Setting
from predictor.value.ledger import Ledger

BY_DAY = 2
DAYS = 6
SEVENTH = Piece("1/7", 1 / 7, 1 / 7, 1 / 7)


def settings(grows):
    """Settings that leave the less the dearer they are, more on each day by a factor."""
    days = np.repeat(grows ** np.arange(DAYS), BY_DAY)
    least = np.array([[0.02], [0.01], [0.005], [0.002], [0.001], [0.0002]])
    cost = np.array([[1.0], [1.1], [1.2], [1.3], [1.4], [1.5]])
    return Ledger(cost * np.ones_like(days), least * days, np.ones_like(days))


@pytest.mark.parametrize(("expected", "grows"), [(1.0, 1.0), (0.5, 1.5)])
def test_less_is_aimed_at_where_days_that_came_after_were_worse(expected, grows):
    assert pytest.approx(expected * 0.01) == aim_that_kept(settings(grows), 0.01, BY_DAY)


def test_less_is_aimed_at_where_a_day_that_came_after_kept_it_by_luck():
    """It leaves just what is allowed, half of it nearly twice that."""
    three_days = settings(1.0).of_blocks(slice(0, 3 * BY_DAY))
    wild = replace(three_days, lacked=three_days.lacked * [1.0, 1.0, 1.0, 1.0, 0.1, 1.9])
    assert pytest.approx(0.007) == aim_that_kept(wild, 0.01, BY_DAY)


def test_where_nothing_kept_it_the_least_is_aimed_at():
    assert pytest.approx(AIMS[-1] * 1e-5) == aim_that_kept(settings(2.0), 1e-5, BY_DAY)


def tried(*settings):
    """Settings, each with what it holds and leaves of a work of one in each block."""
    ledgers = [
        Ledger(np.full((1, 10), held), np.full((1, 10), left), np.ones(10)) for _, held, left in settings
    ]
    return Book(tuple(setting for setting, _, _ in settings), (Ledger.joined(ledgers),))


AHEAD, STANDS = (Setting(Rule.FORECAST, 0.9, 1.0, minutes) for minutes in (1, 20))
HOUR, LAST = (Setting(Rule.HOLD, minutes, 1.0) for minutes in (60, 1))
RESIDUAL, HIGHER = (Setting(Rule.RESIDUAL, quantile) for quantile in (0.9, 0.95))


@pytest.mark.parametrize(
    ("expected", "settings"),
    [
        ((AHEAD,), [(AHEAD, 6.0, 0.0), (HOUR, 10.0, 0.0)]),
        ((HOUR,), [(AHEAD, 10.6, 0.0), (HOUR, 10.0, 0.0)]),
        ((AHEAD, HOUR), [(AHEAD, 10.4, 0.0), (HOUR, 10.0, 0.0), (STANDS, 11.0, 0.0)]),
        ((replace(HOUR, factor=1.1),), [(HOUR, 10.0, 0.02), (replace(HOUR, factor=1.1), 10.1, 0.01)]),
        ((HOUR, RESIDUAL), [(HOUR, 10.0, 0.0), (RESIDUAL, 10.2, 0.0), (HIGHER, 10.3, 0.0)]),
        ((LAST, HOUR), [(LAST, 9.0, 0.02), (HOUR, 9.2, 0.0215), (RESIDUAL, 8.0, 0.03)]),
    ],
    ids=[
        "a forecast that is clearly the cheapest decides alone",
        "one that is clearly dearer has no say",
        "those within a twentieth of the cheapest have a say",
        "what leaves too much has none",
        "one of each kind, the residual rule being one",
        "where none leaves so little, those within a tenth of the least",
    ],
)
def test_of_each_kind_the_cheapest_that_leaves_little_has_a_say_if_it_is_near_the_cheapest(
    expected, settings
):
    assert Mean(expected) == choose(tried(*settings), 0.01, 8).setting


def test_only_the_blocks_before_have_a_say():
    book = tried((AHEAD, 6.0, 0.0), (HOUR, 10.0, 0.0))
    book.parts[0].lacked[0, 8:] = 1.0
    assert (AHEAD,) == choose(book, 0.01, 8).setting.settings
    assert (HOUR,) == choose(book, 0.01, 9).setting.settings


def scene(count=3, days=4):
    """Workloads of which each has a work of its own on each day."""
    work = [np.repeat(10.0 * n + np.arange(days), 1440) for n in range(count)]
    return Scene(tuple(Part(f"t{n}", 60, w, SEVENTH, SEVENTH) for n, w in enumerate(work)), 1440, "measured")


def test_of_fewer_none_is_drawn_twice():
    names = [part.name for part in drawn(scene(), 2, seed=1).parts]
    assert 2 == len(set(names))


def test_beyond_those_that_there_are_they_come_again_on_other_days():
    parts = drawn(scene(), 8, seed=1).parts
    assert 8 == len({part.name for part in parts})
    for nth, part in enumerate(parts):
        (own,) = {int(work) // 10 for work in part.work}
        assert nth % 3 == own
        shifted = part.work[0] != scene().parts[own].work[0]
        assert shifted == (nth >= 3)
