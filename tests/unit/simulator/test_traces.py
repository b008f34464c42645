"""The shipped traffic is what its README says."""

import gzip
from importlib import resources

import numpy as np
import pytest

from simulator.traces import TRACE_STEP_S, shipped_traces

GAPS = ((522, 534), (792, 798), (846, 852), (1110, 1128), (1386, 1398), (1410, 1434))


@pytest.fixture(scope="module")
def traces():
    return shipped_traces()


def test_eight_clients_for_eleven_days(traces):
    assert [11 * 86400] * 8 == [len(trace.requests_per_s) * TRACE_STEP_S for trace in traces.values()]


def test_collection_gaps_are_listed_where_the_service_has_them_and_nowhere_else(traces):
    for client, trace in traces.items():
        assert (GAPS if client.startswith("m-mid/") else ()) == trace.gaps


def test_a_gap_is_bridged_by_a_straight_line(traces):
    rates = traces["m-mid/c66"].requests_per_s
    for first, end in GAPS:
        assert np.allclose(0.0, np.diff(rates[first - 1 : end + 1], n=2))


def test_partial_steps_beside_gaps_are_gone(traces):
    """The steady client falls under a tenth of its median in no step that is not known to be quiet."""
    rates = traces["m-mid/c14"].requests_per_s
    assert [] == np.flatnonzero(rates < 0.1 * np.median(rates)).tolist()


def test_silence_of_a_client_is_zero_and_no_gap(traces):
    trace = traces["m-large/c34"]
    assert 100 < np.count_nonzero(trace.requests_per_s == 0)
    assert () == trace.gaps


def test_tokens_and_variation_are_known_in_every_step(traces):
    for trace in traces.values():
        for values in (trace.prompt_tokens, trace.output_tokens, trace.interarrival_cv):
            assert np.all(values > 0)


def test_tokens_of_a_silent_step_are_the_last_known():
    """The file's own cells, not the loader's, say where a client was silent."""
    packed = resources.files("simulator").joinpath("data", "servegen_8_tenants.csv.gz").read_bytes()
    rows = [line.split(",") for line in gzip.decompress(packed).decode().splitlines()[1:]]
    tokens = [row[3] for row in rows if row[1] == "m-large/c34"]
    silent = next(step for step in range(1, len(tokens)) if tokens[step] == "" and tokens[step - 1])
    trace = shipped_traces()["m-large/c34"]
    assert float(tokens[silent - 1]) == trace.prompt_tokens[silent]


def test_nobody_can_change_what_everybody_reads(traces):
    with pytest.raises(ValueError, match="read-only"):
        traces["m-mid/c14"].requests_per_s[0] = 0.0


def test_the_file_is_small_enough_to_ship():
    data = resources.files("simulator").joinpath("data")
    assert 200_000 > len(data.joinpath("servegen_8_tenants.csv.gz").read_bytes())


def test_the_readme_beside_it_names_origin_commit_licence_and_clients(traces):
    text = resources.files("simulator").joinpath("data", "README.md").read_text(encoding="utf-8")
    for name in ("alibaba/ServeGen", "f891d118", "Apache License 2.0", *traces):
        assert name in text
