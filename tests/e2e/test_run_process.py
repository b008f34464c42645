"""`foreslice run` as a process: probes, metrics, settings that change under it, and its end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.ports import free_port

RECORDING = Path(__file__).parents[1] / "data" / "recorded" / "vllm.csv"
LIMIT_S = 120.0

WORLD = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded, nodes: 1}
loop: {tick: 1s}
http: {port: 0}
workloads:
  - {name: chat, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}
"""
FILE = """\
version: v1
metrics: {source: file, path: metrics.csv}
loop: {tick: 1s}
http: {port: 0}
workloads:
  - {name: chat, namespace: serving, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}
"""


class Service:
    """A running service, its log lines and what it serves."""

    def __init__(self, folder, text, *options):
        self.settings, self._log = folder / "settings.yaml", folder / "log"
        self.settings.write_text(text, encoding="utf-8")
        command = [Path(sys.executable).with_name("foreslice"), "run", "--config", self.settings, *options]
        with self._log.open("wb") as log, (folder / "out").open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log, start_new_session=True)

    def log(self):
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]

    def wait_for(self, what):
        """Return the first true answer of `what`, asked until it comes."""
        end_s = time.monotonic() + LIMIT_S
        while time.monotonic() < end_s:
            answer = what()
            if answer:
                return answer
            assert self.process.poll() is None, self._log.read_text(encoding="utf-8")
            time.sleep(0.1)
        raise AssertionError(self._log.read_text(encoding="utf-8"))

    def event(self, name, **about):
        """Wait for a log line with this event and these values."""
        return self.wait_for(
            lambda: next((e for e in self.log() if e["event"] == name and about.items() <= e.items()), None)
        )

    def get(self, path):
        port = self.event("started")["port"]
        try:
            with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self):
        """Values by (name, workload); the last of several label sets."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return {
            (sample.name, sample.labels.get("workload")): sample.value
            for f in families
            for sample in f.samples
        }

    def ready(self):
        self.wait_for(lambda: self.get("/readyz")[0] == 200)
        return self

    def stop(self, number=signal.SIGTERM):
        """Send a signal and return the exit code and how long the end took."""
        sent_s = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(timeout=LIMIT_S), time.monotonic() - sent_s


@pytest.fixture
def start(tmp_path):
    services = []

    def start(text, *options):
        services.append(Service(tmp_path, text, *options))
        return services[-1]

    yield start
    for service in services:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


def test_it_serves_probes_and_metrics_and_ends_on_sigterm(start):
    service = start(WORLD).ready()
    port = service.event("started")["port"]

    assert (200, "ok\n") == service.get("/healthz")
    metrics = service.metrics()
    assert metrics["foreslice_need_replicas", "chat"] > 0
    assert metrics["foreslice_forecast_peak_replicas", "chat"] > 0
    assert 1 == metrics["foreslice_settings_usable", None]
    assert 0 == metrics["foreslice_conditions", None]
    service.wait_for(lambda: service.metrics()["foreslice_tick_seconds_count", None] >= 3)

    group = os.getpgid(service.process.pid)
    code, took_s = service.stop()
    assert 0 == code
    assert took_s < 2
    assert "stopped" == service.log()[-1]["event"]
    with pytest.raises(URLError):
        urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_the_keyboard_ends_it_as_well(start):
    assert 0 == start(WORLD).ready().stop(signal.SIGINT)[0]


def test_broken_settings_keep_the_last_good_ones_and_mended_ones_are_taken_up(start):
    service = start(WORLD).ready()
    service.settings.write_text(WORLD.replace("p95: 1s", "p95: 500s"), encoding="utf-8")
    line = f"{service.settings}:7: workloads[0].slo.ttft.p95: expected between 10ms and 120s;"
    service.event(
        "held",
        level="warning",
        reason=f"settings cannot be used, the last good ones go on: {line} is the unit right? (is '500s')",
    )
    metrics = service.wait_for(lambda: (m := service.metrics())["foreslice_settings_usable", None] == 0 and m)
    assert 1 == metrics["foreslice_conditions", None]
    assert ("foreslice_need_replicas", "chat") in metrics

    service.settings.unlink()
    service.event(
        "held",
        reason=f"settings cannot be used, the last good ones go on: {service.settings}: "
        "no such file; name an existing settings file",
    )

    service.settings.write_text(WORLD.replace("chat", "talk"), encoding="utf-8")
    service.event("settings taken up")
    metrics = service.wait_for(lambda: (m := service.metrics())["foreslice_settings_usable", None] == 1 and m)
    assert ("foreslice_need_replicas", "talk") in metrics
    assert ("foreslice_need_replicas", "chat") not in metrics
    assert 0 == service.stop()[0]


class NoSeries(BaseHTTPRequestHandler):
    """Answers every query of a Prometheus: there is no such series."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def answering(port):
    with ThreadingHTTPServer(("127.0.0.1", port), NoSeries) as server:
        Thread(target=server.serve_forever).start()
        try:
            yield
        finally:
            server.shutdown()


def reading_from(port):
    """The same workload's demand from a Prometheus."""
    elsewhere = f"{{source: prometheus, url: 'http://127.0.0.1:{port}'}}"
    return FILE.replace("{source: file, path: metrics.csv}", elsewhere)


@pytest.fixture
def port():
    """A port that nobody listens on."""
    return free_port()


@pytest.fixture
def moved(start, tmp_path, port):
    """A service on a recording, told to read from a Prometheus that is down."""
    shutil.copy(RECORDING, tmp_path / "metrics.csv")
    service = start(FILE).ready()
    service.settings.write_text(reading_from(port), encoding="utf-8")
    service.wait_for(lambda: service.metrics()["foreslice_settings_usable", None] == 0)
    return service


def test_settings_whose_source_is_down_wait_until_it_answers(moved, port):
    why = "settings cannot be used, the last good ones go on: forecasts are not renewed: "

    assert moved.event("held")["reason"].startswith(why)
    assert moved.metrics()["foreslice_forecast_peak_replicas", "chat"] > 0
    with answering(port):
        moved.event("settings taken up")
        moved.wait_for(lambda: moved.metrics()["foreslice_settings_usable", None] == 1)
        assert 0 == moved.stop()[0]


def test_settings_that_are_put_back_as_they_were_can_be_used(moved):
    moved.settings.write_text(FILE, encoding="utf-8")

    moved.event("settings taken up")
    moved.wait_for(lambda: moved.metrics()["foreslice_settings_usable", None] == 1)


def test_an_order_to_stop_acting_waits_for_no_forecast(start, tmp_path, port):
    shutil.copy(RECORDING, tmp_path / "metrics.csv")
    service = start(FILE + "acting: true\ncluster: {kind: embedded, nodes: 1}\n").ready()
    service.settings.write_text(reading_from(port), encoding="utf-8")

    service.event("settings taken up")
    service.wait_for(lambda: any(e.get("reason", "").startswith("forecasts are not") for e in service.log()))
    assert 1 == service.metrics()["foreslice_settings_usable", None]


def test_a_metrics_file_that_vanishes_leaves_what_was_known(start, tmp_path):
    shutil.copy(RECORDING, tmp_path / "metrics.csv")
    service = start(FILE).ready()
    before = service.metrics()
    (tmp_path / "metrics.csv").rename(tmp_path / "away.csv")
    metrics = service.wait_for(lambda: (m := service.metrics())["foreslice_conditions", None] == 1 and m)

    assert (
        before["foreslice_forecast_peak_replicas", "chat"]
        == metrics["foreslice_forecast_peak_replicas", "chat"]
    )
    assert "demand now is not read: " in service.event("held")["reason"]
    (tmp_path / "away.csv").rename(tmp_path / "metrics.csv")
    service.wait_for(lambda: service.metrics()["foreslice_conditions", None] == 0)
    assert 0 == service.stop()[0]


def test_with_json_every_tick_is_a_line_on_standard_output(start, tmp_path):
    shutil.copy(RECORDING, tmp_path / "metrics.csv")
    service = start(FILE, "--output", "json").ready()
    service.wait_for(lambda: (tmp_path / "out").read_text(encoding="utf-8").count("\n") >= 3)
    service.stop()

    shown = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert {"serving/chat"} == {one["workload"] for tick in shown for one in tick["workloads"]}


def test_a_port_in_use_is_one_line_and_exit_code_2(start, tmp_path):
    port = start(WORLD).event("started")["port"]
    other = tmp_path / "other.yaml"
    other.write_text(WORLD.replace("port: 0", f"port: {port}"), encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("foreslice"), "run", "--config", other],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert (2, "") == (done.returncode, done.stdout)
    assert (
        f"foreslice: http: cannot listen on 127.0.0.1:{port} (Address already in use);"
        " set http.address and http.port to something free\n"
    ) == done.stderr
