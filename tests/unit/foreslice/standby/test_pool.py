"""What the pool is worth as insurance while an engine on it is left alone, and after."""

from types import SimpleNamespace

import pytest

from fleet.standby import Doing, Hold, PoolSlice, Sleeper
from fleet.workload import Router
from foreslice.standby.pool import LATE_S, Standby
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import fleet, key, running, shape, standing
from tests.builders.standby import outlook, terms

KEY = key("chat")
FLEET = running(fleet(8), standing("chat", "1 x whole"))
BARRED_UNTIL_S = 100.0


def pool(name="s", *, is_open=False, **said):
    """A slice with an engine of the workload."""
    sleeper = Sleeper(KEY, f"chat-{name}", "127.0.0.1", is_up=True, is_open=is_open)
    return PoolSlice("serving", name, "1", sleepers=(sleeper,), **said)


def turned(at_s, *pools):
    """The pool, looked at once."""
    keeper = SimpleNamespace(dormitory=SimpleNamespace(slices=lambda _: pools))
    made = Standby(terms(shape("2g.20gb"), level=0.5), keeper, [workload()], lambda _: None)
    made.turn(at_s, may_act=False)
    return made


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
