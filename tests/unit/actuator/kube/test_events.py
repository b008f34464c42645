"""What becomes of notices: Events of leaders, written by nobody that a tick waits for."""

import time
from contextlib import closing
from threading import Event

import pytest

from actuator.kube.events import WAITING, EventRecorder
from actuator.kube.resources import EVENTS
from actuator.notice import Notice
from fleet.errors import UnavailableError
from fleet.workload import WorkloadKey
from tests.fakes.apiserver import FakeServer

WEB = WorkloadKey("shop", "web")
PATH = EVENTS.path("shop")


@pytest.fixture
def server():
    return FakeServer()


def recorder(server, is_leader=True):
    about = {"kind": "Deployment", "namespace": "shop", "name": "web", "uid": "u"}
    return closing(EventRecorder(server, lambda _: about, "foreslice", "me", lambda: is_leader))


def notice(note="a peak ahead", about=WEB):
    return Notice(about, "ScaleUp", note, is_warning=False, at_s=1_700_000_100.0)


def written(server, path=PATH, number=1):
    until_s = time.monotonic() + 5
    while len(server.objects[path]) < number and time.monotonic() < until_s:
        time.sleep(0.005)
    return list(server.objects[path].values())


def test_a_notice_becomes_an_event_of_its_deployment(server):
    with recorder(server) as events:
        events.tell(notice())
        [event] = written(server)
    assert ("ScaleUp", "a peak ahead", "Normal") == (event["reason"], event["note"], event["type"])
    assert "u" == event["regarding"]["uid"]


def test_one_about_the_service_is_about_its_lease(server):
    with recorder(server) as events:
        events.tell(notice(about=None))
        [event] = written(server, EVENTS.path("foreslice"))
    assert ("Lease", "foreslice") == (event["regarding"]["kind"], event["regarding"]["name"])


def test_a_line_that_is_too_long_is_cut(server):
    with recorder(server) as events:
        events.tell(notice("x" * 2000))
        [event] = written(server)
    assert (1024, "...") == (len(event["note"]), event["note"][-3:])


def test_those_that_wait_for_the_lead_say_nothing(server):
    with recorder(server, is_leader=False) as events:
        events.tell(notice())
    assert [] == server.asked


def test_an_event_that_is_refused_takes_no_other_with_it(server):
    server.trouble[PATH] = UnavailableError("no answer")
    with recorder(server) as events:
        events.tell(notice("first"))
        events.tell(notice(about=None))
        assert written(server, EVENTS.path("foreslice"))


class Stuck(FakeServer):
    """Answers no write until it is let go."""

    def __init__(self):
        super().__init__()
        self.go = Event()

    def create(self, path, body):
        self.go.wait()
        return super().create(path, body)


def test_while_nothing_answers_nobody_waits_and_what_is_too_much_is_dropped():
    server = Stuck()
    with recorder(server) as events:
        for nth in range(3 * WAITING):
            events.tell(notice(str(nth)))
        server.go.set()
        written(server, number=WAITING)
    assert WAITING <= len(server.objects[PATH]) <= WAITING + 1
