"""What a standby pool of a run cost and whom it served."""

import numpy as np
import pytest

from fleet.devices import Device
from fleet.shape import Shape
from simulator.counts import Tally
from simulator.insurance import Use, pool_account
from simulator.journal import Holding, Journal, Serving
from tests.builders.fleet import key

HOUR = 3600
A, B = key("a"), key("b")


def tally(completed, by_standby):
    made = Tally.zero(2)
    made.completed, made.by_standby = np.array(completed), np.array(by_standby)
    return made


@pytest.fixture
def journal():
    """Two hours: a slice of half a card, on which first one and then the other of two is woken."""
    made = Journal()
    made.tallies = {0: tally([5.0, 5.0], [5.0, 0.0]), 2 * HOUR: tally([45.0, 65.0], [25.0, 10.0])}
    device = Device("n", "n", "x-0", "gpu", "x", "4g.40gb", {}, frozenset(range(4)))
    for name, holder in (("pool", None), ("own", A)):
        made.holdings.begin(name, Holding(holder, device, 0.5, -HOUR))
    for pod, whose, from_s, until_s, is_standby in (
        ("a-s", A, -HOUR, HOUR / 2, True),
        ("b-s", B, HOUR / 2, HOUR, True),
        ("b-s", B, 3 * HOUR / 2, None, True),
        ("b-0", B, 0, None, False),
    ):
        made.servings.begin(pod, Serving(pod, whose, Shape("x"), from_s, is_standby=is_standby))
        if until_s is not None:
            made.servings.end(pod, until_s)
    return made


def test_each_has_its_wakes_hours_and_requests_within_the_time_and_slices_are_paid_throughout(journal):
    account = pool_account(journal, [A, B], 0, 2 * HOUR)
    assert {A: Use(0, 0.5, 20.0), B: Use(2, 1.0, 10.0)} == account.uses
    assert (2, pytest.approx(1.0), pytest.approx(0.3)) == (
        account.wakes,
        account.gpu_hours,
        account.served_share,
    )


def test_a_pool_that_serves_nobody_in_a_run_without_requests_is_no_error():
    made = Journal()
    made.tallies = {0: Tally.zero(2), 60: Tally.zero(2)}
    assert (0, 0.0, 0.0) == (
        pool_account(made, [A, B], 0, 60).wakes,
        pool_account(made, [A, B], 0, 60).gpu_hours,
        pool_account(made, [A, B], 0, 60).served_share,
    )
