"""/metrics for Prometheus, /healthz and /readyz for the kubelet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from fleet.errors import InputError
from foreslice.entrance import Entrance

CLOSES_WITHIN_S = 0.1
"""How often the server looks whether it is to end."""

SHAKES_HANDS_WITHIN_S = 10.0
"""So long a client may take to agree on TLS."""

_TEXT = ("Content-Type", "text/plain")

_OPEN = Entrance()
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 -- the base class names them
        """Probes come every few seconds; they are not worth a line each."""


class _Server(ThreadingMixIn, WSGIServer):
    """One thread a request: a client that says nothing must not keep the kubelet's probes waiting."""

    daemon_threads = True
    block_on_close = False
    entrance = _OPEN

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 -- as the base class
        """Agree on TLS in the request's own thread, then answer."""
        request.settimeout(SHAKES_HANDS_WITHIN_S)
        with self.entrance.wrap(request) as connection:
            connection.settimeout(None)
            super().finish_request(connection, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 -- as the base class
        """Say nothing of clients that speak no TLS or hang up; anything else is a bug."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class StatusServer:
    """Serves the service's state over HTTP until it is closed.

    Args:
        address: Address to listen on.
        port: Port, 0 takes a free one.
        registry: What /metrics shows.
        is_alive: Whether the loop still turns (/healthz).
        is_ready: Whether a first tick has been completed (/readyz).
        entrance: TLS, and who may see metrics; probes answer anyone.

    Raises:
        InputError: The address cannot be listened on, or a file of the entrance cannot be used.
    """

    def __init__(
        self,
        address: str,
        port: int,
        registry: CollectorRegistry,
        is_alive: Callable[[], bool],
        is_ready: Callable[[], bool],
        entrance: Entrance = _OPEN,
    ) -> None:
        entrance.check()
        metrics = make_wsgi_app(registry)
        probes = {"/healthz": is_alive, "/readyz": is_ready}

        def app(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
            path = environ.get("PATH_INFO", "/")
            if path == "/metrics":
                if not entrance.lets_in(environ.get("HTTP_AUTHORIZATION", "")):
                    start_response("401 Unauthorized", [_TEXT, ("WWW-Authenticate", "Bearer")])
                    return [b"needs the bearer token of http.token_file\n"]
                answer: Iterable[bytes] = metrics(environ, start_response)
                return answer
            if path in probes:
                good = probes[path]()
                start_response("200 OK" if good else "503 Service Unavailable", [_TEXT])
                return [b"ok\n" if good else b"not yet\n"]
            start_response("404 Not Found", [_TEXT])
            return [b"/metrics, /healthz, /readyz\n"]

        try:
            self._server = make_server(address, port, app, server_class=_Server, handler_class=_Quiet)
        except OSError as error:
            raise InputError(
                f"cannot listen on {address}:{port} ({error.strerror})",
                where="http",
                fix="set http.address and http.port to something free",
            ) from error
        self._server.entrance = entrance
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
