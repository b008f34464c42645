"""A text becomes series with the names that stand in it, or one line about what is wrong with it."""

import json
import math

import pytest

from fleet.errors import InputError
from predictor.inspection.scrape import Exposed, Scrape, parsed

TEXT = """\
# HELP nv_inference_request_success finished
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="m",version="1"} 7
# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop"} 8.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running 2
"""

OPEN = """\
# TYPE vllm:request_success counter
vllm:request_success_total{finished_reason="stop"} 8.0
# TYPE kv gauge
kv NaN
# EOF
"""


def answer(result, kind="vector", **more):
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more})


def test_counters_keep_the_names_that_they_were_written_with():
    assert Scrape(
        "exposition",
        (
            Exposed("nv_inference_request_success", {"model": "m", "version": "1"}, (), (7,)),
            Exposed("vllm:request_success_total", {"finished_reason": "stop"}, (), (8,)),
            Exposed("vllm:num_requests_running", {}, (), (2,)),
        ),
    ) == parsed(TEXT, "f")


def test_openmetrics_is_known_by_its_end():
    told = parsed(OPEN, "f")
    assert ("openmetrics", "vllm:request_success_total", True) == (
        told.form,
        told.series[0].name,
        math.isnan(told.series[1].newest),
    )


def test_a_vector_has_one_reading_of_each_series():
    told = parsed(answer([{"metric": {"__name__": "up", "pod": "a"}, "value": [60, "1"]}]), "f")
    assert Scrape("vector", (Exposed("up", {"pod": "a"}, (60,), (1,)),)) == told


def test_a_matrix_has_many():
    told = parsed(answer([{"metric": {"pod": "a"}, "values": [[0, "1"], [60, "+Inf"]]}], "matrix"), "f")
    assert Scrape("matrix", (Exposed("", {"pod": "a"}, (0, 60), (1, math.inf)),)) == told


def test_a_scalar_is_a_result_without_labels():
    assert (Exposed("", {}, (60,), (3,)),) == parsed(answer([60, "3"], "scalar"), "f").series


def test_no_result_is_complete_and_holds_nothing():
    assert Scrape("vector", ()) == parsed(answer([]), "f")


def test_what_a_server_warns_of_is_kept():
    told = parsed(answer([], warnings=["store b"], isPartial=True, infos=["no counter"]), "f")
    assert (("store b", "the server says that its answer is partial"), ("no counter",)) == (
        told.warnings,
        told.infos,
    )


def test_a_bare_series_is_read_as_well():
    bare = {"metric": {"__name__": "x"}, "values": [[0, "1"]]}
    assert (Exposed("x", {}, (0,), (1,)),) == parsed(json.dumps(bare), "f").series


WRONG = {
    "nothing": ("", "holds no series"),
    "only comments": ("# HELP x\n", "holds no series"),
    "prose": ("Not Found: see the manual", "is no exposition text"),
    "half a line": ('x{a="b', "is no exposition text"),
    "broken JSON": ("{", "is no JSON"),
    "other JSON": ('{"items": []}', "is JSON that no Prometheus would answer"),
    "a list": ("[1, 2]", "is JSON that no Prometheus would answer"),
    "a value that is no number": (answer([{"metric": {}, "value": [0, "x"]}]), "is JSON that no Prometheus"),
    "a series without readings": (answer([{"metric": {}, "values": []}], "matrix"), "is JSON that no"),
    "times that do not rise": (
        answer([{"metric": {}, "values": [[60, "1"], [60, "2"]]}], "matrix"),
        "times of readings do not rise",
    ),
    "a bucket of prose": ('x_bucket{le="many"} 1\n', "is no exposition text"),
    "a bucket without a bound": ('x_bucket{le="NaN"} 1\n', "a bucket without a bound"),
    "an error that nobody knows": (
        '{"status": "error", "errorType": "odd", "error": "?"}',
        "see what the server",
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_scrape_is_named(text, said):
    with pytest.raises(InputError, match=said) as error:
        parsed(text, "metrics.prom")
    assert str(error.value).startswith("metrics.prom: ")
