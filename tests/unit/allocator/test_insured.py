"""What is needed of one's own beside the pool: it bridges and insures, and never hides what is asked."""

import pytest

from allocator.insured import Insurance, insured
from allocator.need import Need
from fleet.workload import WorkloadKey

KEY = WorkloadKey("shop", "ant")


def need(reactive=1.0, quiet=1.2, forecast=2.0, announced=0.0):
    up = max(reactive or 0.0, forecast, announced)
    return Need(
        KEY, "", up, max(up, quiet or 0.0, 2.5), reactive, quiet, forecast, 2.5, (), announced=announced
    )


@pytest.mark.parametrize(
    ("up", "keep", "given", "insurance"),
    [
        # The pool stands for what the forecast expects; what was asked over the quiet time is kept.
        (1.0, 1.2, {}, Insurance(covered=1.0, lasting=1.0)),
        # A burst is bridged, and once it lasts it is carried by one's own.
        (0.4, 1.2, {}, Insurance(covered=1.0, lasting=0.4)),
        (1.0, 1.2, {}, Insurance(covered=1.0, lasting=None)),
        # What the pool cannot carry is ordered at once.
        (2.5, 2.5, {"reactive": 3.0}, Insurance(covered=0.5, lasting=0.4)),
        (1.8, 1.8, {"announced": 1.8}, Insurance(covered=1.0, lasting=0.4)),
        (0.8, 0.96, {}, Insurance(covered=1.0, lasting=1.0, level=0.8)),
        # A pool that is lost, or a present that is unknown, leaves the need as it was.
        (2.0, 2.5, {}, Insurance(covered=0.0, lasting=0.4)),
        (2.0, 2.5, {"reactive": None}, Insurance(covered=1.0, lasting=0.4)),
    ],
)
def test_the_need_of_own_capacity(up, keep, given, insurance):
    found = insured(need(**given), insurance)
    assert (up, keep) == (pytest.approx(found.up), pytest.approx(found.keep))


def test_no_insurance_ever_raises_a_need():
    before = need(reactive=1.0, quiet=None, forecast=0.5)
    after = insured(before, Insurance(covered=0.2, lasting=2.0))
    assert after.up <= before.up
    assert after.keep <= before.keep
