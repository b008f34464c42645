"""The command `capacity`: what it prints, draws and refuses."""

import json
import re

import pytest
from typer.testing import CliRunner

from capacity.ask import capacity_of
from capacity.catalogue import MODELS
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Slo
from foreslice.cli import app
from foreslice.sizing.picture import rates_figure
from foreslice.sizing.show import Asked, spelled
from foreslice.sizing.terms import Served, batch_time, board_named, objectives
from tests.builders.configs import LLAMA_8B

QWEN = ["--gpu", "h100-80gb", "--model", "qwen2.5-7b-bf16", "--ttft-p95", "1s", "--itl-p95", "60ms"]


def asked(*arguments):
    """What the command prints, with as much room as it wants."""
    result = CliRunner().invoke(app, ["capacity", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def rows(text):
    """The table by its first column, cells split at two spaces and more."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 2}


class TestText:
    def test_every_shape_is_a_row_with_rate_bound_and_what_stops_it(self):
        table = rows(asked(*QWEN))

        assert ["cards", "requests/s", "at least", "per card", "batch", "KV room", "stopped by"] == table[
            "shape"
        ]
        assert ["1.00", "15.67", "13.62", "15.67", "76", "1,048,530", "compute"] == table["whole"]
        assert "KV room" == table["1g.20gb"][-1]
        assert "weights of 14.2 GiB do not fit in 7.3 GiB" == table["1g.10gb"][-1]
        assert "28 attention heads cannot be dealt out to 8 cards" == table["8x"][-1]

    def test_a_shape_that_is_named_is_the_only_one(self):
        assert ["shape", "3g.40gb"] == [*rows(asked(*QWEN, "--shape", "3g.40gb"))]

    def test_the_first_line_says_what_was_asked_and_the_last_what_it_rests_on(self):
        first, *_, last = asked(*QWEN).splitlines()

        tokens = "1024 prompt and 256 output tokens"
        assert f"qwen2.5-7b-bf16 on h100-80gb, {tokens}, TTFT p95 1s, ITL p95 60ms" == first
        assert last.endswith("Source: prior (data sheets, roofline, slice law), not measured.")

    def test_longer_requests_are_fewer(self):
        one, other = (
            float(rows(asked(*QWEN, "--prompt-tokens", tokens))["whole"][1]) for tokens in ("500", "5000")
        )
        assert one > 3 * other

    def test_a_slice_whose_figures_are_inferred_is_marked(self):
        text = asked("--gpu", "b200-180gb", "--model", "qwen3-8b-fp8", "--e2e-p99", "20s")

        assert {"3g.90gb*", "4g.90gb*", "7g.180gb*", "2g.45gb"} <= set(rows(text))
        assert "* multiprocessors or memory of this slice are inferred" in text

    def test_what_no_request_meets_is_no_matter_of_load(self):
        table = rows(asked("--gpu", "l4-24gb", "--model", "qwen3-4b-fp8", "--itl-p95", "5ms"))

        assert ["0.00", "0.00"] == table["whole"][1:3]
        assert "compute (ITL): one request alone misses it" == table["whole"][-1]

    def test_an_engine_that_might_be_started_shorter_is_pointed_at(self):
        llama = ["--gpu", "h100-80gb", "--model", "llama-3.3-70b-bf16", "--itl-p95", "60ms", "--shape", "2x"]

        assert "(--max-model-len) may fit" in asked(*llama)
        assert "KV room" == rows(asked(*llama, "--max-model-len", "8192"))["2x"][-1]

    def test_the_arithmetic_is_shown_on_demand(self):
        llama = ["--gpu", "h100-80gb", "--model", "llama-3.3-70b-bf16", "--itl-p95", "60ms"]
        text = asked(*llama, "--explain")

        assert "weights: 2.10 bn in token tables x 2 B + 68.45 bn x 2 B = 141.1 GB = 131.4 GiB" in text
        assert "h100-80gb:2x:\n  memory: 2 x (0.9 x 79.6 - 1.5) = 140.4 GiB usable" in text
        assert "room: (280.7 - 131.4) GiB / 320 KiB = 489,273 tokens, longest 131,072" in text
        assert "weights" not in asked(*QWEN, "--shape", "whole")

    def test_shares_are_asked_about_under_a_mechanism_that_makes_them(self):
        table = rows(asked(*QWEN, "--mechanism", "hami"))

        assert ["shape", "whole", "25/100", "50/100", "75/100"] == [*table]
        assert "beside busy neighbours (hami): alpha x 2.52" in asked(
            *QWEN, "--mechanism", "hami", "--shape", "50/100", "--explain"
        )

    def test_a_model_may_be_a_config_of_hugging_face(self, tmp_path):
        (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
        rest = ["--gpu", "h100-80gb", "--ttft-p95", "1s", "--shape", "whole"]
        found, named = (
            rows(asked("--model", model, *rest, *more))["whole"]
            for model, more in (
                (str(tmp_path / "config.json"), ["--format", "fp8", "--kv-format", "fp8"]),
                ("llama-3.1-8b-fp8", ["--kv-format", "fp8"]),
            )
        )

        assert named == found


class TestJson:
    def test_has_everything_the_table_has(self):
        told = json.loads(asked(*QWEN, "--output", "json"))

        assert ("qwen2.5-7b-bf16", "h100-80gb", "dra") == (told["model"], told["board"], told["mechanism"])
        assert ("TTFT p95 1s, ITL p95 60ms", 1024, 256) == (
            told["slo"],
            told["prompt_tokens"],
            told["output_tokens"],
        )
        by_shape = {row["shape"]: row for row in told["shapes"]}
        assert 15.67 == pytest.approx(by_shape["whole"]["requests_per_s"], abs=0.01)
        assert 13.62 == pytest.approx(by_shape["whole"]["requests_per_s_low"], abs=0.01)
        assert ("compute", None, "prior", False) == tuple(
            by_shape["whole"][key] for key in ("binding", "obstacle", "source", "is_inferred")
        )
        assert by_shape["1g.10gb"]["binding"] is None
        assert "arithmetic" not in by_shape["whole"]

    def test_has_the_arithmetic_on_demand(self):
        told = json.loads(asked(*QWEN, "--shape", "1g.10gb", "--explain", "--output", "json"))

        (row,) = told["shapes"]
        assert row["arithmetic"][1].endswith("the weights do not fit")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("plot") / "new" / "capacity.html"
    asked(*QWEN, "--plot", str(file))
    return file.read_text()


class TestPicture:
    def test_is_one_page_that_needs_nothing_else(self, page):
        assert "Plotly" in page
        assert not re.search(r"<(script|link|img)[^>]*(src|href)=", page)

    def test_names_the_shapes_that_cannot_serve(self, page):
        assert "<li>1g.10gb: weights of 14.2 GiB do not fit in 7.3 GiB</li>" in page

    def test_says_what_was_asked_and_that_nothing_was_measured(self, page):
        assert "TTFT p95 1s, ITL p95 60ms</h1>" in page
        assert "Source: prior (data sheets, roofline, slice law), not measured." in page

    def test_shapes_that_serve_are_drawn_once_alone_and_once_for_each_card(self):
        model, mix = MODELS["qwen2.5-7b-bf16"], Mix(1024, 256)
        slo = Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.060))
        shapes = [Shape("h100-80gb", name) for name in ("1g.10gb", "1g.20gb", "4g.40gb")]
        answers = capacity_of(model, H100_80GB, shapes, mix, slo)
        figure = rates_figure(Asked(model, H100_80GB, mix, slo, "dra", answers))

        bars = {(bar.name, bar.xaxis): (bar.y, bar.x) for bar in figure.data if bar.type == "bar"}
        rates = [answer.requests_per_s for answer in answers]
        assert {
            ("stopped by KV room", "x"): (("1g.20gb",), pytest.approx((rates[1],), abs=1e-4)),
            ("stopped by KV room", "x2"): (("1g.20gb",), pytest.approx((rates[1] / 0.25,), abs=1e-3)),
            ("stopped by compute", "x"): (("4g.40gb",), pytest.approx((rates[2],), abs=1e-4)),
            ("stopped by compute", "x2"): (("4g.40gb",), pytest.approx((rates[2] / 0.5,), abs=1e-3)),
        } == bars


class TestBatches:
    BATCHES = ("--gpu", "a100-80gb", "--batch-time", "2ms+0.35ms")

    def test_every_shape_is_a_row(self):
        table = rows(asked(*self.BATCHES, "--e2e-p95", "30ms"))

        assert ["1697.0", "32"] == table["whole"]
        assert float(table["3g.40gb"][0]) < 0.5 * 1697

    def test_a_shape_that_misses_the_target_has_no_rate(self):
        assert ["-", "-"] == rows(asked(*self.BATCHES, "--e2e-p95", "20ms"))["1g.10gb"]

    def test_as_json(self):
        told = json.loads(asked(*self.BATCHES, "--e2e-p95", "30ms", "--shape", "whole", "-o", "json"))

        assert {"board": "a100-80gb", "shapes": told["shapes"]} == told
        assert 32 == told["shapes"][0]["max_batch_size"]

    @pytest.mark.parametrize("more", [("--ttft-p95", "1s"), ("--ttft-p95", "1s", "--e2e-p95", "2s")])
    def test_only_a_latency_to_the_answer_makes_sense(self, more):
        with pytest.raises(InputError, match="a batch has one latency"):
            asked(*self.BATCHES, *more)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--gpu", "h100"], "--gpu: no card h100; use one of h100-80gb, h100-80gb-pcie, h100-94gb"),
        (["--gpu", "tpu-v5"], "--gpu: no card tpu-v5; use one of "),
        ([*QWEN[:4]], "SLO: no objective is named; give --ttft-p95, --itl-p95 or --e2e-p95, as 500ms"),
        ([*QWEN, "--itl-p99", "1s"], "--itl-p95: more than one percentile; name one of a term"),
        ([*QWEN[:4], "--ttft-p95", "1"], "--ttft-p95: '1': a duration needs a number and a unit"),
        ([*QWEN[:4], "--ttft-p95", "500s"], "--ttft-p95: '500s': expected between 10ms and 120s"),
        ([*QWEN[:2], "--itl-p95", "1s"], "--model: no model is named; name one, as llama-3.1-8b-bf16"),
        (
            ["--gpu", "l4-24gb", "--model", "qwen3-8b", "--itl-p95", "1s"],
            "no model qwen3-8b; use one of qwen3-8b-",
        ),
        ([*QWEN, "--shape", "5g.50gb"], "board h100-80gb: no MIG profile 5g.50gb; use one of 1g.10gb"),
        ([*QWEN, "--shape", "50/100"], "shape h100-80gb:50/100: mechanism dra makes no shares of a card"),
        ([*QWEN, "--mechanism", "vgpu"], "contention table: no mechanism vgpu; use one of dra"),
        ([*QWEN, "--kv-format", "int4"], "--kv-format: no number format int4; use one of bf16, fp8"),
        ([*QWEN, "--format", "fp8"], "--format: is for a config.json, not for a name"),
        (["--gpu", "l4-24gb", "--model", "./x.json", "--itl-p95", "1s"], "x.json: no such file"),
        ([*QWEN[:2], "--batch-time", "3ms", "--e2e-p95", "1s"], "--batch-time: '3ms' is no time of a batch"),
        ([*QWEN, "--plot", "/proc/no/page.html"], "/proc/no/page.html: cannot be written"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(arguments, line):
    with pytest.raises(InputError) as refusal:
        asked(*arguments)

    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_objectives_are_spelled_as_they_are_typed():
    slo = objectives({"ttft": {95: "", 99: "500ms"}, "itl": {95: "", 99: ""}, "e2e": {95: "1.5s", 99: ""}})

    assert Slo(ttft=LatencyTarget(0.99, 0.5), e2e=LatencyTarget(0.95, 1.5)) == slo
    assert "TTFT p99 500ms, e2e p95 1500ms" == spelled(slo)


def test_a_format_may_be_given_for_a_config_only(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))

    assert "awq" == Served(str(tmp_path), "awq").spec().format.name
    with pytest.raises(InputError, match="no number format int8"):
        Served(str(tmp_path), "int8").spec()


def test_the_time_of_a_batch_is_two_durations():
    assert (4.0, 0.5) == (batch_time("4ms+0.5ms").fixed_ms, batch_time("4ms + 0.5ms").per_request_ms)
    for text in ("", "4ms", "4+5", "4ms+", "+4ms", "0ms+0ms"):
        with pytest.raises(InputError):
            batch_time(text)


def test_a_card_is_named_by_its_id():
    assert 132 == board_named("h200-141gb").sm
