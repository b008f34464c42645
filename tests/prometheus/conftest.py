"""The real Prometheus for tests of what reads from it; without it they fail, they are not skipped."""

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


@pytest.fixture
def source_of(tmp_path):
    """A function that makes a source on a Prometheus that has collected these series, until the test ends."""
    started = []

    def make(*scraped):
        directory = tmp_path / f"prometheus-{len(started)}"
        back_fill(directory, readings(scraped))
        server = prometheus(directory)
        started.append(server)
        return PrometheusSource(server.__enter__(), MATCHES)

    yield make
    for server in started:
        server.__exit__(None, None, None)


def readings(scraped, **labels):
    """Yield what `back_fill` takes, as pods of namespace `prod` with these further labels."""
    for series in scraped:
        about = {"namespace": "prod", "pod": series.pod, "model_name": series.model, **series.labels}
        text = series_text(series.series, {**about, **labels})
        yield from ((text, t_s, value) for t_s, value in series.readings)
