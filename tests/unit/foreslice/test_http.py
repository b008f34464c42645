"""What probes and Prometheus get."""

import socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client import CollectorRegistry, Gauge

from fleet.errors import InputError
from foreslice.entrance import Entrance
from foreslice.http import StatusServer


@pytest.fixture
def serve():
    """Start a server on a free port; every one is closed at the end."""
    servers = []

    def serve(is_alive=True, is_ready=True, registry=None, **entrance):
        server = StatusServer(
            "127.0.0.1",
            0,
            registry or CollectorRegistry(),
            lambda: is_alive,
            lambda: is_ready,
            Entrance(**entrance),
        )
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.close()


def get(server, path, **headers):
    try:
        asked = Request(f"http://127.0.0.1:{server.port}{path}", headers=headers)
        with urlopen(asked, timeout=5) as answer:  # noqa: S310  our own
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_alive_and_ready_are_answered_each_for_itself(serve):
    server = serve(is_alive=True, is_ready=False)

    assert (200, "ok\n") == get(server, "/healthz")
    assert (503, "not yet\n") == get(server, "/readyz")


def test_a_loop_that_stands_still_is_not_alive(serve):
    assert 503 == get(serve(is_alive=False), "/healthz")[0]


def test_metrics_are_those_of_the_registry(serve):
    registry = CollectorRegistry()
    Gauge("cards", "Cards.", registry=registry).set(7)

    status, text = get(serve(registry=registry), "/metrics")

    assert 200 == status
    assert "cards 7.0\n" in text


def test_another_path_says_what_there_is(serve):
    assert (404, "/metrics, /healthz, /readyz\n") == get(serve(), "/")


def test_a_client_that_says_nothing_keeps_no_probe_waiting(serve):
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port)):
        assert 200 == get(server, "/healthz")[0]


def test_a_port_in_use_is_one_clear_line(serve):
    port = serve().port
    with pytest.raises(InputError) as refused:
        StatusServer("127.0.0.1", port, CollectorRegistry(), lambda: True, lambda: True)

    assert (
        f"http: cannot listen on 127.0.0.1:{port} (Address already in use);"
        " set http.address and http.port to something free"
    ) == str(refused.value)


def test_an_address_that_is_not_ours_is_one_clear_line():
    with pytest.raises(InputError, match=r"^http: cannot listen on 203\.0\.113\.1:0 \("):
        StatusServer("203.0.113.1", 0, CollectorRegistry(), lambda: True, lambda: True)


def test_a_closed_server_frees_its_port_and_ends_its_thread(serve):
    server = StatusServer("127.0.0.1", 0, CollectorRegistry(), lambda: True, lambda: True)
    port = server.port
    server.close()

    StatusServer("127.0.0.1", port, CollectorRegistry(), lambda: True, lambda: True).close()


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("open-sesame\n")
    return path


def test_metrics_take_the_token_and_probes_take_none(serve, token_file):
    server = serve(token_file=token_file)

    assert 200 == get(server, "/metrics", Authorization="Bearer open-sesame")[0]
    assert (401, "needs the bearer token of http.token_file\n") == get(server, "/metrics")
    assert 401 == get(server, "/metrics", Authorization="Bearer open-sesam")[0]
    assert 401 == get(server, "/metrics", Authorization="Bearer \xff")[0]
    assert 200 == get(server, "/healthz")[0]


def test_a_token_that_is_replaced_counts_at_once_and_one_that_has_gone_lets_nobody_in(serve, token_file):
    server = serve(token_file=token_file)
    token_file.write_text("other")
    assert 401 == get(server, "/metrics", Authorization="Bearer open-sesame")[0]
    assert 200 == get(server, "/metrics", Authorization="Bearer other")[0]
    token_file.unlink()
    assert 401 == get(server, "/metrics", Authorization="Bearer other")[0]


@pytest.mark.parametrize("kind", ["token_file", "cert_file"])
def test_files_that_cannot_be_used_are_one_line_at_the_start(serve, tmp_path, kind):
    with pytest.raises(InputError, match=rf"^{tmp_path}/none: cannot be"):
        serve(**{kind: tmp_path / "none"})
