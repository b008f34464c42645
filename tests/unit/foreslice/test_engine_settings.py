"""Engines that a user describes, and which engine a workload's pods run."""

import json
from typing import get_args

import pytest

from fleet.errors import InputError
from fleet.signal import Distribution, Signal
from foreslice.settings.engines import EngineSettings, Exported, engines_of
from foreslice.settings.load import load, matches_of
from predictor.engines import Role, shipped

HEAD = "version: v1\nmetrics: {source: prometheus, url: http://prometheus:9090}\n"
OURS = {"series": {"completions": "ours_done_total", "waiting": ["ours_queue", "ours_backlog"]}}


@pytest.fixture
def settings(tmp_path):
    """A function that loads settings with these engines and one workload."""

    def made(engines=None, **workload):
        plain = {"name": "chat", "model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}}
        path = tmp_path / "settings.yaml"
        path.write_text(
            f"{HEAD}engines: {json.dumps(engines or {})}\nworkloads:\n  - {json.dumps(plain | workload)}\n"
        )
        return load(path)

    return made


def match(settings):
    [only] = matches_of(settings).values()
    return only


def names(vocabulary, signal=Signal.COMPLETIONS):
    return vocabulary.names([signal])


def test_every_signal_that_may_be_named_is_one():
    assert {*get_args(Exported)} <= {*Signal, *Distribution}


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_engine_is_written_in_words_that_users_have(name):
    engine = shipped()[name]
    if engine.role in {Role.ENGINE, Role.ROUTER}:
        parts = {signal for signal in Signal if signal.endswith(("_sum", "_count"))}
        assert {*engine.series, *engine.histograms} - parts <= {*get_args(Exported)}


class TestWhatItsPodsRun:
    def test_any_engine_that_is_known_unless_told_otherwise(self, settings):
        assert {"vllm:request_success_total", "sglang:num_requests_total"} <= {
            *names(match(settings()).engines)
        }
        assert "request_success_total" not in names(match(settings()).engines)

    def test_the_engine_that_is_named_and_no_other(self, settings):
        assert ["sglang:num_requests_total"] == names(match(settings(engine="sglang")).engines)

    def test_an_engine_of_the_users_own_is_looked_for_too(self, settings):
        vocabulary = match(settings({"ours": OURS})).engines
        assert {"ours_done_total", "vllm:request_success_total"} <= {*names(vocabulary)}

    def test_or_is_the_only_one(self, settings):
        vocabulary = match(settings({"ours": OURS}, engine="ours", match={"app": "chat"})).engines
        assert (["ours_done_total"], ["ours_backlog", "ours_queue"]) == (
            names(vocabulary),
            names(vocabulary, Signal.WAITING),
        )

    def test_an_engine_that_is_known_under_other_names(self, settings):
        ours = {"like": "vllm", "renamings": {"vllm:": "our_"}}
        vocabulary = match(settings({"ours": ours}, engine="ours")).engines
        assert "our_request_success_total" in names(vocabulary)

    def test_settings_go_before_what_is_shipped(self):
        ours = EngineSettings.model_validate(OURS)
        assert "ours_done_total" == engines_of({"vllm": ours})["vllm"].series[Signal.COMPLETIONS][0].name


class TestRouters:
    def test_none_is_read_unless_its_labels_are_told(self, settings):
        assert [match(settings()).labels] == [part.labels for part in match(settings()).parts()]

    def test_what_it_says_of_the_workload(self, settings):
        told = match(settings(router_match={"model": "Org/Chat"}))
        _, router = told.parts()
        assert {"Org/Chat", "org/chat"} == router.spellings("model")
        assert "dynamo_frontend_requests_started_total" in names(router.vocabulary, Signal.ROUTER_ARRIVALS)

    def test_one_of_the_users_own(self, settings):
        ours = {
            "role": "router",
            "labels": {"lower_case": "host"},
            "series": {"arrivals": "gateway_requests_total"},
        }
        told = match(settings({"gateway": ours}, router_match={"host": "Chat"}))
        assert {"Chat", "chat"} == [*told.parts()][1].spellings("host")
        assert "gateway_requests_total" in names(told.routers, Signal.ROUTER_ARRIVALS)
        assert "gateway_requests_total" not in names(told.engines, Signal.ARRIVALS)


def test_several_served_names_of_one_workload(settings):
    told = match(settings(match={"model_name": ["chat-v1", "chat-v2"]}))
    assert {"chat-v1", "chat-v2"} == next(told.parts()).spellings("model_name")


WRONG = {
    "an engine that nobody knows": ({}, {"engine": "trtllm"}, "engine: must be one of auto, "),
    "a router is no engine": ({}, {"engine": "dynamo-frontend"}, "engine: must be one of auto, "),
    "names that are anybody's": (
        {},
        {"engine": "nim", "match": {"model_name": "chat"}},
        "engine: needs a match with namespace or pod or job",
    ),
    "a model that no label says": (
        {},
        {"engine": "tgi"},
        "engine: needs a match: Text Generation Inference names",
    ),
    "a model under another label": (
        {},
        {"engine": "triton"},
        "needs a match: Triton Inference Server names the model by model",
    ),
    "nothing that counts requests": (
        {"ours": {"series": {"waiting": "ours_queue"}}},
        {},
        "engines.ours: name arrivals or completions among its series",
    ),
    "like one that nobody knows": (
        {"ours": {"like": "vlm"}},
        {},
        "engines.ours: like must be one of dynamo-frontend",
    ),
    "a signal that nobody knows": ({"ours": {"series": {"speed": "x"}}}, {}, "engines.ours.series.speed"),
    "a name that is a number": (
        {"ours": {"series": {"completions": 3}}},
        {},
        "engines.ours.series.completions",
    ),
    "a scale of nothing": (
        {"ours": {"series": {"completions": {"name": "x", "scale": 0}}}},
        {},
        "engines.ours.series.completions[0].scale: must be greater than 0",
    ),
    "a key that nobody knows": ({"ours": OURS | {"labls": {}}}, {}, "unknown key, did you mean labels?"),
    "a label that says a number": (
        {},
        {"match": {"model_name": 3}},
        "match.model_name: must be a text, or a list",
    ),
    "a label that says nothing": (
        {},
        {"match": {"model_name": []}},
        "match.model_name: must be a text, or a list",
    ),
}


@pytest.mark.parametrize(("engines", "workload", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_one_line_with_its_key(settings, engines, workload, said):
    with pytest.raises(InputError) as error:
        settings(engines, **workload)
    assert 1 == len(str(error.value).splitlines()), str(error.value)
    assert said in str(error.value)


def test_two_workloads_cannot_both_have_the_demand_of_one_router(tmp_path):
    path = tmp_path / "settings.yaml"
    one = {"model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}, "router_match": {"model": "m"}}
    workloads = "".join(f"  - {json.dumps(one | {'name': name})}\n" for name in ("a", "b"))
    path.write_text(f"{HEAD}workloads:\n{workloads}")
    with pytest.raises(InputError, match=r"router_match: has the same labels as default/a"):
        load(path)
