"""Benchmark files become operating points; whatever else is given is refused in one line."""

import json

import pytest

from capacity.importers.files import read_benchmark
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape

CUT = Shape("a100-80gb", "3g.40gb")


def status(mean, count=200):
    return {
        "successful": {"mean": mean, "median": mean, "count": count},
        "errored": {"mean": 0.0, "count": 0},
    }


def guidellm(strategy, concurrency, itl_ms=12.0, ttft_ms=90.0, group="config", **changed):
    """One benchmark of a report in the form of GuideLLM 0.4 and later; `args` before that."""
    metrics = {
        "request_concurrency": status(concurrency),
        "request_latency": status(3.2),
        "prompt_token_count": status(512.0),
        "output_token_count": status(128.0),
        "time_to_first_token_ms": status(ttft_ms),
        "inter_token_latency_ms": status(itl_ms),
    }
    return {"type_": "generative_benchmark", group: {"strategy": strategy}, "metrics": {**metrics, **changed}}


def vllm(**changed):
    """What `vllm bench serve --save-result` writes, less what is not read."""
    result = {
        "date": "20260301-101500",
        "backend": "vllm",
        "num_prompts": 400,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 16,
        "duration": 200.0,
        "completed": 400,
        "total_input_tokens": 204_800,
        "total_output_tokens": 51_600,
        "mean_ttft_ms": 110.0,
        "mean_tpot_ms": 14.0,
        "mean_itl_ms": 14.0,
    }
    return {**result, **changed}


@pytest.fixture
def write(tmp_path):
    def write(content, name="result.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def only(path):
    (point,) = read_benchmark(path, CUT)
    return point


class TestGuideLlm:
    def test_every_load_of_a_sweep_is_a_point(self, write):
        sweep = [
            guidellm({"type_": "synchronous"}, 1.0, itl_ms=9.0, ttft_ms=40.0),
            guidellm({"type_": "concurrent", "streams": 8, "max_concurrency": 8}, 7.6),
            guidellm({"type_": "poisson", "rate": 2.0}, 5.0),
            guidellm({"type_": "throughput", "max_concurrency": 64}, 60.0, ttft_ms=9000.0),
        ]

        points = read_benchmark(write({"args": {}, "benchmarks": sweep}), CUT)

        assert [1.0, 8.0, 6.0, 60.0] == [point.batch for point in points]
        assert [9.0, 12.0, 12.0, 12.0] == [point.itl_ms for point in points]
        assert {Mix(512.0, 128.0)} == {point.mix for point in points}
        assert {(CUT, 200.0, 1.0)} == {(point.shape, point.requests, point.itl_bias) for point in points}

    def test_a_lone_stream_meets_no_iteration_and_a_start_all_at_once_says_nothing(self, write):
        sweep = [
            guidellm({"type_": "synchronous"}, 1.0, itl_ms=9.0, ttft_ms=40.0),
            guidellm({"type_": "constant", "rate": 2.0}, 5.0, ttft_ms=70.0),
            guidellm({"type_": "throughput"}, 60.0, ttft_ms=9000.0),
        ]

        points = read_benchmark(write({"benchmarks": sweep}), CUT)

        assert [49.0, 70.0, None] == [point.ttft_ms for point in points]

    def test_older_reports_have_the_strategy_among_their_arguments(self, write):
        report = {"benchmarks": [guidellm({"type_": "concurrent", "streams": 4}, 3.9, group="args")]}

        assert 4.0 == only(write(report)).batch

    @pytest.mark.parametrize(
        ("broken", "named"),
        [
            ({"inter_token_latency_ms": {}}, "metrics.inter_token_latency_ms.successful.mean (is None)"),
            ({"prompt_token_count": status(0.0)}, "metrics.prompt_token_count.successful.mean (is 0.0)"),
            ({"output_token_count": status("many")}, "output_token_count.successful.mean (is 'many')"),
        ],
    )
    def test_what_a_run_lacks_is_named(self, write, broken, named):
        path = write({"benchmarks": [guidellm({"type_": "poisson"}, 3.0, **broken)]})

        with pytest.raises(InputError, match="benchmark 1") as refusal:
            read_benchmark(path, CUT)

        assert named in refusal.value.what

    @pytest.mark.parametrize("content", [{"benchmarks": [3]}, {"benchmarks": [{"config": [], "metrics": 1}]}])
    def test_nonsense_inside_is_refused_too(self, write, content):
        with pytest.raises(InputError, match="has no number above zero at metrics"):
            read_benchmark(write(content), CUT)

    def test_a_report_without_a_run_is_refused(self, write):
        with pytest.raises(InputError, match="holds no run"):
            read_benchmark(write({"benchmarks": []}), CUT)


class TestVllmBench:
    def test_a_constant_concurrency_is_the_batch(self, write):
        point = only(write(vllm()))

        assert (16.0, 14.0, 110.0, 400.0) == (point.batch, point.itl_ms, point.ttft_ms, point.requests)
        assert Mix(512.0, 129.0) == point.mix

    def test_at_a_rate_little_s_law_tells_who_is_resident(self, write):
        """128 gaps of 14 ms for each of 400 requests in 200 s: 3.584 at any moment, and one that arrives."""
        assert 4.584 == pytest.approx(only(write(vllm(request_rate=2.0, max_concurrency=None))).batch)

    def test_all_at_once_the_first_token_is_the_wait(self, write):
        point = only(write(vllm(max_concurrency=None)))

        assert 3.584 == pytest.approx(point.batch)
        assert point.ttft_ms is None

    def test_more_than_an_engine_takes_wait_for_their_first_token(self, write):
        point = only(write(vllm(max_concurrency=1000)))

        assert (256.0, None) == (point.batch, point.ttft_ms)

    def test_appended_results_are_a_point_each(self, write):
        lines = "\n".join(json.dumps(vllm(max_concurrency=most)) for most in (1, 4, 16))

        assert [1.0, 4.0, 16.0] == [point.batch for point in read_benchmark(write(lines), CUT)]

    @pytest.mark.parametrize("missing", ["duration", "mean_itl_ms", "total_input_tokens", "completed"])
    def test_what_a_result_lacks_is_named(self, write, missing):
        with pytest.raises(InputError, match=rf"has no number above zero at {missing} \(is None\)"):
            read_benchmark(write(vllm(**{missing: None})), CUT)


class TestTable:
    HEAD = "prompt_tokens,output_tokens,concurrency,itl_ms,ttft_ms,requests\n"

    def test_every_row_is_a_point(self, write):
        text = self.HEAD + "512, 128, 1, 9.0, 40, 50\n512,128,16,14.5,,\n"

        first, second = read_benchmark(write(text, "points.csv"), CUT)

        assert (1.0, 9.0, 49.0, 50.0) == (first.batch, first.itl_ms, first.ttft_ms, first.requests)
        assert (16.0, 14.5, None, 100.0) == (second.batch, second.itl_ms, second.ttft_ms, second.requests)

    def test_optional_columns_may_be_left_out(self, write):
        text = "prompt_tokens,output_tokens,concurrency,itl_ms\n512,128,4,11\n"

        assert (4.0, None) == (only(write(text, "points.CSV")).batch, only(write(text, "b.csv")).ttft_ms)

    def test_a_missing_column_is_named(self, write):
        with pytest.raises(InputError, match="has no column concurrency, itl_ms"):
            read_benchmark(write("prompt_tokens,output_tokens\n1,2\n", "points.csv"), CUT)

    @pytest.mark.parametrize("value", ["", "-3", "nan", "fast"])
    def test_a_value_that_is_no_number_is_named_with_its_line(self, write, value):
        path = write(self.HEAD + f"512,128,1,9.0,40,50\n512,128,4,{value},,\n", "points.csv")

        with pytest.raises(InputError, match=r"points\.csv:3: has no number above zero at itl_ms"):
            read_benchmark(path, CUT)


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        ("", "a.json", "is no benchmark result of a known format"),
        ("{}", "a.json", "is no benchmark result of a known format"),
        ("[1, 2]", "a.json", "is no benchmark result of a known format"),
        ('{"results": {"mean": 3}}', "a.json", "is no benchmark result of a known format"),
        ("{broken", "a.json", "is not JSON (line 1: "),
        ("mean ttft 3", "a.txt", "is not JSON (line 1: "),
        ("", "a.csv", "has no column prompt_tokens, output_tokens, concurrency, itl_ms"),
        ("prompt_tokens,output_tokens,concurrency,itl_ms\n", "a.csv", "holds no run"),
        ("prompt_tokens,output_tokens,concurrency,itl_ms\n" + "9" * 200_000, "a.csv", "is no CSV ("),
    ],
)
def test_anything_else_is_refused_with_what_is_read(write, content, name, problem):
    with pytest.raises(InputError) as refusal:
        read_benchmark(write(content, name), CUT)

    assert refusal.value.what.startswith(problem)
    assert refusal.value.fix.startswith("give the JSON of GuideLLM or of `vllm bench serve --save-result`")


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.json: cannot be read \(No such file or directory\)"):
        read_benchmark(tmp_path / "nowhere.json", CUT)
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_benchmark(tmp_path, CUT)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x00{")

    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_benchmark(path, CUT)
