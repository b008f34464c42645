"""The formulas of the law agree with counting iterations by hand, and with published examples."""

import numpy as np
import pytest

from capacity.law import TOKEN_BUDGET, Law, chunks

LAW = Law(alpha_ms=19.7, beta_ms_per_token=0.10, gamma_ms_per_kv_token=3.5e-5)


def iterations_alone(law, prompt, output):
    """Times of the iterations that a request without company goes through, one by one: prefill, decode."""
    parts = -(-prompt // TOKEN_BUDGET)
    part = prompt / parts
    prefill = [law.iteration_ms(part, part * done) for done in range(1, parts + 1)]
    decode = [law.iteration_ms(1.0, prompt + token) for token in range(1, output + 1)]
    return prefill, decode


REQUESTS = [(512, 256), (1, 1), (2048, 10), (2049, 10), (9000, 700)]


@pytest.mark.parametrize(("prompt", "output"), REQUESTS)
def test_a_request_alone_stays_for_the_sum_of_its_iterations(prompt, output):
    prefill, decode = iterations_alone(LAW, prompt, output)

    assert sum(prefill) + sum(decode) == pytest.approx(LAW.residence_ms(prompt, output, 1.0))


@pytest.mark.parametrize(("prompt", "output"), REQUESTS)
def test_the_prefill_of_a_request_alone_is_the_sum_of_its_parts(prompt, output):
    prefill, _ = iterations_alone(LAW, prompt, output)

    assert sum(prefill) == pytest.approx(LAW.prefill_ms(prompt, output, 1.0))


@pytest.mark.parametrize(("prompt", "output"), REQUESTS)
def test_the_itl_of_a_request_alone_is_its_mean_decode_iteration(prompt, output):
    _, decode = iterations_alone(LAW, prompt, output)

    assert np.mean(decode) == pytest.approx(LAW.itl_ms(prompt, output, 1.0))


@pytest.mark.parametrize(("prompt", "output"), REQUESTS)
def test_a_first_token_waits_for_the_running_iteration_and_its_own_prefill(prompt, output):
    prefill, decode = iterations_alone(LAW, prompt, output)

    assert np.mean(decode) + sum(prefill) == pytest.approx(LAW.ttft_ms(prompt, output, 1.0))


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, 1), (2047, 1), (2048, 1), (2049, 2), (4096, 2), (4097, 3)]
)
def test_a_prompt_is_split_where_it_exceeds_the_budget_of_an_iteration(tokens, expected):
    assert expected == chunks(tokens)


def test_the_largest_rate_is_that_of_the_published_example():
    """64 places, 512 prompt and 256 output tokens: 6.19 requests/s (llm-inferno form of the law)."""
    assert 6.19 == pytest.approx(LAW.rate_per_s(512.0, 256.0, 64.0), abs=0.005)


def test_iterations_reproduce_the_two_point_example():
    """ITL 7.0 ms at batch 1 and 8.7 ms at 64, 7,251.6 tokens/s at 64 (llm-d workload-variant-autoscaler)."""
    law = Law(alpha_ms=6.973, beta_ms_per_token=0.027, gamma_ms_per_kv_token=0.0)

    assert 7.0 == pytest.approx(law.iteration_ms(1.0, 0.0), abs=0.005)
    assert 8.7 == pytest.approx(law.iteration_ms(64.0, 0.0), abs=0.005)
    assert 7251.6 == pytest.approx(64 * 1000 / law.iteration_ms(64.0, 0.0), rel=0.02)


def test_each_companion_slows_every_iteration_by_the_same_time():
    delta = LAW.delta_ms(512.0, 256.0)

    assert delta == pytest.approx(LAW.itl_ms(512.0, 256.0, 11.0) - LAW.itl_ms(512.0, 256.0, 10.0))
    assert 257 * delta == pytest.approx(
        LAW.residence_ms(512.0, 256.0, 11.0) - LAW.residence_ms(512.0, 256.0, 10.0)
    )


def test_no_batch_is_faster_than_the_work_of_its_requests():
    limit = 1000 / LAW.work_ms(512.0, 256.0)

    assert LAW.rate_per_s(512.0, 256.0, 1e9) == pytest.approx(limit)
    assert LAW.rate_per_s(512.0, 256.0, 256.0) < limit


def test_a_slower_law_takes_longer_by_its_factor():
    slow = LAW.slower(1.25)

    assert 1.25 * LAW.iteration_ms(700.0, 9000.0) == pytest.approx(slow.iteration_ms(700.0, 9000.0))
    assert 1.25 * LAW.ttft_ms(700.0, 90.0, 5.0) == pytest.approx(slow.ttft_ms(700.0, 90.0, 5.0))
    assert LAW.rate_per_s(700.0, 90.0, 5.0) / 1.25 == pytest.approx(slow.rate_per_s(700.0, 90.0, 5.0))


@pytest.mark.parametrize("formula", ["residence_ms", "rate_per_s", "prefill_ms", "itl_ms", "ttft_ms"])
def test_arrays_give_what_their_elements_give(formula):
    prompts, outputs, batches = (
        np.array([1.0, 512.0, 5000.0]),
        np.array([7.0, 256.0, 1.0]),
        np.array([1.0, 9.5, 200.0]),
    )

    together = getattr(LAW, formula)(prompts, outputs, batches)

    one_by_one = [getattr(LAW, formula)(*one) for one in zip(prompts, outputs, batches, strict=True)]
    assert one_by_one == together.tolist()
