"""The real Prometheus for tests of what reads from it; without it they fail, they are not skipped."""

import subprocess
from contextlib import ExitStack
from itertools import chain, count

import pytest

from predictor.sources.prometheus import PrometheusSource
from tests.builders.scrapes import LLAMA, QWEN
from tests.prometheus.server import absent, back_fill, prometheus, series_text

MATCHES = {
    LLAMA: {"namespace": "prod", "model_name": "llama"},
    QWEN: {"namespace": "prod", "model_name": "qwen"},
}


@pytest.fixture(scope="session", autouse=True)
def _installed():
    if programs := absent():
        pytest.exit(f"{', '.join(programs)} not found: apt-get install prometheus", returncode=1)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A folder with the key and certificate of loopback, signed by nobody else."""
    directory = tmp_path_factory.mktemp("certificates")
    request = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=prometheus -addext subjectAltName=IP:127.0.0.1"
    )
    paths = ["-keyout", directory / "key.pem", "-out", directory / "cert.pem"]
    subprocess.run(["openssl", *request.split(), *paths], check=True, capture_output=True)  # noqa: S607
    return directory


@pytest.fixture
def server_of(tmp_path):
    """A function that starts a Prometheus, on readings as `past` yields them, and gives its address."""
    numbers = count()
    with ExitStack() as started:

        def start(readings=(), config="", web_config=""):
            directory = tmp_path / f"prometheus-{next(numbers)}"
            if readings:
                back_fill(directory, readings)
            return started.enter_context(prometheus(directory, config, web_config))

        yield start


@pytest.fixture
def source_of(server_of):
    """A function that makes a source on a Prometheus that has collected these series long ago."""
    return lambda *scraped: PrometheusSource(server_of(past(*scraped)), MATCHES)


def past(*scraped, **labels):
    """Return the readings of pods of namespace `prod`, (series text, time in s, value) each."""
    return list(chain.from_iterable(_readings(series, labels) for series in scraped))


def _readings(series, labels):
    about = {"namespace": "prod", "pod": series.pod, "model_name": series.model, **series.labels, **labels}
    text = series_text(series.series, about)
    return [(text, t_s, value) for t_s, value in series.readings]
