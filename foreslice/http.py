"""/metrics for Prometheus, /healthz and /readyz for the kubelet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from fleet.errors import InputError

CLOSES_WITHIN_S = 0.1
"""How often the server looks whether it is to end."""

StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 -- the base class names them
        """Probes come every few seconds; they are not worth a line each."""


class _Server(ThreadingMixIn, WSGIServer):
    """One thread a request: a client that says nothing must not keep the kubelet's probes waiting."""

    daemon_threads = True
    block_on_close = False


class StatusServer:
    """Serves the service's state over HTTP until it is closed.

    Args:
        address: Address to listen on.
        port: Port, 0 takes a free one.
        registry: What /metrics shows.
        is_alive: Whether the loop still turns (/healthz).
        is_ready: Whether a first tick has been completed (/readyz).

    Raises:
        InputError: The address cannot be listened on.
    """

    def __init__(
        self,
        address: str,
        port: int,
        registry: CollectorRegistry,
        is_alive: Callable[[], bool],
        is_ready: Callable[[], bool],
    ) -> None:
        metrics = make_wsgi_app(registry)
        probes = {"/healthz": is_alive, "/readyz": is_ready}

        def app(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
            path = environ.get("PATH_INFO", "/")
            if path == "/metrics":
                answer: Iterable[bytes] = metrics(environ, start_response)
                return answer
            if path in probes:
                good = probes[path]()
                start_response(
                    "200 OK" if good else "503 Service Unavailable", [("Content-Type", "text/plain")]
                )
                return [b"ok\n" if good else b"not yet\n"]
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"/metrics, /healthz, /readyz\n"]

        try:
            self._server = make_server(address, port, app, server_class=_Server, handler_class=_Quiet)
        except OSError as error:
            raise InputError(
                f"cannot listen on {address}:{port} ({error.strerror})",
                where="http",
                fix="set http.address and http.port to something free",
            ) from error
        self._thread = Thread(target=self._server.serve_forever, args=(CLOSES_WITHIN_S,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Port that is listened on."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
