"""An HTTP proxy before an API server, for what goes wrong between the two."""

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

import urllib3

HOP_BY_HOP = {"connection", "transfer-encoding", "host", "accept-encoding", "content-length"}


@dataclass
class Fault:
    """What goes wrong with some requests.

    Attributes:
        method: Requests with this method, `WATCH` = watches,
        fragment: and this in their path.
        times: So many of them.
        status: Answered with this, 0 = the connection is cut, `None` = passed on.
        headers: Headers of the answer.
        body: Body of the answer.
        hold: Passed on, or answered, only after this.
        met: Set when one of them has come.
    """

    method: str
    fragment: str
    times: int = 1
    status: int | None = None
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    hold: Event | None = None
    met: Event = field(default_factory=Event)

    def __post_init__(self):
        if self.status is not None and self.status >= 400 and not self.body:
            said = {"kind": "Status", "code": self.status, "message": "the test said so"}
            self.body = json.dumps(said).encode()


class Proxy:
    """Passes requests on, but for the faults that were added to it."""

    def __init__(self, plane):
        (cluster,) = json.loads(plane.kubeconfig.read_text())["clusters"]
        self._lock = Lock()
        self._faults = []
        self.target = plane.url
        self.pool = urllib3.PoolManager(
            ca_certs=cluster["cluster"]["certificate-authority"], retries=False, maxsize=64
        )
        self.asked = []
        self.streams = set()
        self.url = ""

    def add(self, *arguments, **more):
        """Add a fault and return it."""
        fault = Fault(*arguments, **more)
        with self._lock:
            self._faults.append(fault)
        return fault

    def cut_watches(self):
        """End every answer that is still on its way, as a load balancer does."""
        for stream in list(self.streams):
            with suppress(RuntimeError, ValueError, OSError):  # it has ended by itself
                stream.shutdown()

    def fault(self, method, path):
        """Return what is to go wrong with a request, `None` if nothing is."""
        kinds = {method, "WATCH" if "watch=true" in path else method}
        with self._lock:
            self.asked.append((method, path))
            for fault in self._faults:
                if fault.times and fault.method in kinds and fault.fragment in path:
                    fault.times -= 1
                    fault.met.set()
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self):
        proxy = self.server.proxy
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        fault = proxy.fault(self.command, self.path)
        if fault is not None:
            if fault.hold is not None:
                fault.hold.wait()
            if fault.status is not None:
                self._answer(fault.status, fault.headers, [fault.body])
                return
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP}
        answer = proxy.pool.request(
            self.command, proxy.target + self.path, body=body, headers=headers, preload_content=False
        )
        proxy.streams.add(answer)
        try:
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in HOP_BY_HOP}
            self._answer(answer.status, kept, iter(lambda: answer.read1(1 << 16), b""))
        finally:
            proxy.streams.discard(answer)
            answer.close()

    def _answer(self, status, headers, parts):
        self.close_connection = True
        if not status:
            return
        with suppress(OSError, urllib3.exceptions.HTTPError):
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            self.end_headers()
            for part in parts:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  as the base class calls them

    def log_message(self, *_):
        pass


@contextmanager
def proxy_of(plane):
    """Run a proxy before the API server of a control plane."""
    proxy = Proxy(plane)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as served:
        served.daemon_threads, served.block_on_close = True, False
        served.proxy = proxy
        proxy.url = f"http://127.0.0.1:{served.server_port}"
        thread = Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxy
        finally:
            served.shutdown()
            thread.join()
            proxy.pool.clear()


def kubeconfig(path, url, token):
    """Write a kubeconfig for an address and a token, and return its path."""
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(body))
    return path
