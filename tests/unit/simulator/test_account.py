"""Figures are read off a journal that a person can check by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fleet.boards import H100_80GB
from fleet.cluster import Gpu
from fleet.devices import Device
from fleet.shape import Shape
from simulator.account import layouts, summary
from simulator.counts import Tally
from simulator.journal import Holding, Journal, Scaling, Start
from tests.builders.engines import WHOLE, workload

A, B = workload("a").key, workload("b").key
THIRD = Shape("h100-80gb", "3g.40gb")
HOUR = 3600
NO_WORK = {A: np.zeros(120), B: np.zeros(120)}


def device(card, slices=range(8), profile=None):
    return Device("n", "n", f"{card}-{min(slices)}", "gpu", card, profile, {}, frozenset(slices))


def tally(offered=(0, 0), refused=(0, 0), inside=(0, 0), cut=(0, 0)):
    rows = {"offered": offered, "refused": refused, "inside": inside, "cut": cut}
    return replace(Tally.zero(2), **{name: np.array(row, dtype=np.float64) for name, row in rows.items()})


@pytest.fixture
def journal():
    """Two hours in which nothing was offered."""
    made = Journal()
    made.tallies = {at_s: tally() for at_s in range(0, 2 * HOUR + 1, 60)}
    return made


def hold(journal, name, holder, card, from_s, until_s=None, slices=range(8), share=1.0):
    journal.holdings.begin(name, Holding(holder, device(card, slices), share, from_s))
    if until_s is not None:
        journal.holdings.end(name, until_s)


def test_a_card_counts_once_however_many_hold_parts_of_it(journal):
    hold(journal, "1", A, "x", 0, HOUR, range(4), 0.5)
    hold(journal, "2", B, "x", HOUR // 2, 2 * HOUR, range(4, 8), 0.5)
    figures = summary(journal, NO_WORK, 0, 2 * HOUR)
    assert pytest.approx(2.0) == figures.gpu_hours
    assert pytest.approx(0.5 + 0.75) == figures.slice_hours


def test_a_card_that_nobody_holds_costs_nothing(journal):
    hold(journal, "1", A, "x", 0, HOUR // 2)
    hold(journal, "2", A, "x", HOUR, 3 * HOUR // 2)
    hold(journal, "3", B, "y", 0, HOUR)
    assert pytest.approx(0.5 + 0.5 + 1) == summary(journal, NO_WORK, 0, 2 * HOUR).gpu_hours


def test_a_short_holding_inside_a_long_one_adds_nothing(journal):
    hold(journal, "1", A, "x", 0, 2 * HOUR, range(4), 0.5)
    hold(journal, "2", B, "x", HOUR, HOUR + 60, range(4, 8), 0.5)
    hold(journal, "3", B, "x", 90 * 60, 100 * 60, range(4, 8), 0.5)
    assert pytest.approx(2.0) == summary(journal, NO_WORK, 0, 2 * HOUR).gpu_hours


def test_only_the_time_asked_about_counts(journal):
    hold(journal, "1", A, "x", -HOUR)
    hold(journal, "2", B, "y", 0, HOUR)
    hold(journal, "3", B, "z", -HOUR, 0)
    figures = summary(journal, NO_WORK, HOUR // 2, HOUR)
    assert pytest.approx(1.0) == figures.gpu_hours == figures.slice_hours


def test_attainment_is_weighted_by_requests(journal):
    journal.tallies[2 * HOUR] = tally(offered=(100, 900), inside=(50, 900))
    figures = summary(journal, NO_WORK, 0, 2 * HOUR)
    assert {A: 0.5, B: 1.0} == figures.attainment_by_workload
    assert 0.95 == figures.attainment
    assert 1000 == figures.requests_offered


def test_what_happened_before_is_not_counted(journal):
    journal.tallies[HOUR] = tally(offered=(100, 0), inside=(0, 0), cut=(5, 0))
    journal.tallies[2 * HOUR] = tally(offered=(200, 0), inside=(90, 0), cut=(7, 0))
    figures = summary(journal, NO_WORK, HOUR, 2 * HOUR)
    assert 0.9 == figures.attainment
    assert 2 == figures.requests_cut


def test_a_workload_that_nobody_asked_anything_has_kept_its_promise(journal):
    figures = summary(journal, NO_WORK, 0, 2 * HOUR)
    assert {A: 1.0, B: 1.0} == figures.attainment_by_workload
    assert (1.0, 0.0) == (figures.attainment, figures.unserved_share)


def test_unserved_work_weighs_requests_by_what_they_cost(journal):
    """A refuses half of its requests of one minute, which are few but carry most of the work."""
    for at_s in range(60, 2 * HOUR + 1, 60):
        journal.tallies[at_s] = tally(offered=(10, 1000), refused=(5, 0))
    work = {A: np.zeros(120), B: np.zeros(120)}
    work[A][0], work[B][0], work[B][7] = 3.0, 0.5, 0.5
    assert pytest.approx(1.5 / 4.0) == summary(journal, work, 0, 2 * HOUR).unserved_share


def test_starts_and_changes_are_counted(journal):
    journal.starts += [Start(-5, "p", A, WHOLE), Start(0, "q", A, WHOLE), Start(2 * HOUR, "r", A, WHOLE)]
    journal.scalings += [Scaling(-5, A, "a", 1), Scaling(60, A, "a", 2), Scaling(90, B, "b", 0)]
    figures = summary(journal, NO_WORK, 0, 2 * HOUR)
    assert (1, 2) == (figures.pods_started, figures.changes)


def test_layouts_say_who_holds_which_memory_slice(journal):
    cards = [Gpu("x", "n", H100_80GB), Gpu("y", "n", H100_80GB)]
    hold(journal, "1", A, "x", 60, 180, range(4))
    hold(journal, "2", B, "x", 120, None, range(4, 6))
    assert [
        [[0] * 8, [0] * 8],
        [[1, 1, 1, 1, 0, 0, 0, 0], [0] * 8],
        [[1, 1, 1, 1, 2, 2, 0, 0], [0] * 8],
        [[0, 0, 0, 0, 2, 2, 0, 0], [0] * 8],
    ] == layouts(journal, cards, [A, B], 0, 240).tolist()


def test_a_holder_is_told_from_all_others_however_many_there_are(journal):
    many = [workload(f"w{number}").key for number in range(300)]
    hold(journal, "1", many[-1], "x", 0, None, [0])
    assert 300 == layouts(journal, [Gpu("x", "n", H100_80GB)], many, 0, 60)[0, 0, 0]
