"""A real API server as agents see it: who listens misses nothing. Real ones are under tests/cluster."""

import time
from contextlib import closing

import pytest

from actuator.kube.errors import ExpiredError
from fleet.errors import RefusedError
from simulator.api import CLAIM_TEMPLATE, DEPLOYMENT, NODE, POD, Change
from simulator.eventloop import EventLoop
from simulator.rest import RestApi, address
from tests.fakes.apiserver import FakeServer

WITHIN_S = 5
PATH = address(CLAIM_TEMPLATE)


def template(name, **metadata):
    return {"metadata": {"namespace": "shop", "name": name, **metadata}}


@pytest.fixture
def server():
    made = FakeServer()
    made.put(PATH, template("a"))
    return made


class Hearing:
    """A listener, and the loop that delivers to it."""

    def __init__(self, server):
        self._server = server
        self.loop = EventLoop()
        self.api = RestApi(server, self.loop)
        self.heard = []
        self.bodies = []
        self._wanted = 0

    def listen(self):
        """Listen, and return once the watch is open: the fake tells a watch nothing of before."""
        self.api.watch(CLAIM_TEMPLATE, self._on_event)
        deadline_s = time.monotonic() + WITHIN_S
        while not self._server.streams[PATH]:
            assert time.monotonic() < deadline_s
            time.sleep(0.005)

    def until(self, count):
        """Deliver until so much was heard, and return it."""
        self._wanted = count
        self.loop.after(WITHIN_S, self.loop.stop)
        self.loop.run()
        return self.heard

    def _on_event(self, event):
        self.heard.append((event.change, event.body["metadata"]["name"]))
        self.bodies.append(event.body)
        if len(self.heard) == self._wanted:
            self.loop.stop()


@pytest.fixture
def hearing(server):
    made = Hearing(server)
    with closing(made.api):
        yield made


def test_what_is_listed_comes_first_then_what_is_watched(server, hearing):
    hearing.listen()
    server.put(PATH, template("a"))
    server.put(PATH, template("b"))
    assert [(Change.ADDED, "a"), (Change.MODIFIED, "a"), (Change.ADDED, "b")] == hearing.until(3)
    assert [("resource.k8s.io/v1", "ResourceClaimTemplate")] * 3 == [
        (body["apiVersion"], body["kind"]) for body in hearing.bodies
    ]


def test_an_end_is_told(server, hearing):
    hearing.listen()
    (held,) = server.objects[PATH].values()
    server.streams[PATH][-1].say("DELETED", held)
    assert [(Change.ADDED, "a"), (Change.DELETED, "a")] == hearing.until(2)


def test_what_was_missed_is_told_as_the_difference(server, hearing):
    for name in ("gone", "same"):
        server.put(PATH, template(name))

    def miss():
        """Let a watch be told 410 after changes that it never told."""
        del server.objects[PATH]["gone"]
        server.trouble[PATH] = [ExpiredError("too old")]
        stream = server.streams[PATH].pop()
        for name in ("a", "new"):
            server.put(PATH, template(name))
        stream.say("ERROR", {"kind": "Status", "code": 410, "message": "too old"})

    hearing.listen()
    hearing.loop.after(0, miss)
    heard = hearing.until(6)
    assert {(Change.ADDED, name) for name in ("a", "gone", "same")} == set(heard[:3])
    assert {(Change.DELETED, "gone"), (Change.MODIFIED, "a"), (Change.ADDED, "new")} == set(heard[3:])


def test_who_comes_later_hears_of_what_is_known_as_added_on_the_same_watch(server, hearing):
    hearing.listen()
    hearing.listen()
    assert [(Change.ADDED, "a")] * 2 == hearing.until(2)
    assert 1 == len(server.streams[PATH])


def test_a_delete_can_be_for_one_object_and_none_of_its_name(hearing):
    class Noting(FakeServer):
        def request(self, method, path, body=None, query=None, content_type=""):
            self.asked.append((method, path, body))

    server = Noting()
    api = RestApi(server, hearing.loop)
    api.delete(POD, "shop", "web-0", uid="u-1", grace_s=0)
    api.delete(NODE, None, "n0")
    pod = {"gracePeriodSeconds": 0, "preconditions": {"uid": "u-1"}}
    assert [
        ("DELETE", "/api/v1/namespaces/shop/pods/web-0", pod),
        ("DELETE", "/api/v1/nodes/n0", {}),
    ] == server.asked


def test_a_write_without_a_version_is_refused(hearing):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}
    for write in (hearing.api.replace, hearing.api.replace_status):
        with pytest.raises(RefusedError, match="a write to /api/v1/nodes/n0 must carry its resourceVersion"):
            write(body)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/api/v1/nodes", (NODE,)),
        ("/api/v1/nodes/n0", (NODE, None, "n0")),
        ("/api/v1/pods", (POD,)),
        ("/apis/apps/v1/namespaces/shop/deployments", (DEPLOYMENT, "shop")),
        ("/apis/apps/v1/namespaces/shop/deployments/web", (DEPLOYMENT, "shop", "web")),
    ],
)
def test_objects_have_addresses(path, asked):
    assert path == address(*asked)


def test_an_empty_name_is_not_the_address_of_all():
    with pytest.raises(RefusedError, match="a Pod without a name"):
        address(POD, "shop", "")
