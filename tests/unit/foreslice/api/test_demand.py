"""Demand as a table: the sample, a file, a Prometheus."""

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError, UnavailableError
from foreslice import read_demand
from foreslice.api.demand import series_of
from predictor.tidy import COLUMNS
from tests.fakes.doors import doors

NAMES = {"steady", "evening", "office", "two-peaks", "drifting", "nights-off", "switching", "spiking"}


def test_the_sample_has_eight_workloads_of_eleven_days_and_its_gaps():
    sample = read_demand()
    assert [*COLUMNS] == [*sample.columns]
    assert dict.fromkeys(NAMES, 11 * 144) == dict(sample.groupby("workload").size())
    unknown = sample[sample["state"] == "unknown"]
    assert unknown["requests_per_s"].isna().all()
    assert {"steady", "evening", "office", "nights-off", "spiking"} == set(unknown["workload"])
    assert (sample.loc[sample["state"] == "idle", "requests_per_s"] == 0).all()


@pytest.fixture
def csv(tmp_path):
    def write(**columns):
        path = tmp_path / "demand.csv"
        pd.DataFrame(columns).to_csv(path, index=False)
        return path

    return write


TIMES = [1_770_000_000 + 600 * step for step in range(4)]


def test_a_file_needs_a_time_and_a_value(csv):
    read = read_demand(csv(t=TIMES, rate=[1.0, 0.0, np.nan, 2.0]), time="t", value="rate")
    assert [*COLUMNS] == [*read.columns]
    assert ["known", "idle", "unknown", "known"] == [*read["state"]]
    assert {"all"} == set(read["workload"])
    assert pd.Timestamp(TIMES[0], unit="s", tz="UTC") == read["time"].iloc[0]
    assert read["prompt_tokens"].isna().all()


def test_an_exported_history_is_read_back_as_it_is(csv):
    stamps = pd.date_range("2026-03-01", periods=4, freq="min", tz="UTC")
    path = csv(
        time=stamps,
        workload="llm/chat",
        requests_per_s=[1.0, 2.0, np.nan, 0.0],
        prompt_tokens=100.0,
        output_tokens=20.0,
        state=["known", "censored", "unknown", "idle"],
        reason=["", "", "partial", ""],
    )
    read = read_demand(path)
    assert ["known", "censored", "unknown", "idle"] == [*read["state"]]
    assert ["", "", "partial", ""] == [*read["reason"]]
    assert ({"llm/chat"}, {100.0}) == (set(read["workload"]), set(read["prompt_tokens"]))


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"time": TIMES, "rate": 1.0}, "has no column 'requests_per_s'"),
        ({"time": TIMES, "requests_per_s": -1.0}, "is no demand"),
        ({"time": ["soon", "later"], "requests_per_s": 1.0}, "is no time"),
    ],
)
def test_what_is_no_demand_is_one_line(csv, columns, match):
    with pytest.raises(InputError, match=match):
        read_demand(csv(**columns))


def test_a_prometheus_says_what_its_engines_serve():
    qwen = {"__name__": "vllm:request_success_total", "namespace": "llm", "model_name": "Qwen/Qwen2.5-7B"}
    with doors() as made:
        made.series = [{**qwen, "pod": "chat-0"}, {**qwen, "pod": "chat-1"}]
        read = read_demand(made.url, days=1 / 24)
    assert [*COLUMNS] == [*read.columns]
    assert ({"llm/Qwen2.5-7B"}, 60) == (set(read["workload"]), len(read))


def test_a_prometheus_without_engines_is_one_line():
    with doors() as made, pytest.raises(InputError, match="shows no model that an engine serves"):
        read_demand(made.url)


def test_a_prometheus_that_is_not_there_is_said_to_be():
    with doors() as made:
        url = made.url
    with pytest.raises(UnavailableError):
        read_demand(url)


def test_censored_minutes_stay_lower_bounds(csv):
    states = ["known", "censored", "known", "censored"]
    read = read_demand(csv(time=TIMES, requests_per_s=1.0, state=states, reason=""))
    (one,) = series_of(read)
    assert [False, True, False, True] == [*one.series.is_censored]
