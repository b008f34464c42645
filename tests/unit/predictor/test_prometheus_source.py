"""What a source on a Prometheus is not made from; what it reads is tested in tests/prometheus."""

import pytest

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from predictor.sources.access import Access
from predictor.sources.prometheus import CHUNK_S, PrometheusSource

URL = "http://prometheus:9090"
LLAMA = WorkloadKey("prod", "llama")


def refused(url=URL, labels=None, **access):
    with pytest.raises(InputError) as error:
        PrometheusSource(url, {LLAMA: labels or {"model_name": "llama"}}, access=Access(**access))
    return str(error.value)


def test_a_match_without_labels_would_take_everything():
    with pytest.raises(InputError) as error:
        PrometheusSource(URL, {LLAMA: {}})
    assert "match of prod/llama: no label to know its series by; name at least one" == str(error.value)


@pytest.mark.parametrize("label", ["model-name", 'a="b",c', ""])
def test_a_match_with_what_is_no_label(label):
    assert f"match of a workload: {label!r} is no label of Prometheus; " in refused(labels={label: "llama"})


def test_an_address_and_files_that_cannot_be_used(tmp_path):
    assert "prometheus:9090: is no address of a Prometheus; " in refused(url="prometheus:9090")
    assert f"{tmp_path}/token: cannot be read (" in refused(token_file=tmp_path / "token", is_insecure=True)


@pytest.mark.parametrize("scraped_every_s", [2, 5, 15, 30, 60])
def test_a_query_asks_for_fewer_readings_of_a_series_than_servers_have_points(scraped_every_s):
    assert 11_000 > CHUNK_S / scraped_every_s
