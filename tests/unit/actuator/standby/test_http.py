"""The endpoints of engines over HTTP: what they say is read strictly, and what they do not say is silence."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from actuator.standby.engines import sleeping_engines
from actuator.standby.http import HttpDoors
from fleet.errors import RefusedError
from fleet.standby import EngineState, Sleeper
from fleet.workload import WorkloadKey

ANT = Sleeper(WorkloadKey("shop", "ant"), "ant-s", "127.0.0.1", is_up=True, is_open=False)


class Engine:
    """A server that answers what it is told to, and notes what it was asked."""

    def __init__(self):
        self.answers = {"/is_sleeping": (200, '{"is_sleeping": true}')}
        self.asked = []
        self.heard = threading.Event()
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                engine.answer(self)

            def do_POST(self):
                engine.answer(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request):
        self.asked.append((request.command, request.path, request.headers.get("Authorization")))
        status, body = self.answers.get(request.path, (200, ""))
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body.encode())
        if request.command == "POST":
            self.heard.set()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def engine():
    made = Engine()
    yield made
    made.close()


@pytest.fixture
def doors(engine):
    made = HttpDoors(sleeping_engines()["vllm"], lambda _: engine.url, token=lambda: "secret")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("expected", "status", "body"),
    [
        (EngineState.ASLEEP, 200, {"is_sleeping": True}),
        (EngineState.AWAKE, 200, {"is_sleeping": False}),
        (EngineState.SILENT, 200, {"is_sleeping": "false"}),
        (EngineState.SILENT, 200, {}),
        (EngineState.SILENT, 200, []),
        (EngineState.SILENT, 404, {"is_sleeping": False}),
        (EngineState.SILENT, 500, {"is_sleeping": True}),
    ],
)
def test_an_engine_is_what_it_plainly_says_and_else_silent(engine, doors, expected, status, body):
    engine.answers["/is_sleeping"] = (status, json.dumps(body))
    assert expected == doors.state(ANT)


@pytest.mark.parametrize(
    ("expected", "metrics"),
    [
        (True, 'vllm:num_requests_running{m="a"} 0.0\nvllm:num_requests_waiting{m="a"} 0.0\n'),
        (False, 'vllm:num_requests_running{m="a"} 2.0\nvllm:num_requests_waiting{m="a"} 0.0\n'),
        (False, 'vllm:num_requests_running{m="a"} 0.0\nvllm:num_requests_waiting{m="a"} 1.0\n'),
        (False, "vllm:num_requests_waiting_by_reason 0.0\n"),
        (False, ""),
    ],
)
def test_an_engine_is_idle_only_if_its_own_gauges_say_so(engine, doors, expected, metrics):
    engine.answers["/metrics"] = (200, metrics)
    assert expected is doors.is_idle(ANT)


@pytest.mark.parametrize(
    ("expected", "verb"), [(("POST", "/sleep?level=1"), "sleep"), (("POST", "/wake_up"), "wake")]
)
def test_an_engine_is_told_with_the_token(engine, doors, expected, verb):
    getattr(doors, verb)(ANT)
    assert engine.heard.wait(5)
    assert [(*expected, "Bearer secret")] == engine.asked


def test_who_is_not_let_tells_nothing(engine):
    def refuse():
        raise RefusedError("another leads")

    doors = HttpDoors(sleeping_engines()["vllm"], lambda _: engine.url, refuse)
    with pytest.raises(RefusedError):
        doors.wake(ANT)
    doors.close()
    assert [] == engine.asked


def test_where_nobody_listens_there_is_silence(doors):
    gone = HttpDoors(sleeping_engines()["vllm"], lambda _: "http://127.0.0.1:9")
    nowhere = HttpDoors(sleeping_engines()["vllm"], lambda _: "")
    assert [EngineState.SILENT] * 2 == [gone.state(ANT), nowhere.state(ANT)]
    nowhere.wake(ANT)
    gone.close()
    nowhere.close()
