"""`foreslice metrics inspect`: what people and scripts see of a scrape, and one line for what is none."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.errors import InputError, UnavailableError
from foreslice.cli import app
from tests.prometheus.server import serving

CASES = Path(__file__).parents[2] / "data" / "cases"


def run(*arguments, said=None):
    result = CliRunner().invoke(app, ["metrics", "inspect", *map(str, arguments)], input=said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def inspect(*arguments, said=None):
    return json.loads(run(*arguments, "--output", "json", said=said))


@pytest.fixture
def serve():
    """A function that serves one answer on loopback."""
    with ExitStack() as opened:

        def start(status, kind, content):
            def answer(request):
                request.send_response(status)
                request.send_header("Content-Type", kind)
                request.end_headers()
                request.wfile.write(content.encode())

            return f"http://{opened.enter_context(serving(answer))}/metrics"

        yield start


class TestJson:
    def test_an_engine(self):
        told = inspect(CASES / "vllm-v0.prom")
        [vllm] = told["producers"]
        assert ("exposition", True, "vllm", "v0", "example-org/chat-8b") == (
            told["form"],
            told["is_complete"],
            vllm["engine"],
            vllm["version"],
            vllm["model"],
        )
        assert {"value": 0.7125, "unit": "ratio", "series": ["vllm:gpu_cache_usage_perc"]} == vllm["signals"][
            "kv_use"
        ]
        ttft = vllm["distributions"]["ttft"]
        assert (840, "s", pytest.approx(0.975)) == (
            ttft["count"],
            ttft["unit"],
            ttft["quantiles"]["p95"]["value"],
        )
        assert {"value": 857, "unit": "requests", "counted": "requests that ended in the engines"} == vllm[
            "offered"
        ]

    def test_a_censored_quantile_has_no_upper_bound(self):
        text = "".join(
            f"vllm:time_to_first_token_seconds_{part}\n"
            for part in ('bucket{le="10"} 1', 'bucket{le="+Inf"} 9', "count 9", "sum 200")
        )
        [vllm] = inspect("-", said=text)["producers"]
        assert {"value": 10, "low": 10, "high": None, "is_censored": True} == vllm["distributions"]["ttft"][
            "quantiles"
        ]["p95"]

    def test_what_stands_in_for_what_is_not_measured(self):
        [tgi] = inspect(CASES / "tgi.prom")["producers"]
        assert pytest.approx(1.321228, abs=1e-6) == tgi["stand_ins"]["ttft"]["at_most"]["p95"]
        assert "ttft" in tgi["absent"]

    def test_cards_and_slices(self):
        told = inspect(CASES / "dcgm-mig.prom")
        assert 5 == len(told["devices"])
        [free] = [device for device in told["devices"] if not device["tenants"]]
        assert ("11", "1g.10gb", "node-a") == (free["slice"], free["profile"], free["node"])
        assert 990.1 == pytest.approx(sum(card["signals"]["gpu_power"]["value"] for card in told["cards"]))
        [whole] = [device for device in told["devices"] if device["slice"] is None]
        assert ["llm/chat-whole-0"] == whole["tenants"]

    def test_growth_of_a_counter_that_was_read_several_times(self):
        [vllm] = inspect(CASES / "counter-reset.json")["producers"]
        tokens = vllm["signals"]["output_tokens"]
        assert (3040, 90, 1, pytest.approx(33.777778)) == (
            tokens["increase"],
            tokens["over_s"],
            tokens["resets"],
            tokens["per_s"],
        )

    def test_results_of_an_expression(self):
        told = inspect(CASES / "ha-replicas.json")
        assert (4.0, 2) == (told["answers_sum"], len(told["answers"]))
        assert inspect(CASES / "vllm-v0.prom")["answers_sum"] is None

    def test_a_result_that_is_not_a_number_is_null(self):
        answer = {"data": {"resultType": "scalar", "result": [0, "NaN"]}, "status": "success"}
        told = inspect("-", said=json.dumps(answer))
        assert ([{"labels": {}, "value": None}], None) == (told["answers"], told["answers_sum"])

    def test_an_incomplete_answer(self):
        told = inspect(CASES / "partial-thanos.json")
        assert (False, 210) == (told["is_complete"], told["answers_sum"])


class TestText:
    def test_people_see_values_sources_and_doubts(self):
        lines = run(CASES / "nim.prom", "--engine", "nim").splitlines()
        assert "NVIDIA NIM for LLMs (engine) model=meta/example-8b-instruct" in lines
        assert "  kv_use             0.334        ratio  gpu_cache_usage_perc" in lines
        assert any(line.startswith("  tpot               absent: ") for line in lines)
        assert any("its names are anybody's" in line for line in lines)

    def test_a_quantile_that_is_a_bound_says_so(self):
        text = (CASES / "tgi.prom").read_text(encoding="utf-8")
        assert "not measured; p50 <= " in run("-", said=text)

    def test_growth_devices_cards_and_what_is_left_out(self):
        assert "1240         tokens (+3040 in 90 s)" in run(CASES / "counter-reset.json")
        shown = run(CASES / "dcgm-mig.prom")
        assert "DCGM exporter node-a GPU-00000000-0000-4000-8000-000000000000 11 1g.10gb: free" in shown
        assert "card node-a GPU-00000000-0000-4000-8000-000000000001" in shown
        assert "2 series carry nothing that is read" in shown
        assert "INCOMPLETE" in run(CASES / "partial-thanos.json")
        assert "2 results of an expression, together 4" in run(CASES / "ha-replicas.json")


class TestSources:
    def test_an_address_is_asked_once(self, serve):
        url = serve(200, "text/plain; version=0.0.4", "vllm:num_requests_running 3\n")
        assert 3 == inspect(url)["producers"][0]["signals"]["running"]["value"]

    def test_an_address_that_answers_json(self, serve):
        answer = {"status": "success", "data": {"resultType": "scalar", "result": [0, "7"]}}
        assert 7 == inspect(serve(200, "application/json", json.dumps(answer)))["answers_sum"]

    def test_an_error_of_the_api_says_what_to_do(self, serve):
        url = serve(400, "application/json", (CASES / "error-400.json").read_text(encoding="utf-8"))
        with pytest.raises(InputError, match="ask for less at once"):
            run(url)

    def test_an_address_that_refuses(self, serve):
        with pytest.raises(UnavailableError, match="answers HTTP 503"):
            run(serve(503, "text/plain", "busy"))

    def test_nobody_there(self):
        with pytest.raises(
            UnavailableError, match=r"http://127.0.0.1:1: does not answer \(ConnectionError\)"
        ):
            run("http://127.0.0.1:1")

    def test_no_such_file(self, tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            run(tmp_path / "none")

    def test_a_file_that_is_no_text(self, tmp_path):
        path = tmp_path / "binary"
        path.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match="is not UTF-8 text"):
            run(path)


def test_an_engine_that_nobody_knows():
    with pytest.raises(InputError, match="no engine 'trtllm' is known; name auto, "):
        run(CASES / "vllm-v0.prom", "--engine", "trtllm")


def test_engines_and_labels_of_a_settings_file(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(
        "version: v1\n"
        "metrics: {source: prometheus, url: http://prometheus:9090, replica_labels: [ha]}\n"
        "engines: {ours: {series: {completions: done_total, kv_use: {name: full, scale: 0.01}}}}\n"
        "workloads: [{name: chat, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}]\n"
    )
    told = inspect("-", "--config", path, said='done_total{ha="0"} 8\ndone_total{ha="1"} 8\nfull 71.25\n')
    [ours] = told["producers"]
    assert ("ours", 0.7125, 8) == (
        ours["engine"],
        ours["signals"]["kv_use"]["value"],
        ours["offered"]["value"],
    )
