"""An API server and a Prometheus on loopback, as far as commands that look once ask them."""

import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from predictor.sources.promql import selector

POLL_S = 0.01


def kubeconfig(path, url):
    """Write a kubeconfig for an API server and return its path."""
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(body))
    return path


class Doors:
    """What both answer.

    Attributes:
        lists: Objects by the path of their list; a path that is not there is a kind that is not known.
        refused: Paths that may not be listed.
        series: Labels of series, each of which was read a moment ago as 1.
        asked: Method and path of every request.
        url: Address of both.
    """

    def __init__(self):
        self.lists = {}
        self.refused = set()
        self.series = []
        self.asked = []
        self.url = ""

    def kubeconfig(self, path):
        """Write a kubeconfig for the API server and return its path."""
        return kubeconfig(path, self.url)

    def answer(self, method, path, body):
        """Return status and document."""
        self.asked.append((method, path))
        if path == "/api/v1/query":
            return 200, self._readings(parse_qs(body)["query"][0])
        if path in self.refused:
            what = path.rpartition("/")[2]
            said = f'{what} is forbidden: User "u" cannot list resource "{what}" in API group ""'
            return 403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": said}
        if path not in self.lists:
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
        return 200, {"items": self.lists[path], "metadata": {"resourceVersion": "1"}}

    def _readings(self, query):
        now_s = time.time() - 5  # noqa: TID251 -- as the server's clock
        found = [
            {"metric": labels, "values": [[now_s, "1"]]} for labels in self.series if _is_asked(labels, query)
        ]
        return {"status": "success", "data": {"resultType": "matrix", "result": found}}


def _is_asked(labels, query):
    """Whether a selector of ours, which lists names and values, asks for a series."""
    matchers = query.partition("{")[2].rpartition("}")[0]
    wanted = [one.partition("=~") for one in _split(matchers)]
    return all(_among(labels.get(label, ""), values) for label, _, values in wanted)


def _split(matchers):
    """Split at commas outside of quotes."""
    parts, quoted, begin = [], False, 0
    for at, character in enumerate(matchers):
        if character == '"' and matchers[at - 1] != "\\":
            quoted = not quoted
        if character == "," and not quoted:
            parts.append(matchers[begin:at])
            begin = at + 1
    return [*parts, matchers[begin:]]


def _among(value, quoted):
    """Whether our own way of writing this one value is among those that are asked for."""
    written = selector([value], {}).partition("=~")[2].rpartition("}")[0].strip('"')
    return written in quoted.strip('"').split("|")


@contextmanager
def doors():
    """Serve both for as long as the block lasts."""
    made = Doors()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, document = made.answer(self.command, urlsplit(self.path).path, body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 -- as the base class calls it

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(POLL_S,), daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made
        server.shutdown()
