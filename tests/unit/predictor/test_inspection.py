"""What a scrape says of engines, cards and tenants, and every doubt about it."""

from typing import ClassVar

import pytest

from fleet.demand import DemandOrigin
from fleet.signal import Distribution, Signal
from predictor.engines import engine_of, shipped
from predictor.inspection.inspect import inspected, without_copies
from predictor.inspection.scrape import Exposed, Scrape, parsed

KNOWN = shipped()
TTFT = "vllm:time_to_first_token_seconds"


def read(text, engine=None):
    return inspected(parsed(text, "text"), KNOWN.values(), engine)


def line(name, value, **labels):
    inner = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value}\n"


def only(text, engine=None):
    [producer] = read(text, engine).producers
    return producer


class TestProducers:
    def test_each_model_and_pod_is_read_alone(self):
        told = read(
            'vllm:num_requests_running{model_name="m",pod="a"} 1\n'
            'vllm:num_requests_running{model_name="m",pod="b"} 2\n'
            'vllm:num_requests_running{model_name="n",pod="b"} 4\n'
        )
        assert [
            ({"model": "m", "pod": "a"}, 1),
            ({"model": "m", "pod": "b"}, 2),
            ({"model": "n", "pod": "b"}, 4),
        ] == [(one.labels, one.signals[Signal.RUNNING].value) for one in told.producers]

    def test_two_engines_in_one_text(self):
        told = read("vllm:num_requests_running 1\nsglang:num_running_reqs 2\n")
        assert {"vllm", "sglang"} == {one.engine.name for one in told.producers}

    def test_ranks_of_one_replica_show_the_same_and_data_parallel_ones_do_not(self):
        sglang = only(
            'sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3\n'
            'sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 3\n'
            'sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 4\n'
        )
        assert 7 == sglang.signals[Signal.RUNNING].value

    @pytest.mark.parametrize(
        ("text", "version"),
        [
            ("sglang:inter_token_latency_seconds_count 1\n", "current"),
            ("sglang:time_per_output_token_seconds_count 1\n", "early"),
        ],
    )
    def test_sglang_generations(self, text, version):
        assert version == only(text).version

    def test_both_names_of_one_gauge_are_read_once(self):
        vllm = only("vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.5\n")
        reading = vllm.signals[Signal.KV_USE]
        assert ("v1-0.9", 0.5, ("vllm:kv_cache_usage_perc",)) == (vllm.version, reading.value, reading.series)

    def test_names_that_relabelling_made_are_read_as_well(self):
        assert 3 == only("kserve_vllm:num_requests_running 3\n").signals[Signal.RUNNING].value

    def test_parts_of_a_ratio_are_not_added_up(self):
        vllm = only('vllm:kv_cache_usage_perc{engine="0"} 0.2\nvllm:kv_cache_usage_perc{engine="1"} 0.7\n')
        assert 0.7 == vllm.signals[Signal.KV_USE].value

    def test_triton_counts_in_microseconds_and_has_no_quantiles(self):
        triton = only(
            'nv_inference_request_success{model="m",version="1"} 40\n'
            'nv_inference_request_failure{model="m",version="1",reason="REJECTED"} 3\n'
            'nv_inference_request_failure{model="m",version="1",reason="OTHER"} 2\n'
            'nv_inference_request_duration_us{model="m",version="1"} 8000000\n'
            'nv_inference_pending_request_count{model="m",version="1"} 5\n'
        )
        e2e = triton.distributions[Distribution.E2E]
        assert (40, pytest.approx(0.2), {}) == (e2e.count, e2e.mean, e2e.quantiles)
        assert (3, 2) == tuple(triton.signals[one].value for one in (Signal.REFUSALS, Signal.FAILURES))
        assert (50, DemandOrigin.ENDINGS) == triton.offered

    def test_a_histogram_in_milliseconds_is_told_in_seconds(self):
        name = "nv_inference_first_response_histogram_ms"
        triton = only(
            f'{name}_bucket{{le="100"}} 40\n{name}_bucket{{le="+Inf"}} 40\n{name}_sum 2000\n{name}_count 40\n'
        )
        ttft = triton.distributions[Distribution.TTFT]
        assert (0.05, 0.1) == (pytest.approx(ttft.mean), ttft.quantiles[0.95].high)

    def test_without_a_request_nothing_was_offered_and_no_mean_is_known(self):
        vllm = only(
            "vllm:request_success_total 0\nvllm:num_requests_running 0\n"
            "vllm:time_to_first_token_seconds_sum 0\nvllm:time_to_first_token_seconds_count 0\n"
            'vllm:time_to_first_token_seconds_bucket{le="+Inf"} 0\n'
        )
        ttft = vllm.distributions[Distribution.TTFT]
        assert ((0, DemandOrigin.ENDINGS), None, {}) == (vllm.offered, ttft.mean, ttft.quantiles)

    def test_where_nothing_counts_requests_nobody_knows_what_was_offered(self):
        assert only("vllm:num_requests_running 3\n").offered is None

    def test_an_engine_of_the_users_own(self):
        ours = engine_of(
            "ours", {"series": {"completions": "done_total", "kv_use": {"name": "full", "scale": 0.01}}}
        )
        told = only("done_total 8\nfull 71.25\n", ours)
        assert (8, 0.7125) == (told.offered[0], told.signals[Signal.KV_USE].value)

    def test_a_chosen_engine_is_the_only_one_that_is_read(self):
        assert () == read("vllm:num_requests_running 1\n", KNOWN["sglang"]).producers


class TestAbsent:
    def test_what_is_missing_for_ever_says_why(self):
        assert (
            only("vllm:num_requests_running 1\n").absent["arrivals"].startswith("requests are counted when")
        )

    def test_a_counter_that_begins_with_the_first_request_is_not_there_yet(self):
        absent = only("sglang:num_running_reqs 0\n").absent
        assert absent["completions"].startswith("no series yet")
        assert "no series" == absent["kv_use"]

    def test_parts_of_a_histogram_are_not_missed_on_their_own(self):
        assert "ttft_count" not in only("vllm:num_requests_running 1\n").absent


DOUBTS = {
    "not a number": ("vllm:kv_cache_usage_perc NaN\n", "vllm:kv_cache_usage_perc is nan: unknown, not zero"),
    "below zero": ("vllm:num_requests_running -1\n", "vllm:num_requests_running is -1: unknown, not zero"),
    "a percentage": (
        "vllm:kv_cache_usage_perc 71.25\n",
        "kv_use is 71.25, above 1: a percentage wants scale 0.01",
    ),
    "a quantile in the top bucket": (
        f"{TTFT}_sum 900\n{TTFT}_count 100\n"
        + line(f"{TTFT}_bucket", 94, le=10)
        + line(f"{TTFT}_bucket", 100, le="+Inf"),
        "ttft from q 0.95 on is beyond its top bucket: at least 10",
    ),
    "few observations": (
        f"{TTFT}_sum 9\n{TTFT}_count 3\n",
        "ttft has only 3 observations",
    ),
}


@pytest.mark.parametrize(("text", "said"), DOUBTS.values(), ids=DOUBTS)
def test_what_is_doubtful_is_said(text, said):
    assert (said,) == only(text).doubtful


def test_what_is_not_a_number_is_not_read():
    assert Signal.KV_USE not in only("vllm:kv_cache_usage_perc NaN\nvllm:num_requests_running 1\n").signals


def test_a_histogram_that_is_not_a_number_tells_nothing():
    told = only(f"{TTFT}_sum 9\n{TTFT}_count NaN\nvllm:num_requests_running 1\n")
    assert Distribution.TTFT not in told.distributions


def test_buckets_that_are_not_numbers_or_have_no_bound_are_left_out():
    text = f"{TTFT}_sum 90\n{TTFT}_count 40\n{TTFT}_bucket 7\n"
    text += (
        line(f"{TTFT}_bucket", "NaN", le=1)
        + line(f"{TTFT}_bucket", 40, le=5)
        + line(f"{TTFT}_bucket", 40, le="+Inf")
    )
    assert (0, 5) == (
        only(text).distributions[Distribution.TTFT].quantiles[0.5].low,
        only(text).distributions[Distribution.TTFT].quantiles[0.5].high,
    )


def test_series_that_carry_nothing_are_counted():
    assert 2 == read("vllm:num_requests_running 1\nup 1\nprocess_cpu_seconds_total 4\n").ignored


class TestCopies:
    def test_one_of_two_scrapers_counts_and_it_is_the_one_that_has_seen_more(self):
        series = [
            Exposed("x", {"pod": "a", "prometheus_replica": r}, (), (v,)) for r, v in (("0", 5), ("1", 7))
        ]
        assert ([series[1]], ["prometheus_replica"]) == without_copies(series)

    def test_nothing_is_taken_away_where_nobody_is_twice(self):
        series = [Exposed("x", {"pod": pod, "job": "engines"}, (), (1,)) for pod in "ab"]
        assert (series, []) == without_copies(series)

    def test_a_replica_label_that_nobody_knows_is_suspected_until_it_is_named(self):
        text = "".join(
            line(f"vllm:{name}", 40, pod="a", ha=replica)
            for name in ("num_requests_running", "num_requests_waiting", "prompt_tokens_total")
            for replica in "01"
        )
        assert ("counted twice? series differ in ha only",) == read(text).doubtful
        told = inspected(parsed(text, "text"), KNOWN.values(), scraper_labels=("ha",))
        assert ("taken once of several that differ in ha only",) == told.doubtful
        assert 40 == told.producers[0].signals[Signal.RUNNING].value


class TestTenants:
    CHAT: ClassVar = {
        "namespace": "llm",
        "pod": "chat",
        "container": "c",
        "vdevice_index": "0",
        "device_uuid": "G",
    }
    HAMI = (
        line("hami_vgpu_memory_used_bytes", 2e9, **CHAT)
        + line("hami_vgpu_memory_limit_bytes", 8e9, **CHAT)
        + line("hami_container_device_utilization_ratio", 75, **CHAT)
        + line("hami_vgpu_memory_used_bytes", 1e9, **CHAT | {"pod": "rank"})
    )

    def test_hami_says_what_each_tenant_of_a_card_uses_and_may(self):
        chat, rank = read(self.HAMI).devices.devices
        assert (("llm/chat",), "G") == (chat.tenants, chat.card)
        assert {
            Signal.GPU_USE: 0.75,
            Signal.GPU_MEMORY_USED: 2e9,
            Signal.GPU_MEMORY_GRANTED: 8e9,
        } == {signal: reading.value for signal, reading in chat.signals.items()}
        assert [1e9] == [reading.value for reading in rank.signals.values()]

    def test_names_of_older_hami(self):
        [device] = read(
            line("vGPU_device_memory_usage_in_bytes", 3, podnamespace="llm", podname="chat", deviceuuid="G")
        ).devices.devices
        assert (("llm/chat",), 3) == (device.tenants, device.signals[Signal.GPU_MEMORY_USED].value)

    def test_kai_says_what_each_pod_uses(self):
        chat = {"namespace": "llm", "pod": "chat", "pod_uuid": "u", "gpu_uuid": "G", "gpu": "0"}
        [device] = read(
            line("gpu_fractioning_gpu_memory_used_bytes", 5e9, **chat)
            + line("gpu_fractioning_gpu_sm_utilization_percent", 40, **chat)
        ).devices.devices
        assert ({Signal.GPU_USE: 0.4, Signal.GPU_MEMORY_USED: 5e9}, "G") == (
            {signal: reading.value for signal, reading in device.signals.items()},
            device.card,
        )

    def test_a_card_that_several_share_is_read_once_and_is_nobodys_own(self):
        shared = "".join(
            f'DCGM_FI_DEV_FB_USED{{UUID="G",hostname="n",namespace="llm",pod="{pod}"}} 100\n' for pod in "ab"
        )
        [device] = read(shared).devices.devices
        assert (("llm/a", "llm/b"), 100 * 2**20) == (
            device.tenants,
            device.signals[Signal.GPU_MEMORY_USED].value,
        )

    def test_the_exporter_is_not_taken_for_the_tenant(self):
        about = {"UUID": "G", "pod": "dcgm-exporter", "namespace": "gpu"}
        tenant = {"exported_pod": "chat", "exported_namespace": "llm"}
        [device] = read(line("DCGM_FI_DEV_FB_USED", 1, **about, **tenant)).devices.devices
        assert ("llm/chat",) == device.tenants


def test_an_answer_without_series_says_nothing_and_is_no_zero():
    told = inspected(Scrape("vector", ()), KNOWN.values())
    assert ((), (), ()) == (told.producers, told.devices.devices, told.answers)
