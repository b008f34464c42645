"""Engines are data: every signal has its series, and no series carries two signals."""

import pytest

from fleet.signal import Signal
from predictor.engines import VLLM


def test_vllm_has_a_series_for_every_signal():
    assert set(Signal) == set(VLLM.series)


def test_every_name_leads_back_to_its_signal_and_rank():
    assert {
        name: (signal, rank) for signal, names in VLLM.series.items() for rank, name in enumerate(names)
    } == VLLM.signals()
    assert sum(len(names) for names in VLLM.series.values()) == len(VLLM.signals())


@pytest.mark.parametrize(
    ("name", "signal", "rank"),
    [
        ("vllm:kv_cache_usage_perc", Signal.KV_USE, 0),
        ("vllm:gpu_cache_usage_perc", Signal.KV_USE, 1),
        ("vllm:request_success_total", Signal.COMPLETIONS, 0),
        ("vllm:prompt_tokens_total", Signal.PROMPT_TOKENS, 0),
        ("vllm:generation_tokens_total", Signal.OUTPUT_TOKENS, 0),
        ("vllm:num_requests_waiting", Signal.WAITING, 0),
        ("vllm:num_requests_running", Signal.RUNNING, 0),
        ("vllm:time_to_first_token_seconds_sum", Signal.TTFT_SUM, 0),
        ("vllm:time_to_first_token_seconds_count", Signal.TTFT_COUNT, 0),
    ],
)
def test_vllm_names_are_those_that_its_versions_export(name, signal, rank):
    assert (signal, rank) == VLLM.signals()[name]


def test_counters_are_named_as_counters_and_gauges_are_not():
    for name, (signal, _) in VLLM.signals().items():
        assert signal.is_counter == name.endswith(("_total", "_sum", "_count"))
