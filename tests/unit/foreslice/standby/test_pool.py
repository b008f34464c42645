"""What the pool is worth as insurance while an engine on it is left alone, and after."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from allocator.need import Timing
from fleet.ledgers.beds import Bed, Highest, Measured
from fleet.standby import Doing, Hold, PoolSlice, Sleeper
from fleet.workload import Router
from foreslice.standby.pool import LATE_S, Standby
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import fleet, key, running, shape, standing
from tests.builders.standby import outlook, terms

KEY = key("chat")
FLEET = running(fleet(8), standing("chat", "1 x whole"))
BED = Bed(10.0, 10.0)
BARRED_UNTIL_S = 100.0


def pool(name="s", *, is_open=False, **said):
    """A slice with an engine of the workload."""
    sleeper = Sleeper(KEY, f"chat-{name}", "127.0.0.1", is_up=True, is_open=is_open)
    return PoolSlice("serving", name, "1", sleepers=(sleeper,), **said)


def turned(at_s, *pools):
    """The pool, looked at once."""
    keeper = SimpleNamespace(dormitory=SimpleNamespace(slices=lambda _: pools))
    made = Standby(terms(shape("2g.20gb"), level=0.5), keeper, [workload()], lambda _: BED)
    made.turn(at_s, may_act=False)
    return made


def test_engines_that_take_more_than_was_planned_with_are_planned_for_anew_at_once():
    work = np.ones(1440)
    work[np.arange(1440) % 60 < 10] = 1.4
    seen, wanted, here = outlook(offers(router=Router.LEAST_LOADED), work), [], [pool("foreslice-standby-1")]
    dormitory = SimpleNamespace(slices=lambda _: here, objection=lambda _: "", add=lambda *_: None)
    keeper = SimpleNamespace(dormitory=dormitory, turn=lambda _, each, at_s: wanted.append(each) or ())
    made = Standby(terms(shape("2g.20gb")), keeper, [workload(router=Router.LEAST_LOADED)], lambda _: BED)
    for taken in (
        {},
        {KEY: Measured(host=Highest(1, BED.host_gib))},
        {KEY: Measured(host=Highest(1, 600.0))},
    ):
        here[0] = replace(here[0], taken=taken)
        made.turn(0.0, may_act=True)
        made.plan({KEY: need(up=1.0)}, {KEY: seen}, {KEY: Timing()}, FLEET, 0.0)
    made.turn(0.0, may_act=True)
    sleeping = [KEY in each["foreslice-standby-1"].members for each in wanted]
    assert [True, True, True, False] == sleeping


def own(at_s, *pools):
    """Work that has to be carried without the pool."""
    made = turned(at_s, *pools)
    seen = {KEY: outlook(offers(router=Router.LEAST_LOADED))}
    return made.insured({KEY: need(up=2.0, reactive=1.0)}, seen, FLEET, at_s)[KEY].up


@pytest.mark.parametrize(("at_s", "counts"), [(BARRED_UNTIL_S - 1, False), (BARRED_UNTIL_S, True)])
def test_a_slice_insures_again_as_soon_as_its_engine_may_be_woken_again(at_s, counts):
    assert 2.0 > own(at_s, pool())
    assert counts == (own(at_s, pool(barred={KEY: BARRED_UNTIL_S})) == own(at_s, pool()))


@pytest.mark.parametrize(("at_s", "told"), [(BARRED_UNTIL_S - 1, [KEY]), (BARRED_UNTIL_S, [])])
def test_an_engine_is_told_to_be_left_alone_no_longer_than_it_is(at_s, told):
    """Its claim says so until it is next written."""
    [seen] = turned(at_s, pool(barred={KEY: BARRED_UNTIL_S})).view.slices
    assert told == list(seen.barred)


@pytest.mark.parametrize(
    ("since_s", "is_open", "counts"),
    [(LATE_S, False, True), (LATE_S + 1, False, False), (LATE_S + 1, True, True)],
)
def test_while_a_wake_is_late_no_slice_insures_its_workload(since_s, is_open, counts):
    woken = pool("t", is_open=is_open, hold=Hold(KEY, Doing.SERVING, 100.0 - since_s))
    assert counts == (2.0 > own(100.0, pool(), woken))
