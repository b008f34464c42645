"""More figures are read off a journal that a person can check by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fleet.devices import Device
from fleet.workload import LatencyTarget, Slo
from simulator.counts import Tally
from simulator.detail import detail
from simulator.journal import Holding, Journal
from tests.builders.engines import workload

HOUR, MINUTE = 3600, 60
FIRST = replace(workload("a"), slo=Slo(ttft=LatencyTarget(0.95, 1.0), itl=LatencyTarget(0.9, 0.05)))
SECOND = replace(workload("b"), slo=Slo(ttft=LatencyTarget(0.5, 1.0)))
WORK = {FIRST.key: np.full(60, 0.5), SECOND.key: np.full(60, 1.5)}


@pytest.fixture
def journal():
    """An hour in which nothing was offered."""
    made = Journal()
    made.tallies = {at_s: Tally.zero(2) for at_s in range(0, HOUR + 1, MINUTE)}
    return made


def hold(journal, name, node, card, from_s, until_s=None, profile=None):
    device = Device(node, node, name, "gpu", card, profile, {}, frozenset(range(8)))
    journal.holdings.begin(name, Holding(FIRST.key, device, 1.0, from_s))
    if until_s is not None:
        journal.holdings.end(name, until_s)


def serve(journal, minute, **counts):
    """Let so many requests come in a minute, and be inside, first workload and second."""
    for at_s, was in journal.tallies.items():
        if at_s > minute * MINUTE:
            added = {name: getattr(was, name) + np.array(count, float) for name, count in counts.items()}
            journal.tallies[at_s] = replace(was, **added)


def told(journal):
    return detail(journal, [FIRST, SECOND], WORK, 8, (0, HOUR))


def test_a_node_is_paid_with_all_its_cards_while_one_is_in_use(journal):
    hold(journal, "1", "n", "x", -HOUR, HOUR / 2)
    hold(journal, "2", "n", "y", HOUR / 4, HOUR / 2)
    hold(journal, "3", "m", "z", HOUR / 2)
    assert pytest.approx(8 * 1.0) == told(journal).node_hours


def test_a_fixed_pool_is_as_many_cards_as_were_in_use_at_once(journal):
    hold(journal, "1", "n", "x", 0, HOUR / 2)
    hold(journal, "2", "n", "x", 0, HOUR / 4)
    hold(journal, "3", "m", "y", HOUR / 4, HOUR / 2)
    hold(journal, "4", "m", "z", HOUR / 2, 3 * HOUR / 4)
    hold(journal, "5", "m", "w", 3 * HOUR / 4, HOUR)
    assert pytest.approx(2.0) == told(journal).fixed_pool_hours
    assert pytest.approx(8 * (0.5 + 0.75)) == told(journal).node_hours


def test_nothing_held_costs_nothing(journal):
    assert (0, 0) == (told(journal).node_hours, told(journal).fixed_pool_hours)


def test_a_card_is_recut_where_an_instance_comes_or_goes_and_once_where_several_do(journal):
    hold(journal, "1", "n", "x", -MINUTE, 300, "3g.40gb")
    hold(journal, "2", "n", "x", 300, None, "4g.40gb")
    hold(journal, "3", "n", "y", 300, None, "4g.40gb")
    hold(journal, "4", "n", "z", 300, 500)
    assert 2 == told(journal).repartitions


def test_attainment_of_a_term_is_weighted_by_requests_of_those_that_have_it(journal):
    serve(journal, 3, offered=(100, 300), within_ttft=(50, 300), within_itl=(80, 0), within_e2e=(7, 7))
    figures = told(journal)
    assert {"ttft": 350 / 400, "itl": 0.8} == figures.attainment
    assert {FIRST.key: {"ttft": 0.5, "itl": 0.8}, SECOND.key: {"ttft": 1.0}} == figures.attainment_by_workload


def test_a_minute_is_violated_where_some_term_keeps_less_than_its_share(journal):
    kept = {"within_ttft": (95, 50), "within_itl": (90, 0)}
    serve(journal, 1, offered=(100, 100), **kept)
    serve(journal, 2, offered=(100, 100), **kept | {"within_ttft": (94, 50)})
    serve(journal, 3, offered=(100, 100), **kept | {"within_itl": (89, 0)})
    serve(journal, 5, offered=(100, 100), **kept | {"within_ttft": (95, 49)})
    assert {FIRST.key: 2, SECOND.key: 1} == told(journal).violation_minutes


def test_work_is_told_in_hours(journal):
    assert pytest.approx(2.0) == told(journal).work_hours
