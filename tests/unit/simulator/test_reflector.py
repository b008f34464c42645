"""Watches that break: nobody who listens misses a change. Real ones are under tests/cluster."""

import json
from contextlib import closing
from threading import Event as Flag
from threading import Thread

import pytest

from fleet.errors import ConflictError, RefusedError, UnavailableError
from simulator.api import CLAIM_TEMPLATE, Change
from simulator.eventloop import EventLoop
from simulator.reflector import Reflector

WITHIN_S = 5


def template(name, version):
    metadata = {"namespace": "shop", "name": name, "resourceVersion": str(version)}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": metadata}


def event(change, body):
    return {"type": change, "object": body}


class Stream:
    """An answer of some lines that then stays open until somebody ends it."""

    def __init__(self, lines, *, stays_open):
        self._lines = lines
        self._ended = Flag()
        if not stays_open:
            self._ended.set()

    def __iter__(self):
        yield from (json.dumps(line).encode() for line in self._lines)
        self._ended.wait(WITHIN_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def shutdown(self):
        self._ended.set()


class Server:
    """An API server that answers by a script: pairs of a list, or an error, and the lines that follow it."""

    def __init__(self, *script):
        self._script = list(script)
        self._lines = None
        self.asked = []
        self.may_answer = Flag()

    def request(self, method, path):
        self.may_answer.wait(WITHIN_S)
        listed, self._lines = self._script.pop(0)
        if isinstance(listed, Exception):
            raise listed
        return {"metadata": {"resourceVersion": "100"}, "items": [without_kind(body) for body in listed]}

    def stream(self, path, query):
        self.asked.append(query["resourceVersion"])
        return Stream(self._lines, stays_open=not self._script)


def without_kind(body):
    return {"metadata": body["metadata"]}


@pytest.fixture
def heard():
    """What a listener hears of a server, the first `count` events."""
    loop = EventLoop()

    def listen(server, count):
        seen = []

        def on_event(said):
            seen.append((said.change, said.body["metadata"]["name"], said.body["kind"]))
            if len(seen) == count:
                loop.stop()

        with closing(Reflector(server, CLAIM_TEMPLATE, loop)) as reflector:
            reflector.subscribe(on_event)
            server.may_answer.set()
            loop.after(WITHIN_S, loop.stop)
            loop.run()
        return [(change, name) for change, name, kind in seen if kind == CLAIM_TEMPLATE.name]

    return listen


def test_what_is_listed_comes_first_then_what_is_watched_from_there(heard):
    server = Server(
        ([template("a", 1)], [event("MODIFIED", template("a", 101)), event("ADDED", template("b", 102))])
    )
    assert [(Change.ADDED, "a"), (Change.MODIFIED, "a"), (Change.ADDED, "b")] == heard(server, 3)
    assert ["100"] == server.asked


def test_bookmarks_are_no_changes(heard):
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "150"}}}
    server = Server(([], [bookmark, event("ADDED", template("a", 151))]))
    assert [(Change.ADDED, "a")] == heard(server, 1)


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}}


@pytest.mark.parametrize(
    "breaks",
    [
        pytest.param(([], [GONE]), id="410"),
        pytest.param(([], []), id="the server ends the watch"),
        pytest.param((UnavailableError("no answer"), None), id="no answer"),
        pytest.param((ConflictError("the kind is not served yet"), None), id="not served yet"),
    ],
)
def test_a_watch_that_breaks_is_begun_again(heard, breaks):
    assert [(Change.ADDED, "a")] == heard(Server(breaks, ([template("a", 1)], [])), 1)


def test_what_was_missed_is_told_as_the_difference(heard):
    before = [template(name, 1) for name in ("gone", "same", "changed")]
    after = [template("same", 1), template("changed", 2), template("new", 3)]
    seen = heard(Server((before, [GONE]), (after, [])), 6)
    assert [(Change.ADDED, name) for name in ("gone", "same", "changed")] == seen[:3]
    assert {(Change.DELETED, "gone"), (Change.MODIFIED, "changed"), (Change.ADDED, "new")} == set(seen[3:])


def test_who_comes_later_hears_of_what_is_known_as_added(heard):
    loop, server, late = EventLoop(), Server(([template("a", 1)], [])), []

    def join(_):
        reflector.subscribe(lambda said: (late.append(said), loop.stop()))

    with closing(Reflector(server, CLAIM_TEMPLATE, loop)) as reflector:
        reflector.subscribe(join)
        server.may_answer.set()
        loop.run()
    assert [Change.ADDED] == [said.change for said in late]


def test_who_may_not_watch_is_told_so_on_the_clocks_thread():
    loop, server = EventLoop(), Server((RefusedError("may not"), None))
    server.may_answer.set()
    with closing(Reflector(server, CLAIM_TEMPLATE, loop)), pytest.raises(RefusedError, match="may not"):
        loop.run()


def test_closing_ends_a_watch_that_has_nothing_to_say():
    server = Server(([], []))
    server.may_answer.set()
    reflector = Reflector(server, CLAIM_TEMPLATE, EventLoop())
    caller = Thread(target=reflector.close)
    caller.start()
    caller.join(1)
    assert not caller.is_alive()
