"""What series mean: by name and labels, newest first, engines and routers each in their own words."""

from fleet.signal import Signal
from predictor.engines import engine_of, shipped
from predictor.vocabulary import Vocabulary, any_engine, any_router

VLLM, TGI, DYNAMO = (shipped()[name] for name in ("vllm", "tgi", "dynamo-frontend"))
DONE = "vllm:request_success_total"


def meaning(vocabulary, name, **labels):
    told = vocabulary.meaning(name, labels)
    return None if told is None else (told.engine.name, told.signal, told.rank, told.scale)


def test_conditions_go_before_the_bare_name():
    vocabulary = Vocabulary([VLLM])
    assert ("vllm", Signal.COMPLETIONS, 0, 1.0) == meaning(vocabulary, DONE, finished_reason="stop")
    assert ("vllm", Signal.FAILURES, 0, 1.0) == meaning(vocabulary, DONE, finished_reason="abort")
    assert ("vllm", Signal.COMPLETIONS, 0, 1.0) == meaning(vocabulary, DONE)


def test_a_series_that_is_not_read_means_nothing():
    assert meaning(Vocabulary([VLLM]), "vllm:num_preemptions_total") is None
    assert meaning(Vocabulary([VLLM]), "tgi_queue_size") is None


def test_names_of_several_engines_have_one_order():
    vocabulary = Vocabulary([TGI, VLLM])
    queue, waiting = (
        meaning(vocabulary, name)[2] for name in ("tgi_queue_size", "vllm:num_requests_waiting")
    )
    assert (0, 1) == (queue, waiting)


def test_of_a_router_only_what_stands_further_upstream_is_read():
    vocabulary = Vocabulary([DYNAMO])
    started = "dynamo_frontend_requests_started_total"
    assert ("dynamo-frontend", Signal.ROUTER_ARRIVALS, 0, 1.0) == meaning(vocabulary, started)
    assert meaning(vocabulary, "dynamo_frontend_requests_total", status="success", error_type="") is None
    refused = meaning(vocabulary, "dynamo_frontend_requests_total", status="error", error_type="overload")
    assert Signal.ROUTER_REFUSALS == refused[1]


def test_all_that_a_router_says_is_there_to_be_looked_at():
    vocabulary = Vocabulary.of(DYNAMO)
    assert Signal.ARRIVALS == meaning(vocabulary, "dynamo_frontend_requests_started_total")[1]
    assert Signal.IN_FLIGHT == meaning(vocabulary, "dynamo_frontend_inflight_requests")[1]


def test_the_share_of_a_cache_is_read_from_its_parts_where_nobody_says_it():
    assert ["tgi_batch_current_max_tokens", "tgi_batch_max_total_tokens"] == Vocabulary([TGI]).names(
        [Signal.KV_USE]
    )


def test_no_signal_no_names():
    assert [] == Vocabulary([VLLM]).names([Signal.ARRIVALS])


def test_names_that_are_anybodys_are_not_among_any():
    assert "num_requests_running" not in any_engine().names(Signal)
    assert "dynamo_frontend_requests_started_total" in any_router().names(Signal)
    assert {"model"} == any_router().lower_case


def test_meanings_differ_wherever_readings_would():
    """They are what kept history is known by: another scale or condition is another history."""
    described = {"series": {"completions": "done_total", "kv_use": {"name": "full", "scale": 0.01}}}
    plain = Vocabulary([engine_of("ours", described)]).meanings()
    assert [("completions", "done_total", 1.0, {}), ("kv_use", "full", 0.01, {})] == plain
    for changed in ({"name": "full"}, {"name": "full", "scale": 0.01, "where": {"part": "kv"}}):
        other = {"series": described["series"] | {"kv_use": changed}}
        assert plain != Vocabulary([engine_of("ours", other)]).meanings()
