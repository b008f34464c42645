"""A real Prometheus scrapes our endpoint as its settings say who may."""

import json
import socket
import ssl
from contextlib import closing
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Gauge

from foreslice.clock import WallClock
from foreslice.entrance import Entrance
from foreslice.http import StatusServer
from predictor.sources.access import Access
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from tests.cluster.lab import until


@pytest.fixture
def scraped(server_of, certificates, tmp_path):
    """A function that has a Prometheus scrape our endpoint and gives the newest reading of a metric."""

    def scraped(metric, **how):
        registry = CollectorRegistry()
        Gauge("cards", "Cards.", registry=registry).set(7)
        (tmp_path / "token").write_text("open-sesame")
        entrance = Entrance(certificates / "cert.pem", certificates / "key.pem", tmp_path / "token")
        with closing(StatusServer("127.0.0.1", 0, registry, bool, bool, entrance)) as served:
            target = {"static_configs": [{"targets": [f"127.0.0.1:{served.port}"]}], "job_name": "us", **how}
            timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
            url = server_of(config=json.dumps({"global": timing, "scrape_configs": [target]}))
            api = QueryApi(url, Access())
            found = until(
                lambda: api.readings(selector([metric], {}), 60, WallClock().now_s()).series, every_s=0.2
            )
            return found[0][2][-1]

    return scraped


def tls(certificates):
    return {"scheme": "https", "tls_config": {"ca_file": str(certificates / "cert.pem")}}


def test_with_the_token_and_over_tls_it_reads(scraped, certificates):
    assert 7 == scraped("cards", **tls(certificates), authorization={"credentials": "open-sesame"})


@pytest.mark.parametrize("token", [None, {"credentials": "open"}], ids=["none", "another"])
def test_without_the_token_it_does_not(scraped, certificates, token):
    how = tls(certificates) | ({"authorization": token} if token else {})
    assert 0 == scraped("up", **how)


def test_without_tls_it_does_not(scraped):
    assert 0 == scraped("up", authorization={"credentials": "open-sesame"})


def test_a_client_that_says_nothing_keeps_no_other_waiting(certificates):
    entrance = Entrance(certificates / "cert.pem", certificates / "key.pem")
    ours = ssl.create_default_context(cafile=certificates / "cert.pem")
    yes = lambda: True  # noqa: E731
    with (
        closing(StatusServer("127.0.0.1", 0, CollectorRegistry(), yes, yes, entrance)) as served,
        socket.create_connection(("127.0.0.1", served.port)),
        urlopen(f"https://127.0.0.1:{served.port}/healthz", timeout=5, context=ours) as answer,
    ):
        assert b"ok\n" == answer.read()
