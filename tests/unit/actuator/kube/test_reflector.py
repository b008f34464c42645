"""A watch that lists, follows, and starts anew."""

import time
from contextlib import closing

import pytest

from actuator.kube.errors import ExpiredError, NotFoundError
from actuator.kube.mirror import Mirror, Scope
from actuator.kube.reflector import Reflector
from actuator.kube.resources import PLANS, PODS
from fleet.errors import RefusedError, UnavailableError
from tests.fakes.apiserver import FakeServer

SHOP = Scope(PODS, "shop")
FORBIDDEN = "may not list pods in namespace shop"


def pod(name):
    return {"metadata": {"namespace": "shop", "name": name}}


def until(probe, within_s=3.0):
    deadline_s = time.monotonic() + within_s
    while not probe():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


@pytest.fixture
def server():
    made = FakeServer()
    made.put(SHOP.path, pod("a"))
    return made


@pytest.fixture
def mirror():
    return Mirror()


@pytest.fixture
def reflector(server, mirror):
    with closing(Reflector(server, SHOP, mirror)) as running:
        until(lambda: server.streams[SHOP.path])
        yield running


def names(mirror, scope=SHOP):
    return sorted(body["metadata"]["name"] for body in mirror.list(scope))


def test_what_is_there_comes_first_then_every_change(server, mirror, reflector):
    assert (["a"], True) == (names(mirror), reflector.is_listed(1))
    b = server.put(SHOP.path, pod("b"))
    until(lambda: names(mirror) == ["a", "b"])
    server.streams[SHOP.path][-1].say("DELETED", b)
    until(lambda: names(mirror) == ["a"])


def test_a_watch_that_ends_is_taken_up_where_it_was(server, mirror, reflector):
    server.streams[SHOP.path][-1].shutdown()
    until(lambda: len(server.streams[SHOP.path]) == 2)
    server.put(SHOP.path, pod("b"))
    until(lambda: names(mirror) == ["a", "b"])
    assert 1 == server.asked.count(("GET", SHOP.path))


def test_a_version_that_is_no_longer_kept_is_listed_anew(server, mirror, reflector):
    del server.objects[SHOP.path]["a"]
    server.version += 1
    server.streams[SHOP.path][-1].say("ERROR", {"code": 410, "message": "too old resource version"})
    until(lambda: names(mirror) == [])
    assert 2 == server.asked.count(("GET", SHOP.path))


def test_a_watch_that_is_refused_with_410_is_listed_anew(server, mirror, reflector):
    server.trouble[SHOP.path] = [ExpiredError("too old")]
    server.streams[SHOP.path][-1].shutdown()
    until(lambda: len(server.streams[SHOP.path]) == 2)
    server.put(SHOP.path, pod("b"))
    until(lambda: names(mirror) == ["a", "b"])


def test_bookmarks_and_silence_change_nothing(server, mirror, reflector):
    before = mirror.version
    server.streams[SHOP.path][-1].say("BOOKMARK", {"metadata": {"resourceVersion": "999"}})
    server.streams[SHOP.path][-1].shutdown()
    until(lambda: len(server.streams[SHOP.path]) == 2)
    assert before == mirror.version


@pytest.mark.parametrize("error", [UnavailableError("no answer"), RefusedError(FORBIDDEN)])
def test_trouble_is_kept_for_whoever_asks(server, mirror, error):
    server.trouble[SHOP.path] = error
    with closing(Reflector(server, SHOP, mirror)) as running:
        assert (False, None, str(error)) == (running.is_listed(3), running.age_s(), running.trouble)


def test_trouble_passes(server, mirror):
    server.trouble[SHOP.path] = UnavailableError("no answer")
    with closing(Reflector(server, SHOP, mirror)) as running:
        running.is_listed(3)
        server.trouble.clear()
        until(lambda: running.is_listed(0) and not running.trouble)
        assert ["a"] == names(mirror)


def test_its_age_grows_from_what_was_heard_last(server, reflector):
    first_s = reflector.age_s()
    until(lambda: reflector.age_s() >= first_s + 0.05)
    server.put(SHOP.path, pod("b"))
    until(lambda: reflector.age_s() < 0.05)


def test_an_event_that_is_not_known_is_trouble(server, reflector):
    server.streams[SHOP.path][-1].say("SPLIT", pod("b"))
    until(lambda: "unknown event SPLIT" in reflector.trouble)


def test_without_the_definition_of_plans_there_are_none(server, mirror):
    scope = Scope(PLANS, "shop")
    mirror.take(scope, server.put(scope.path, pod("kept")))
    server.trouble[scope.path] = NotFoundError("404 page not found")
    with closing(Reflector(server, scope, mirror)) as running:
        assert (True, []) == (running.is_listed(3), names(mirror, scope))
        assert running.age_s() is not None


@pytest.mark.parametrize("error", [RuntimeError, ValueError, OSError])
def test_a_watch_that_ends_by_itself_while_it_is_closed_is_closed(server, mirror, error):
    reflector = Reflector(server, SHOP, mirror)
    until(lambda: server.streams[SHOP.path])
    (stream,) = server.streams[SHOP.path]
    end = stream.shutdown

    def end_and_fail():
        end()
        raise error

    stream.shutdown = end_and_fail
    reflector.close()
