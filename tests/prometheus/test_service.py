"""`foreslice run` on a real Prometheus: what it says of a fleet, of itself, and when nobody answers."""

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from foreslice.clock import WallClock
from predictor.sources.access import Access
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from tests.builders.scrapes import Scraped
from tests.leash import leashed
from tests.ports import free_port
from tests.prometheus.conftest import past
from tests.prometheus.server import POLL_S, back_fill, prometheus, serving

FORESLICE = Path(sys.executable).with_name("foreslice")
CLOCK = WallClock()
WITHIN_S = 30
NEED = "foreslice_need_replicas"
UP = NEED, ("chat", "prod", "up")
GROWS_BY_S = {
    "vllm:request_success_total": 2,
    "vllm:prompt_tokens_total": 2000,
    "vllm:generation_tokens_total": 400,
    "vllm:time_to_first_token_seconds_count": 2,
}
STAYS_AT = {"vllm:num_requests_waiting": 0, "vllm:num_requests_running": 4, "vllm:kv_cache_usage_perc": 0.25}


def steady_hours(hours, end_s):
    """Readings of one engine that is offered two requests a second."""
    times = range(int(end_s - hours * 3600), int(end_s) + 1, 15)
    return past(
        *(
            Scraped("chat-0", name, [(t_s, by * (t_s - times[0])) for t_s in times], "chat")
            for name, by in GROWS_BY_S.items()
        ),
        *(Scraped("chat-0", name, [(t_s, at) for t_s in times], "chat") for name, at in STAYS_AT.items()),
    )


@pytest.fixture
def settings(tmp_path):
    """A function that writes settings for a Prometheus and returns their path."""

    def write(url, port=0):
        path = tmp_path / "settings.yaml"
        path.write_text(
            f"""\
version: v1
metrics: {{source: prometheus, url: "{url}", timeout: 5s}}
loop: {{tick: 1s, history: 2h}}
http: {{port: {port}}}
workloads:
  - {{name: chat, namespace: prod, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
"""
        )
        return path

    return write


def once(path):
    return subprocess.run(
        [FORESLICE, "run", "--once", "--config", path, "--output", "json"],
        capture_output=True,
        text=True,
        check=False,
    )


def eventually(what):
    """Return the first true answer, asked until it comes."""
    deadline_s = time.monotonic() + WITHIN_S
    while not (answer := what()):
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(POLL_S)
    return answer


def exported(port):
    """Text of the service's metrics, and values by name and sorted label values."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return text, {(sample.name, tuple(sorted(sample.labels.values()))): sample.value for sample in samples}


def test_demand_is_read_and_turned_into_need(settings, server_of):
    ran = once(settings(server_of(steady_hours(3, CLOCK.now_s()))))

    assert (0, "") == (ran.returncode, ran.stderr)
    told = json.loads(ran.stdout)
    [workload] = told["workloads"]
    assert [] == told["conditions"]
    assert workload["forecast"]["peaks"]
    assert 0 < workload["need"]["reactive"] <= workload["need"]["up"] < 2


def log_in(request: BaseHTTPRequestHandler):
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.end_headers()
    request.wfile.write(b"<html>Please log in</html>")


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("answers text/html instead of JSON; give the address of its HTTP API", log_in),
        ("refuses who we are (HTTP 401); check token_file", lambda request: request.send_error(401)),
        ("does not answer the query (HTTP 503", lambda request: request.send_error(503)),
    ],
    ids=["web page", "401", "503"],
)
def test_no_answer_is_one_line_and_an_exit_code(expected, answer, settings):
    with serving(answer) as address:
        ran = once(settings(f"http://{address}"))

    assert (3, "", 1) == (ran.returncode, ran.stdout, ran.stderr.count("\n"))
    assert f"http://{address}: {expected}" in ran.stderr


def test_nobody_there_is_one_line_and_an_exit_code(settings):
    url = f"http://127.0.0.1:{free_port()}"
    ran = once(settings(url))

    assert (3, "", 1) == (ran.returncode, ran.stdout, ran.stderr.count("\n"))
    assert f"{url}: cannot be reached (Connection refused); check the address" in ran.stderr


def test_the_service_is_scraped_and_keeps_what_it_knew_when_prometheus_ends(settings, tmp_path):
    port, log = free_port(), tmp_path / "service.log"
    directory = tmp_path / "prometheus"
    back_fill(directory, steady_hours(3, CLOCK.now_s()))
    with ExitStack() as up:
        url = up.enter_context(prometheus(directory, scraping(port)))
        with running(settings(url, port), log) as service:
            api = QueryApi(url, Access())
            scraped = eventually(lambda: api.readings(selector([NEED], {}), 60, CLOCK.now_s()).series)
            assert {"chat"} == {labels["workload"] for labels, _, _ in scraped}
            text, before = exported(port)
            assert (0, "") == complaints(text)
            assert 0 == before["foreslice_conditions", ()]

            up.close()
            after = eventually(lambda: (now := exported(port)[1])["foreslice_conditions", ()] and now)
            assert before[UP] == pytest.approx(after[UP], rel=0.2)
            assert f"demand now is not read: {url}: cannot be reached" in log.read_text()

            service.terminate()
            assert 0 == service.wait(timeout=WITHIN_S)


def scraping(port):
    """Configuration of a Prometheus that scrapes the service."""
    target = {"job_name": "foreslice", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    return json.dumps(
        {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [target]}
    )


@contextmanager
def running(path, log):
    """The service as a process, for as long as the block lasts."""
    with log.open("wb") as file:
        command = leashed(FORESLICE, "run", "--config", path)
        service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
    try:
        yield service
    finally:
        service.kill()
        service.wait()


def complaints(text):
    """Exit code and words of Prometheus' own tool about these metrics."""
    command = [shutil.which("promtool"), "check", "metrics"]
    checked = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return checked.returncode, checked.stdout + checked.stderr
