"""Public measurements of engines, read in and fitted: the fitted law says what was measured."""

import pytest

from capacity.catalogue import MODELS
from capacity.fit import fit
from capacity.importers.files import read_benchmark
from capacity.prior import prior
from fleet.boards import A100_40GB, H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape

BATCHES = range(1, 33)

# NEWSLabNTU/Delta-HPC, configs/simulation_config.yaml: vLLM 0.17 on MIG slices of an A100-40GB, bf16. Time
# between tokens = intercept + slope x requests, ms, as they fitted it. Lengths are not given; some are taken.
DELTA_HPC = [
    ("qwen2.5-3b-bf16", "1g.10gb", 21.60, 0.394),
    ("qwen2.5-3b-bf16", "2g.10gb", 21.86, 0.218),
    ("qwen2.5-7b-bf16", "3g.20gb", 23.35, 0.209),
    ("qwen2.5-7b-bf16", "4g.20gb", 23.28, 0.165),
    ("qwen2.5-14b-bf16", "7g.40gb", 24.76, 0.156),
]
LENGTHS = [Mix(32.0, 512.0), Mix(128.0, 512.0), Mix(512.0, 512.0)]


def fitted(tmp_path, name, board, shape, mix, itl_ms):
    """Write latencies by concurrency to a CSV, read it as a benchmark, and fit."""
    rows = [f"{mix.prompt_tokens},{mix.output_tokens},{n},{at}" for n, at in itl_ms.items()]
    path = tmp_path / "measured.csv"
    path.write_text("\n".join(["prompt_tokens,output_tokens,concurrency,itl_ms", *rows]), encoding="utf-8")
    before = prior(MODELS[name], board, shape)
    return fit(read_benchmark(path, shape), {shape: before}, imported=True).belief(before, shape).law


@pytest.mark.parametrize("mix", LENGTHS, ids=lambda mix: f"{mix.prompt_tokens:.0f} tokens")
@pytest.mark.parametrize(("name", "profile", "intercept_ms", "slope_ms"), DELTA_HPC)
def test_published_fits_of_slices_are_met_within_3_percent(
    tmp_path, name, profile, intercept_ms, slope_ms, mix
):
    published = {n: intercept_ms + slope_ms * n for n in BATCHES}

    law = fitted(tmp_path, name, A100_40GB, Shape("a100-40gb", profile), mix, published)

    ours = [law.itl_ms(mix.prompt_tokens, mix.output_tokens, float(n)) for n in BATCHES]
    assert list(published.values()) == pytest.approx(ours, rel=0.03)


def test_the_two_point_example_foretells_its_throughput_within_2_percent(tmp_path):
    """ITL 7.0 ms alone and 8.7 ms at 64, 128 tokens in and out: 7,251.6 tokens/s were measured at 64.

    llm-d-incubation/workload-variant-autoscaler, docs/tutorials/parameter-estimation.md: Llama-3.1-8B, H100.
    """
    name, mix = "llama-3.1-8b-bf16", Mix(128.0, 128.0)

    law = fitted(tmp_path, name, H100_80GB, Shape("h100-80gb"), mix, {1: 7.0, 64: 8.7})

    itl_ms = [law.itl_ms(mix.prompt_tokens, mix.output_tokens, batch) for batch in (1.0, 64.0)]
    assert [7.0, 8.7] == pytest.approx(itl_ms, rel=0.02)
    assert 7251.6 == pytest.approx(64 * 1000 / itl_ms[1], rel=0.02)
