"""`capacity --bench`: rates by what was measured of a model."""

import json

import pytest
from typer.testing import CliRunner

from capacity.belief import Source
from capacity.catalogue import MODELS
from capacity.contention import expected_law
from fleet.boards import H100_80GB
from fleet.errors import InputError
from fleet.shape import Shape
from foreslice.cli import app
from foreslice.sizing.measured import fitted

QWEN = MODELS["qwen2.5-7b-bf16"]
WHOLE, HALF = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
ASKED = ["capacity", "--gpu", "h100-80gb", "--model", QWEN.name, "--ttft-p95", "1s", "--itl-p95", "60ms"]


@pytest.fixture
def measured(tmp_path):
    """A CSV of a shape that was so many times slower than its prior, at four loads."""

    def write(shape=WHOLE, slower=1.0, name="measured.csv"):
        law = expected_law(QWEN, H100_80GB, shape, "dra").slower(slower)
        rows = [f"1024,256,{n},{law.itl_ms(1024.0, 256.0, float(n))}" for n in (1, 4, 16, 64)]
        path = tmp_path / name
        path.write_text(
            "\n".join(["prompt_tokens,output_tokens,concurrency,itl_ms", *rows]), encoding="utf-8"
        )
        return str(path)

    return write


def answers(*arguments):
    """What the command says of each shape, by name."""
    result = CliRunner().invoke(app, [*ASKED, *arguments, "--output", "json"])
    if result.exception is not None:
        raise result.exception
    return {answer["shape"]: answer for answer in json.loads(result.output)["shapes"]}


def test_a_slower_engine_carries_less_and_is_known_better(measured):
    before, after = answers(), answers("--bench", measured(slower=1.25))

    assert 1 / 1.25 == pytest.approx(
        after["whole"]["requests_per_s"] / before["whole"]["requests_per_s"], rel=0.02
    )
    doubts = [one["whole"]["requests_per_s_low"] / one["whole"]["requests_per_s"] for one in (before, after)]
    assert doubts[0] < 0.9
    assert doubts[1] > 0.95
    assert ["prior", "import"] == [one["whole"]["source"] for one in (before, after)]


def test_a_file_is_of_the_shape_that_is_named_before_it(measured):
    after = answers("--bench", f"3g.40gb={measured(HALF, slower=1.25)}")

    before = answers()
    shares = {
        name: after[name]["requests_per_s"] / before[name]["requests_per_s"] for name in ("3g.40gb", "whole")
    }
    assert 1 / 1.25 == pytest.approx(shares["3g.40gb"], rel=0.02)
    assert shares["3g.40gb"] < shares["whole"] < 1


def test_several_files_are_one_fit(measured):
    both = [measured(slower=1.1), f"3g.40gb={measured(HALF, 1.1, 'half.csv')}"]

    found = fitted(both, QWEN, H100_80GB, "dra")

    assert (HALF,) == found.shapes
    assert Source.IMPORT is found.source
    for shape in (WHOLE, HALF):
        prior = expected_law(QWEN, H100_80GB, shape, "dra")
        assert 1.1 == pytest.approx(found.belief(prior, shape).law.alpha_ms / prior.alpha_ms, rel=0.01)


def test_a_name_with_an_equals_sign_may_be_a_file(measured):
    path = measured(name="batch=64.csv")

    assert fitted([path], QWEN, H100_80GB, "dra").shapes == ()


def test_without_files_nothing_is_fitted():
    assert fitted([], QWEN, H100_80GB, "dra") is None


def test_the_text_says_what_the_rates_rest_on(measured):
    plain, imported = (
        CliRunner().invoke(app, [*ASKED, "--explain", *more]).output.replace("\n", " ")
        for more in ([], ["--bench", measured()])
    )

    assert "Source: prior (data sheets, roofline, slice law), not measured." in plain
    assert "Source: import (fitted to benchmark files" in imported
    assert "The arithmetic is that of the prior" in imported
    assert "The arithmetic is that of the prior" not in plain


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("nowhere.csv", r"nowhere\.csv: cannot be read \(No such file or directory\)"),
        ("9g.90gb=nowhere.csv", r"no MIG profile 9g\.90gb"),
        ("1g.10gb=nowhere.csv", r"qwen2\.5-7b-bf16 on 1g\.10gb: weights of 14\.2 GiB do not fit"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(named, problem):
    with pytest.raises(InputError, match=problem):
        fitted([named], QWEN, H100_80GB, "dra")
