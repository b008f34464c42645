"""What is aimed at: as much as choices of the past kept on the days that came after them."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.proof.books import Book
from foreslice.proof.chosen import AIMS, aim_that_kept, choose
from foreslice.proof.scene import Part, Piece, Scene, drawn
from foreslice.proof.setting import FORECASTS, FORESIGHT, HOLDS
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


def book(setting, held):
    """A setting that leaves nothing, by what it holds in each block."""
    held = np.asarray(held, float)[np.newaxis]
    return Book((setting,), (Ledger(held, np.zeros_like(held), np.ones(held.shape[1])),))


@pytest.mark.parametrize(
    ("bad_day", "enters", "stays"),
    [(7.0, True, True), (12.5, False, True), (13.8, False, False)],
    ids=["pays for sure", "pays, with doubts", "does not pay"],
)
def test_a_forecast_has_to_pay_for_sure_to_be_used_and_goes_on_while_it_pays(bad_day, enters, stays):
    held = [[6.0, bad_day] * 5, [10.0] * 10, [5.0] * 10]
    books = [book(setting[0], one) for setting, one in zip((FORECASTS, HOLDS, FORESIGHT), held, strict=True)]
    used = choose(book(FORECASTS[0], [6.0] * 10), *books[1:], 0.01, 8)
    assert used.uses_forecast
    assert enters == choose(*books, 0.01, 10).uses_forecast
    assert stays == choose(*books, 0.01, 10, used).uses_forecast


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
