"""Whatever a server says instead of an answer: one clear line, and never a number."""

import json
import math
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from fleet.errors import UnavailableError
from predictor.sources.access import Access
from predictor.sources.query import QueryApi

SERIES = {"metric": {"__name__": "up", "pod": "a"}, "values": [[1.5, "2"], [2.5, "NaN"], [3, "+Inf"]]}


@contextmanager
def saying(status, body, content_type="application/json", wait_s=0.0, **headers):
    """A server that gives everybody the same answer; it keeps the bodies of the requests."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.path, self.rfile.read(int(self.headers["Content-Length"])).decode()))
            time.sleep(wait_s)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def whole(*series, **more):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series)}, **more}


def ask(url, **access):
    return QueryApi(url, Access(**access)).readings('{__name__=~"up"}', 300, 60.0)


def read(url):
    answer = ask(url)
    return [
        (labels, times.tolist(), values.tolist()) for labels, times, values in answer.series
    ], answer.is_partial


def line(url, **access):
    """The one line that is said when there is no answer, without the address that it begins with."""
    with pytest.raises(UnavailableError) as error:
        ask(url, **access)
    where, said = str(error.value).split(": ", maxsplit=1)
    assert url == where
    assert "\n" not in said
    return said


def test_raw_readings_are_asked_for_and_answered():
    with saying(200, whole(SERIES)) as (url, asked):
        [(labels, times, values)], is_partial = read(f"{url}/prefix/")
    assert ({"__name__": "up", "pod": "a"}, [1.5, 2.5, 3], 2, False) == (labels, times, values[0], is_partial)
    assert [False, True, True] == [math.isnan(value) for value in values]
    [(path, body)] = asked
    assert "/prefix/api/v1/query" == path
    assert "query=%7B__name__%3D~%22up%22%7D%5B300s%5D&time=60.000" == body


@pytest.mark.parametrize(
    ("is_partial", "more"),
    [
        (False, {}),
        (False, {"warnings": []}),
        (False, {"isPartial": False}),
        (False, {"infos": ["PromQL info: metric might not be a counter"]}),
        (True, {"warnings": ["store 10.0.0.7 is unavailable"]}),
        (True, {"isPartial": True}),
    ],
    ids=str,
)
def test_an_answer_that_may_lack_something_says_so(is_partial, more):
    with saying(200, {**whole(SERIES), **more}) as (url, _):
        [(labels, times, _)], said = read(url)
    assert (SERIES["metric"], [1.5, 2.5, 3], is_partial) == (labels, times, said)


def test_a_label_that_is_called_like_a_warning_is_none():
    odd = {"metric": {"__name__": "up", "warnings": "isPartial"}, "values": []}
    with saying(200, whole(odd)) as (url, _):
        assert ([(odd["metric"], [], [])], False) == read(url)


@pytest.mark.parametrize(
    ("expected", "status", "body", "content_type"),
    [
        ("refuses who we are (HTTP 401); check token_file", 401, b"Unauthorized\n", "text/plain"),
        ("refuses who we are (HTTP 403); check token_file", 403, {"error": "no"}, "application/json"),
        ("is no Prometheus (HTTP 404); give the part of its address", 404, b"not found", "text/plain"),
        ("answers text/html instead of JSON; give", 200, b"<html>Log in</html>", "text/html"),
        ("answers nothing instead of JSON; give", 200, b"", ""),
        (
            "does not answer the query (HTTP 422: too many samples); see",
            422,
            {"status": "error", "errorType": "execution", "error": "too many\nsamples"},
            "application/json",
        ),
        ("does not answer the query (HTTP 503: busy); see", 503, b"busy\n", "text/plain"),
        ("answers JSON that no Prometheus would; give", 200, {"status": "ok"}, "application/json"),
        ("answers JSON that no Prometheus would; give", 200, [1], "application/json"),
        ("answers JSON that no Prometheus would; give", 200, b"{", "application/json"),
        ("answers JSON that no Prometheus would; give", 503, b"{", "application/json"),
        *(
            (
                "answers JSON that no Prometheus would; give",
                200,
                {"data": {"result": result}},
                "application/json",
            )
            for result in (7, [7], [{"metric": {}}], [{**SERIES, "values": [[1, "x"]]}])
        ),
        (
            "answers JSON that no Prometheus would; give",
            200,
            {"data": {"result": 7}, "warnings": ["x"]},
            "application/json",
        ),
        ("answers JSON that no Prometheus would; give", 200, ["warnings"], "application/json"),
    ],
)
def test_what_is_no_answer_is_one_clear_line(expected, status, body, content_type):
    with saying(status, body, content_type) as (url, _):
        assert line(url).startswith(expected)


def test_a_long_complaint_is_cut():
    with saying(500, b"x" * 10_000, "text/plain") as (url, _):
        assert 300 > len(line(url))


def test_being_sent_on_is_told_and_not_followed():
    with saying(302, b"", "text/html", Location="https://login.example/") as (url, asked):
        said = line(url)
    assert said.startswith("sends us on (HTTP 302); give the address that it means: https://login.example/")
    assert 1 == len(asked)


def test_a_server_that_takes_too_long_is_given_up():
    with saying(200, whole(), wait_s=0.5) as (url, asked):
        assert line(url, timeout_s=0.1).startswith("has not answered within 0.1 s; ")
    assert 1 == len(asked), "asked once: the next tick asks again"


def test_nobody_there():
    with saying(200, whole()) as (url, _):
        pass
    assert line(url).startswith("cannot be reached (Connection refused); check the address")


def test_tls_with_somebody_who_does_not_speak_it():
    with saying(200, whole()) as (url, _):
        said = line(url.replace("http:", "https:"))
    assert said.startswith("does not speak TLS as we do (")
    assert said.endswith("check https and the port")
