"""What becomes of the answers of an API server, good and bad; a real one is under tests/cluster."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from kubernetes.client import ApiClient, Configuration

from fleet.errors import ConflictError, RefusedError, UnavailableError
from simulator.api import DEPLOYMENT, NODE, POD
from simulator.apiserver import ApiServer, address, error_of

SAID = {"kind": "Status", "code": 0, "message": 'pods "web" said so'}


class Answers(BaseHTTPRequestHandler):
    """Answers `/<code>` with that code and a Status, `/html` and `/cut` as a broken server would."""

    def do_GET(self):
        self.server.seen.append((self.path, self.headers))
        code = int(self.path.strip("/").partition("?")[0]) if self.path[1].isdigit() else 200
        body = json.dumps(SAID).encode()
        if self.path.startswith("/html"):
            body = b"<html>502 Bad Gateway</html>"
        if self.path.endswith(("/502", "/500")):
            code = int(self.path[-3:])
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) + (10 if self.path.startswith("/cut") else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        served.seen = []
        thread = Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def connect(port):
    configuration = Configuration(host=f"http://127.0.0.1:{port}", api_key={"BearerToken": "Bearer t0ken"})
    configuration.retries = False
    return ApiServer(ApiClient(configuration))


@pytest.fixture
def server(web):
    connected = connect(web.server_port)
    yield connected
    connected.close()


def test_an_answer_is_raw_json(server):
    assert SAID == server.request("GET", "/200")


def test_queries_and_the_bearer_go_along(server, web):
    server.request("GET", "/200", query={"labelSelector": "a=b,c=d", "watch": "true"})
    ((path, headers),) = web.seen
    assert "/200?labelSelector=a%3Db%2Cc%3Dd&watch=true" == path
    assert ("Bearer t0ken", "application/json") == (headers["Authorization"], headers["Content-Type"])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, RefusedError),
        (401, RefusedError),
        (403, RefusedError),
        (404, ConflictError),
        (409, ConflictError),
        (410, ConflictError),
        (422, RefusedError),
        (429, UnavailableError),
        (500, UnavailableError),
        (503, UnavailableError),
    ],
)
def test_a_failure_says_what_the_caller_can_do_in_the_words_of_the_server(server, code, error):
    with pytest.raises(error, match=f'GET /{code}: pods "web" said so'):
        server.request("GET", f"/{code}")
    with pytest.raises(error, match="said so"):
        server.stream(f"/{code}", {})
    assert isinstance(error_of({**SAID, "code": code}), error)


def test_a_failure_of_something_in_between_is_quoted(server):
    with pytest.raises(UnavailableError, match="502 <html>502 Bad Gateway"):
        server.request("GET", "/html/502")


@pytest.mark.parametrize("path", ["/html", "/cut", "/cut/500"])
def test_an_answer_that_cannot_be_read_is_none(server, path):
    with pytest.raises(UnavailableError, match=f"GET {path}"):
        server.request("GET", path)


def test_nobody_there_is_no_answer():
    with pytest.raises(UnavailableError, match="GET /200"):
        connect(1).request("GET", "/200")


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
