"""Engines that Prometheus scrapes for real, twice a second: restarts, ends, replicas, answers in part."""

import json
import time
from contextlib import contextmanager

import numpy as np
import pytest

from fleet.sample import Reason, Unknown, Value
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from foreslice.clock import WallClock
from predictor.sources.access import Access
from predictor.sources.prometheus import PrometheusSource
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from simulator.series import exposition
from tests.builders.engines import constant, engines
from tests.ports import free_port
from tests.prometheus.server import POLL_S, serving

SCRAPED_WITHIN_S = 30
PAGE = "test_page"
LLAMA = WorkloadKey("prod", "llama")
MATCHES = {LLAMA: {"namespace": "prod", "model_name": "llama"}}
CLOCK = WallClock()


class Exporter:
    """Serves one page after the other; each says its number, so that one can wait until it was scraped."""

    def __init__(self):
        self._number = 0
        self._text = ""

    def show(self, text, *apis):
        """Serve this text from now on, and wait until all these Prometheus have scraped it."""
        self._number += 1
        self._text = f"{text}{PAGE} {self._number}\n"
        for api in apis:
            self.wait(api)

    def wait(self, api, pods=1):
        """Wait until a Prometheus has scraped the present page from every pod."""
        deadline_s = time.monotonic() + SCRAPED_WITHIN_S
        while len(newest := _newest(api)) < pods or min(newest) < self._number:
            assert time.monotonic() < deadline_s, f"not scraped: {newest}"
            time.sleep(POLL_S)

    def answer(self, request):
        content = self._text.encode()
        request.send_response(200)
        request.send_header("Content-Type", "text/plain; version=0.0.4")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


def _newest(api):
    answer = api.readings(selector([PAGE], {}), 300, CLOCK.now_s())
    return [values[-1] for _, _, values in answer.series]


@contextmanager
def exporting():
    exporter = Exporter()
    with serving(exporter.answer) as address:
        yield exporter, address


@pytest.fixture
def pod():
    """An exporter and its address."""
    with exporting() as made:
        yield made


def scraping(replica, pods):
    """Configuration of one of two replicas that scrape these pods, addresses by name."""
    targets = [
        {"targets": [address], "labels": {"pod": name, "namespace": "prod"}} for name, address in pods.items()
    ]
    return json.dumps(
        {
            "global": {
                "scrape_interval": "500ms",
                "scrape_timeout": "500ms",
                "external_labels": {"prometheus_replica": replica},
            },
            "scrape_configs": [{"job_name": "engines", "static_configs": targets}],
        }
    )


def reading_from(*urls):
    """Configuration of a Prometheus that scrapes nobody and asks others."""
    return json.dumps({"remote_read": [{"url": f"{url}/api/v1/read", "read_recent": True} for url in urls]})


def counted(completions, waiting=0):
    readings = {"request_success_total": completions, "num_requests_waiting": waiting}
    return "".join(f'vllm:{name}{{model_name="llama"}} {value}\n' for name, value in readings.items())


def now(url, *signals, in_s=0.0):
    """What is known in so many seconds, by pod."""
    pods = PrometheusSource(url, MATCHES).now(signals, [LLAMA], CLOCK.now_s() + in_s)[LLAMA].pods
    return {pod: [samples[signal] for signal in signals] for pod, samples in pods.items()}


def test_what_simulated_engines_say_is_what_is_read(server_of, pod):
    exporter, address = pod
    server = server_of(config=scraping("0", {"engine-0": address}))
    api = QueryApi(server, Access())
    made = engines(constant(20, 600))
    finished = []
    for until_s in (60, 120, 180):
        made.advance(until_s)
        exporter.show(exposition(made.counts, made.pace, 0, "llama"), api)
        finished.append(np.floor(made.counts.completions[0]))

    expected = [Value(finished[-1] - finished[0]), Value(np.rint(made.counts.running[0]))]
    assert {"engine-0": expected} == now(server, Signal.COMPLETIONS, Signal.RUNNING)
    assert finished[-1] > 2000


def test_a_restart_is_counted_from_zero(server_of, pod):
    exporter, address = pod
    server = server_of(config=scraping("0", {"a": address}))
    api = QueryApi(server, Access())
    for completions in (1000, 1060, 7, 9):
        exporter.show(counted(completions), api)
    assert {"a": [Value(60 + 7 + 2)]} == now(server, Signal.COMPLETIONS)


def test_a_pod_that_has_ended_says_no_more(server_of):
    with exporting() as (exporter, address):
        server = server_of(config=scraping("0", {"a": address}))
        api = QueryApi(server, Access())
        exporter.show(counted(5, waiting=3), api)
        exporter.show(counted(8, waiting=4), api)
    both = Signal.COMPLETIONS, Signal.WAITING
    assert {"a": [Value(3), Value(4)]} == now(server, *both)
    assert {"a": [Unknown(Reason.TOO_FEW), Value(4)]} == now(server, *both, in_s=100)
    assert {} == now(server, *both, in_s=400)


def test_two_replicas_that_are_asked_as_one_count_once(server_of, pod):
    exporter, address = pod
    exporter.show(counted(100))
    replicas = [server_of(config=scraping(replica, {"a": address})) for replica in "01"]
    server = server_of(config=reading_from(*replicas))
    apis = [QueryApi(url, Access()) for url in replicas]
    for completions in (100, 130, 190):
        exporter.show(counted(completions, waiting=2), *apis)

    answer = QueryApi(server, Access()).readings(selector([PAGE], {}), 60, CLOCK.now_s())
    assert ["0", "1"] == sorted(labels["prometheus_replica"] for labels, _, _ in answer.series)
    assert {"a": [Value(90), Value(2)]} == now(server, Signal.COMPLETIONS, Signal.WAITING)


def test_an_answer_in_part_is_unknown(server_of, pod):
    """One of two stores does not answer: Prometheus gives what the other has, and a warning."""
    exporter, address = pod
    replica = server_of(config=scraping("0", {"a": address}))
    api = QueryApi(replica, Access())
    for completions in (100, 130):
        exporter.show(counted(completions), api)
    assert {"a": [Value(30)]} == now(replica, Signal.COMPLETIONS)

    server = server_of(config=reading_from(replica, f"http://127.0.0.1:{free_port()}"))
    assert {"a": [Unknown(Reason.PARTIAL)]} == now(server, Signal.COMPLETIONS)
    end_s = int(CLOCK.now_s()) // 60 * 60 + 60
    for url, is_known in ((replica, True), (server, False)):
        told = PrometheusSource(url, MATCHES).samples([Signal.WAITING], [LLAMA], end_s - 120, end_s)[LLAMA]
        assert is_known == np.isfinite(told.values[Signal.WAITING]).any()
        assert (() if is_known else ((end_s - 120, end_s),)) == told.partial_s


def test_a_workload_that_nobody_scrapes_has_no_pods(server_of):
    server = server_of()
    assert {} == now(server, Signal.WAITING)
    told = PrometheusSource(server, MATCHES).samples([Signal.WAITING], [LLAMA], 0, 120)[LLAMA]
    assert [True, True] == np.isnan(told.values[Signal.WAITING]).tolist()
