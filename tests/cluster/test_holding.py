"""Room that is held is released by a person, by the watchdog and with its workload, on a real API server."""

from contextlib import closing

import pytest

from actuator.kube.resources import TAINT_RULES
from fleet.errors import InputError
from fleet.holds import Hold
from fleet.workload import WorkloadKey
from foreslice.clock import WallClock
from foreslice.leave import run_restore, run_watchdog
from foreslice.release import released, run_release
from tests.cluster import test_leaving
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.permissions import as_service_account, bind, documents, granted, install, unbind
from tests.cluster.test_leaving import answer
from tests.contract.test_cluster_contract import WEB
from tests.contract.test_holds_contract import free_card, release_all

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
lease = test_leaving.lease
settings = test_leaving.settings

GONE = WorkloadKey("shop", "gone")
HOUR_S = 3600.0


@pytest.fixture
def cluster(shop):
    with shop.open(holds=True) as opened:
        yield opened
        release_all(opened)


@pytest.fixture
def held(cluster):
    """A device held for `web`, and one for a workload that is in no settings and whose time is up."""
    now_s = WallClock().now_s()
    first, second = free_card(cluster)[:2]
    cluster.hold(Hold(first, WEB, "a replica on 3g.40gb", now_s + HOUR_S))
    cluster.hold(Hold(second, GONE, "a replica on 3g.40gb", now_s - HOUR_S))
    return first[1], second[1]


def left(shop):
    """What the API server still has."""
    rules = shop.server.request("GET", TAINT_RULES.path())["items"]
    return {rule["spec"]["deviceSelector"]["device"] for rule in rules}


def test_what_is_held_is_said_first_and_released_when_asked_to(shop, settings, held, capsys):
    run_release(settings, [], every=True, is_dry=True, as_json=True)
    told = {hold["device"]: (hold["owner"], hold["purpose"]) for hold in answer(capsys)["held"]}
    assert {
        held[0]: ("shop/web", "a replica on 3g.40gb"),
        held[1]: ("shop/gone", "a replica on 3g.40gb"),
    } == told
    assert set(held) == left(shop)

    run_release(settings, ["shop/gone"], every=False, is_dry=False, as_json=True)
    assert [held[1]] == [hold["device"] for hold in answer(capsys)["released"]]
    assert {held[0]} == left(shop)

    run_release(settings, [], every=True, is_dry=False, as_json=False)
    assert f"shop/web holds {held[0]} of shop-n" in capsys.readouterr().out
    assert set() == left(shop)
    run_release(settings, [], every=True, is_dry=False, as_json=False)
    assert "nothing is held" in capsys.readouterr().out


def test_names_that_are_none_and_no_names_are_refused(settings):
    for names, every in (([], False), (["shop/web"], True), (["web"], False)):
        with pytest.raises(InputError):
            run_release(settings, names, every=every, is_dry=True, as_json=False)


def test_the_watchdog_ends_what_has_expired_and_all_where_nobody_leads(shop, settings, held, lease, capsys):
    lease(5)
    run_watchdog(settings, after="10m", as_json=True)
    assert [held[1]] == [hold["device"] for hold in answer(capsys)["released"]]
    assert {held[0]} == left(shop)

    run_watchdog(settings, after="1s", as_json=True)
    assert [held[0]] == [hold["device"] for hold in answer(capsys)["released"]]
    assert set() == left(shop)


def test_a_workload_that_is_given_back_holds_nothing(shop, settings, held, capsys):
    run_restore(settings, ["shop/web"], every=False, wait="1m", as_json=True)
    assert [held[0]] == [hold["device"] for hold in answer(capsys)["released"]]
    assert {held[1]} == left(shop)


@pytest.fixture
def ours(plane, shop):
    """The API server as our service account sees it, with the rights to observe and to hold."""
    for name in ("observe", "act", "watchdog", "hold"):
        install(shop.server, name)
    bind(shop.server, "foreslice-observe-workloads")
    with closing(as_service_account(plane, shop.server)) as server:
        yield server
    unbind(shop.server, "foreslice-observe-workloads")


def of_rules(server):
    return {each for each in server.asked if each[2] == TAINT_RULES.plural}


def test_holding_asks_for_all_that_is_granted_and_nothing_else(shop, ours, cluster):
    with shop.cluster(server=ours, holds=True) as opened:
        opened.hold(Hold(free_card(cluster)[0], WEB, "a test", WallClock().now_s() + HOUR_S))
        release_all(opened)
        until(lambda: granted("hold") == of_rules(ours))


def test_who_ends_holds_asks_for_all_that_is_granted_for_it_and_nothing_else(ours, held):
    assert set(held) == {hold.device[1] for hold in released(ours, lambda _: True, is_sure=True)}
    [rule] = next(b for b in documents("hold") if b["metadata"]["name"] == "foreslice-release")["rules"]
    assert {(verb, "resource.k8s.io", TAINT_RULES.plural) for verb in rule["verbs"]} == of_rules(ours)
