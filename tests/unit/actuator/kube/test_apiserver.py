"""Requests go out as they must, and answers of any kind come back as values or as our errors."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from actuator.kube.apiserver import parsed
from actuator.kube.connect import connect
from actuator.kube.errors import NotFoundError
from fleet.errors import InputError, RefusedError, UnavailableError

BODY = {"metadata": {"name": "web"}}


class Answers(BaseHTTPRequestHandler):
    """Answers `/<code>` with that code and a Status, and notes what it was asked."""

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.server.seen.append((self.command, self.path, self.headers, self.rfile.read(length)))
        code, body = self.server.answers.pop(0) if self.server.answers else (200, json.dumps(BODY).encode())
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        if code == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815  as the base class calls them

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        served.seen, served.answers = [], []
        thread = Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def write(path, url, name="t0ken"):
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": name}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(body))
    return path


@pytest.fixture
def server(web, tmp_path):
    opened = connect(write(tmp_path / "config", f"http://127.0.0.1:{web.server_port}"))
    yield opened
    opened.close()


def status(code, message="said so"):
    return code, json.dumps({"kind": "Status", "code": code, "message": message}).encode()


def test_an_answer_is_raw_json_and_the_token_goes_along(server, web):
    assert BODY == server.request("GET", "/api", query={"limit": 5, "labelSelector": "a=b,c=d"})
    ((method, path, headers, _),) = web.seen
    assert ("GET", "/api?limit=5&labelSelector=a%3Db%2Cc%3Dd") == (method, path)
    assert "Bearer t0ken" == headers["Authorization"]


def test_what_is_created_is_ours(server, web):
    server.create("/api", BODY)
    ((method, path, headers, body),) = web.seen
    assert ("POST", "/api?fieldManager=foreslice", "application/json", BODY) == (
        method,
        path,
        headers["Content-Type"],
        json.loads(body),
    )


@pytest.mark.parametrize("force", [True, False])
def test_fields_are_applied_as_ours_and_by_force_only_where_asked(server, web, force):
    server.apply("/api/web", BODY, force=force)
    ((method, path, headers, body),) = web.seen
    assert ("PATCH", f"/api/web?fieldManager=foreslice&force={str(force).lower()}") == (method, path)
    assert ("application/apply-patch+yaml", BODY) == (headers["Content-Type"], json.loads(body))


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_read_is_tried_three_times(server, web, code):
    web.answers += [status(code)] * 2
    assert BODY == server.request("GET", "/api")
    web.answers += [status(code)] * 3
    with pytest.raises(UnavailableError, match=r"GET /api: said so"):
        server.request("GET", "/api")
    assert 6 == len(web.seen)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_write_is_tried_once(server, web, code):
    web.answers.append(status(code))
    with pytest.raises(UnavailableError, match="PATCH /api/web: said so"):
        server.apply("/api/web", BODY, force=False)
    assert 1 == len(web.seen)


def test_a_refusal_is_not_tried_again(server, web):
    web.answers.append(status(422, "field is immutable"))
    with pytest.raises(RefusedError, match="GET /api: field is immutable"):
        server.request("GET", "/api")
    assert 1 == len(web.seen)


@pytest.mark.parametrize(
    ("code", "body", "kind", "said"),
    [
        (200, b"<html>sign in</html>", UnavailableError, "GET /api: Expecting value"),
        (404, b"404 page not found\n", NotFoundError, "GET /api: 404 404 page not found"),
        (403, b"[]", RefusedError, r"GET /api: 403 \[\]"),
    ],
    ids=["html", "text", "list"],
)
def test_an_answer_that_is_no_object_is_told_as_it_is(server, web, code, body, kind, said):
    web.answers.append((code, body))
    with pytest.raises(kind, match=said):
        server.request("GET", "/api")


def test_values_that_are_said_again_and_again_are_kept_once():
    text = b'[{"a": {"value": "1"}}, {"b": {"value": "1"}}, {"c": {"value": 1}}, {"d": {"value": true}}]'
    first, second, number, truth = parsed(text)
    assert json.loads(text) == [first, second, number, truth]
    assert first["a"] is second["b"]
    assert [int, bool] == [type(number["c"]["value"]), type(truth["d"]["value"])]


@pytest.mark.parametrize(
    "text", [b'{"a": []}', b'{"a": {"b": {}}}', b"{}", b"null", b'{"a": null, "b": 1.5}']
)
def test_anything_is_read_as_json_reads_it(text):
    assert json.loads(text) == parsed(text)


def test_no_answer_at_all_is_unavailable(tmp_path):
    server = connect(write(tmp_path / "config", "http://127.0.0.1:9"))
    with pytest.raises(UnavailableError, match=r"POST /api: .*refused"):
        server.create("/api", BODY)
    server.close()


def test_a_stream_is_read_line_by_line(server, web):
    web.answers.append((200, b'{"type":"ADDED"}\n{"type":"DELETED"}\n'))
    with server.stream("/api", {"watch": "true"}) as stream:
        assert [b'{"type":"ADDED"}\n', b'{"type":"DELETED"}\n'] == list(stream)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(InputError) as said:
        connect(tmp_path / "none")
    assert str(tmp_path / "none") == said.value.where
    assert "name a kubeconfig and context that kubectl can use" == said.value.fix


def test_a_context_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="prod"):
        connect(write(tmp_path / "config", "http://127.0.0.1:9"), "prod")
