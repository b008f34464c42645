"""The size of the pool and its beds: by what was needed together, and by what may come."""

import numpy as np
import pytest

from allocator.need import Timing
from fleet.ledgers.beds import Bed
from fleet.standby import PoolSlice, Sleeper
from fleet.workload import Router, Way
from foreslice.standby.plan import Candidate, admitted, beds
from tests.builders.deciding import forecast, need, offers, workload
from tests.builders.fleet import fleet, key, running, shape, standing
from tests.builders.standby import outlook, terms

SLICE = shape("2g.20gb")
TERMS = terms(SLICE, slices=10)
NAMES = ("ant", "bee", "cat")
TIMING = Timing(lead_s=300.0, quiet_s=300.0)
SMALL = Bed(10.0, 10.0)


def bursts(*minutes, height=0.4):
    """A day of 1.0 with bursts of ten minutes that begin at these minutes."""
    work = np.ones(1440)
    for start in minutes:
        work[start : start + 10] += height
    return work


def candidate(name, work, **changes):
    has = running(fleet(8), standing(name, "1 x whole")).standing(key(name))
    router = changes.pop("router", Router.LEAST_LOADED)
    values = {"forecast": changes.pop("forecast", None)}
    seen = outlook(offers(changes.pop("capacities", None), router), work, **values)
    return Candidate(workload(name, router=router, **changes), has, seen, need(name, up=1.0), TIMING)


def planned(*candidates, pools=(), held=TERMS):
    return beds(candidates, pools, held, lambda _: SMALL)


def count(layout, name):
    return sum(key(name) in here for here in layout.values())


def every_hour(first):
    return range(first, 1440, 60)


def test_bursts_that_do_not_meet_share_slices_and_those_that_meet_do_not():
    apart = [candidate(name, bursts(*every_hour(60 + 20 * n))) for n, name in enumerate(NAMES)]
    together = [candidate(name, bursts(*every_hour(60))) for name in NAMES]
    assert (2, 6) == (len(planned(*apart)), len(planned(*together)))


def test_there_are_no_more_slices_than_settings_let():
    together = [candidate(name, bursts(*every_hour(60))) for name in NAMES]
    assert 3 == len(planned(*together, held=terms(SLICE, slices=3)))
    assert {} == planned(*together, held=terms(SLICE, slices=0))


def test_who_never_lacked_anything_needs_no_pool():
    assert {} == planned(*[candidate(name, np.ones(1440)) for name in NAMES])
    assert {} == planned()


@pytest.mark.parametrize(("beds_of_bee", "peak"), [(4, 3.0), (3, 1.0)])
def test_a_forecast_of_a_burst_gives_beds_to_whom_it_is_of(beds_of_bee, peak):
    def risky(name, ahead):
        return candidate(name, bursts(*every_hour(60)), forecast=forecast(level=ahead))

    house = terms(SLICE, slices=4, sleepers=2)
    layout = planned(risky("ant", 1.3), risky("bee", peak), risky("cat", 1.3), held=house)
    assert beds_of_bee == count(layout, "bee")


def test_who_sleeps_somewhere_stays_there():
    people = [candidate(name, bursts(*every_hour(60 + 20 * n))) for n, name in enumerate(NAMES)]
    before = planned(*people, held=terms(SLICE, slices=2, sleepers=2))
    pools = [
        PoolSlice(
            "serving", name, "1", None, tuple(Sleeper(one, "p", "", True, False) for one in sorted(here))
        )
        for name, here in before.items()
    ]
    assert before == planned(*reversed(people), pools=pools, held=terms(SLICE, slices=2, sleepers=2))


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        ("", {}),
        ("something else sets its replicas, and would count standby pods among them", {"way": Way.FLOOR}),
        ("its model or its objectives do not fit on h100-80gb:2g.20gb", {"capacities": {"whole": 1.0}}),
        (
            "behind a router that spreads equally h100-80gb:2g.20gb would lower what its replicas carry",
            {"router": Router.EQUAL},
        ),
    ],
)
def test_who_cannot_join_is_told_why(expected, changes):
    assert expected == candidate("ant", np.ones(10), **changes).objection(TERMS)


def test_who_is_paused_sleeps_on_where_it_sleeps_and_is_let_in_nowhere():
    one, other = frozenset({key("chat")}), frozenset({key("talk")})
    assert one | other == admitted(other, one, one)
    assert other == admitted(one | other, frozenset(), one)
    assert one | other == admitted(one | other, frozenset(), frozenset())
