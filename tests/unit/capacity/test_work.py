"""Recorded demand as work: bucket by bucket, against the yardstick of the model, SLO and fleet of the day."""

from dataclasses import replace

import numpy as np
import pytest

from capacity.catalogue import MODELS
from capacity.estimate import CapacityModel
from fleet.boards import A100_80GB, BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey

CHAT = Workload(
    WorkloadKey("chat", "assistant"),
    "qwen2.5-7b-bf16",
    Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.060)),
)
MINUTES = 300


@pytest.fixture(scope="module")
def history():
    """Requests/s, prompt and output tokens of some minutes, with gaps and idle minutes."""
    rng = np.random.default_rng(3)
    requests = rng.gamma(2.0, 2.0, MINUTES)
    requests[10:20], requests[40:50] = 0.0, np.nan
    prompts, outputs = rng.gamma(4.0, 250.0, MINUTES), rng.gamma(4.0, 60.0, MINUTES)
    prompts[60:65] = np.nan
    return requests, prompts, outputs


def work(workload, history, boards=(H100_80GB,), models=MODELS):
    return CapacityModel(boards, models).work(workload, *history)


def test_each_minute_is_its_requests_over_what_the_reference_sustains_at_its_tokens(history):
    model = CapacityModel([H100_80GB])
    whole = Shape("h100-80gb")

    told = model.work(CHAT, *history)
    for rate, prompt, output, found in zip(*history, told, strict=True):
        if rate == 0:
            assert 0.0 == found
        elif np.isnan(rate) or np.isnan(prompt):
            assert np.isnan(found)
        else:
            assert rate / model.sustained(CHAT, whole, Mix(prompt, output)) == pytest.approx(found)


def test_minutes_do_not_depend_on_one_another(history):
    parts = [work(CHAT, [each[start : start + 60] for each in history]) for start in range(0, MINUTES, 60)]

    assert np.array_equal(work(CHAT, history), np.concatenate(parts), equal_nan=True)


def test_it_is_reckoned_anew_for_another_slo(history):
    """One model remembers what it solved; what it knows of one SLO says nothing of another."""
    model = CapacityModel([H100_80GB])
    loose = model.work(CHAT, *history)
    tight = model.work(replace(CHAT, slo=Slo(itl=LatencyTarget(0.95, 0.012))), *history)

    assert np.nansum(tight) > 1.2 * np.nansum(loose)
    assert np.array_equal(loose, model.work(CHAT, *history), equal_nan=True)


def test_it_is_reckoned_anew_for_another_model(history):
    small, large = (
        np.nansum(work(replace(CHAT, model=name), history))
        for name in ("qwen2.5-3b-bf16", "qwen2.5-14b-bf16")
    )

    assert small < np.nansum(work(CHAT, history)) < large


def test_it_is_reckoned_anew_for_a_fleet_of_other_cards(history):
    """An A100 sustains less, so the same demand is more work; beside an H100 it is no yardstick."""
    on_a100, on_h100, on_both = (
        work(CHAT, history, boards) for boards in ([A100_80GB], [H100_80GB], [A100_80GB, H100_80GB])
    )

    assert np.nansum(on_a100) > 2 * np.nansum(on_h100)
    assert np.array_equal(on_h100, on_both, equal_nan=True)


def test_of_a_model_over_several_cards_it_is_counted_in_groups_of_them(history):
    """Llama-3.3-70B needs four H100 or two H200."""
    llama = replace(CHAT, model="llama-3.3-70b-bf16", slo=Slo(e2e=LatencyTarget(0.95, 60.0)))
    four = CapacityModel([H100_80GB])

    rate = four.sustained(llama, Shape("h100-80gb", cards=4), Mix(1000.0, 250.0))
    told = four.work(llama, np.array([rate]), np.array([1000.0]), np.array([250.0]))
    assert [1.0] == pytest.approx(told.tolist())
    assert np.nansum(work(llama, history)) < np.nansum(work(llama, history, [BOARDS["h200-141gb"]]))


def test_few_mixes_are_solved_however_many_minutes_there_are():
    """Two significant digits of 900 to 1,100 prompt and 240 to 260 output tokens: some thirty mixes."""
    rng = np.random.default_rng(1)
    minutes = 90 * 1440
    model = CapacityModel([H100_80GB])

    prompts, outputs = rng.uniform(900, 1100, minutes), rng.uniform(240, 260, minutes)
    told = model.work(CHAT, np.ones(minutes), prompts, outputs)
    assert minutes == len(told)
    assert len(np.unique(told)) < 40
