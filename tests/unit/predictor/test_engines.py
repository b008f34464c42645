"""Engines are data: names, types and labels as their sources have them, and nothing is guessed."""

import pytest

from fleet.signal import Distribution, Signal
from predictor.engines import Role, engine_of, recognised, shipped

ENGINES = shipped()
EVERY = list(ENGINES.values())

NAMES = {
    "vllm": {
        Signal.COMPLETIONS: ["vllm:request_success_total", "kserve_vllm:request_success_total"],
        Signal.WAITING: ["vllm:num_requests_waiting", "kserve_vllm:num_requests_waiting"],
        Signal.KV_USE: [
            "vllm:kv_cache_usage_perc",
            "vllm:gpu_cache_usage_perc",
            "kserve_vllm:kv_cache_usage_perc",
            "kserve_vllm:gpu_cache_usage_perc",
        ],
    },
    "sglang": {
        Signal.COMPLETIONS: ["sglang:num_requests_total"],
        Signal.RUNNING: ["sglang:num_running_reqs"],
        Signal.WAITING: ["sglang:num_queue_reqs"],
        Signal.KV_USE: ["sglang:token_usage"],
        Signal.TTFT_COUNT: ["sglang:time_to_first_token_seconds_count"],
    },
    "tgi": {
        Signal.ARRIVALS: ["tgi_request_count", "tgi_request_count_total"],
        Signal.WAITING: ["tgi_queue_size"],
        Signal.RUNNING: ["tgi_batch_current_size"],
        Signal.PROMPT_TOKENS: ["tgi_request_input_length_sum"],
    },
    "triton": {
        Signal.COMPLETIONS: ["nv_inference_request_success"],
        Signal.WAITING: ["nv_inference_pending_request_count"],
    },
    "nim": {
        Signal.KV_USE: ["gpu_cache_usage_perc"],
        Signal.REQUEST_LIMIT: ["num_request_max"],
    },
    "dynamo-frontend": {
        Signal.ARRIVALS: [
            "dynamo_frontend_requests_started_total",
            "nv_llm_http_service_requests_started_total",
        ],
        Signal.IN_FLIGHT: [
            "dynamo_frontend_inflight_requests",
            "dynamo_frontend_active_requests",
            "nv_llm_http_service_inflight_requests",
            "nv_llm_http_service_active_requests",
        ],
    },
    "inference-gateway": {
        Signal.ARRIVALS: [
            "inference_objective_request_total",
            "llm_d_epp_request_total",
            "inference_model_request_total",
        ],
    },
    "dcgm": {Signal.GPU_USE: ["DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"]},
    "hami": {
        Signal.GPU_MEMORY_USED: ["hami_vgpu_memory_used_bytes", "vGPU_device_memory_usage_in_bytes"],
        Signal.GPU_MEMORY_GRANTED: ["hami_vgpu_memory_limit_bytes", "vGPU_device_memory_limit_in_bytes"],
    },
    "kai-gpu-fractioning": {Signal.GPU_MEMORY_USED: ["gpu_fractioning_gpu_memory_used_bytes"]},
}


def test_every_shipped_engine_is_checked_here():
    assert NAMES.keys() == ENGINES.keys()


@pytest.mark.parametrize(
    ("engine", "signal"), [(engine, signal) for engine, names in NAMES.items() for signal in names]
)
def test_names_are_those_that_its_versions_export_newest_first(engine, signal):
    assert NAMES[engine][signal] == [named.name for named in ENGINES[engine].series[signal]]


@pytest.mark.parametrize("engine", EVERY, ids=ENGINES)
def test_what_is_missing_is_not_there_and_what_is_noted_is(engine):
    told = {*engine.series, *engine.histograms}
    assert set() == {*engine.missing} & told
    assert set() == {*engine.notes} - told
    assert {*engine.missing, *engine.notes} <= {*Signal, *Distribution}


@pytest.mark.parametrize("engine", EVERY, ids=ENGINES)
def test_no_series_carries_two_signals(engine):
    alike = [
        (named.name, tuple(sorted(named.where.items())))
        for names in engine.series.values()
        for named in names
    ]
    assert len(set(alike)) == len(alike)


@pytest.mark.parametrize("role", [Role.ENGINE, Role.ROUTER])
def test_whoever_counts_requests_says_what_becomes_of_demand(role):
    for engine in EVERY:
        if engine.role is role:
            assert {Signal.ARRIVALS, Signal.COMPLETIONS} & engine.series.keys(), engine.name


def test_no_two_engines_have_a_name_in_common():
    for engine in EVERY:
        for other in EVERY:
            if engine.name < other.name:
                assert frozenset() == engine.names() & other.names()


VERSIONS = {
    "v1-new": {"vllm:kv_cache_usage_perc", "vllm:request_success_total"},
    "v1-0.9": {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
    "v0": {"vllm:gpu_cache_usage_perc", "vllm:cpu_cache_usage_perc"},
    "v1-early": {"vllm:gpu_cache_usage_perc", "vllm:num_requests_running"},
    "": {"vllm:num_requests_running"},
}


@pytest.mark.parametrize(("version", "names"), VERSIONS.items(), ids=VERSIONS)
def test_the_generation_is_told_by_the_names_that_are_there(version, names):
    assert version == ENGINES["vllm"].version(names)


def test_engines_are_recognised_by_their_names():
    names = {"sglang:num_running_reqs", "DCGM_FI_DEV_FB_USED", "up", "python_info"}
    assert {"sglang", "dcgm"} == {engine.name for engine in recognised(names, EVERY)}


def test_names_that_are_anybodys_show_nothing():
    assert [] == recognised({"num_requests_running", "gpu_cache_usage_perc"}, EVERY)


def test_histograms_have_their_unit_and_those_without_buckets_their_mean_only():
    first, total = (ENGINES["triton"].histograms[kind][0] for kind in (Distribution.TTFT, Distribution.E2E))
    assert ("nv_inference_first_response_histogram_ms_bucket", 0.001, 1.0) == (
        first.bucket.name,
        first.bucket.scale,
        first.count.scale,
    )
    assert ("nv_inference_request_duration_us", 1e-6, None) == (total.sum.name, total.sum.scale, total.bucket)


class TestDescribed:
    """What a user writes about an engine of their own."""

    def test_an_engine_in_a_few_words(self):
        ours = engine_of(
            "ours",
            {
                "series": {
                    "completions": "ours_done_total",
                    "failures": {"name": "ours_failed_total", "where": {"why": ["abort", "timeout"]}},
                    "kv_use": {"name": "ours_cache_percent", "scale": 0.01},
                    "ttft": "ours_ttft_seconds",
                }
            },
        )
        assert ("ours", "ours", Role.ENGINE) == (ours.name, ours.title, ours.role)
        assert 0.01 == ours.series[Signal.KV_USE][0].scale
        assert ["ours_ttft_seconds_sum"] == [named.name for named in ours.series[Signal.TTFT_SUM]]
        failed = ours.series[Signal.FAILURES][0]
        assert (True, False, False) == (
            failed.fits({"why": "timeout", "pod": "a"}),
            failed.fits({"why": "invalid"}),
            failed.fits({}),
        )

    def test_one_that_is_like_another_but_for_its_prefix(self):
        ours = engine_of("ours", {"like": "vllm", "renamings": {"vllm:": ["ours_"]}, "title": "Ours"})
        assert ("Ours", "v0") == (ours.title, ours.version({"vllm:cpu_cache_usage_perc"}))
        assert ["vllm:num_requests_running", "ours_num_requests_running"] == [
            named.name for named in ours.series[Signal.RUNNING]
        ]

    def test_one_that_is_like_another_but_for_a_name(self):
        ours = engine_of("ours", {"like": "sglang", "series": {"waiting": "ours_queue"}})
        assert ["ours_queue"] == [named.name for named in ours.series[Signal.WAITING]]
        assert ["sglang:num_running_reqs"] == [named.name for named in ours.series[Signal.RUNNING]]

    def test_renaming_a_histogram_that_is_named_part_by_part(self):
        ours = engine_of("ours", {"like": "triton", "renamings": {"nv_inference_": ["our_"]}})
        assert ["nv_inference_request_duration_us", "our_request_duration_us"] == [
            histogram.sum.name for histogram in ours.histograms[Distribution.E2E]
        ]

    def test_a_signal_that_nobody_knows(self):
        with pytest.raises(ValueError, match="speed"):
            engine_of("ours", {"series": {"speed": "ours_speed"}})
