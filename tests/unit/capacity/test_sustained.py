"""The largest rate inside an SLO: what limits it, and that it is neither more nor less."""

from dataclasses import astuple

import numpy as np
import pytest

from capacity.law import Law, stacked
from capacity.replica import Replica
from capacity.sustained import (
    UTILISATION_CAP,
    Binding,
    MeanTargets,
    mean_targets,
    sustained,
    sustained_per_s,
)
from capacity.tails import e2e_tail, itl_tail, ttft_tail
from fleet.demand import Mix
from fleet.workload import LatencyTarget, Slo

LAW = Law(alpha_ms=19.7, beta_ms_per_token=0.10, gamma_ms_per_kv_token=3.5e-5)
CHAT = Mix(512.0, 256.0)
ROOM_FOR_ONE = CHAT.prompt_tokens + CHAT.output_tokens
AMPLE = 1e9


def slo(ttft_s=None, itl_s=None, e2e_s=None, quantile=0.95):
    return Slo(*(LatencyTarget(quantile, limit_s) if limit_s else None for limit_s in (ttft_s, itl_s, e2e_s)))


def latencies(kv_tokens, mix, rate):
    engine = Replica(LAW, kv_tokens, np.array([mix.prompt_tokens]), np.array([mix.output_tokens]))
    return engine.at(np.array([rate]))


def test_without_targets_utilisation_is_the_limit():
    answer = sustained_per_s(LAW, AMPLE, CHAT, slo())

    assert UTILISATION_CAP * LAW.rate_per_s(512.0, 256.0, 256.0) == pytest.approx(answer.requests_per_s)
    assert Binding.COMPUTE is answer.binding


def test_loose_targets_do_not_bind():
    assert sustained_per_s(LAW, AMPLE, CHAT, slo()) == sustained_per_s(LAW, AMPLE, CHAT, slo(60.0, 2.0))


def test_a_full_kv_cache_is_named_as_the_limit():
    answer = sustained_per_s(LAW, 40 * ROOM_FOR_ONE, CHAT, slo())

    assert UTILISATION_CAP * LAW.rate_per_s(512.0, 256.0, 40.0) == pytest.approx(answer.requests_per_s)
    assert Binding.KV is answer.binding


def test_a_tight_itl_is_used_up_exactly():
    answer = sustained_per_s(LAW, AMPLE, CHAT, slo(itl_s=0.040))

    assert Binding.COMPUTE_ITL is answer.binding
    point = latencies(AMPLE, CHAT, answer.requests_per_s)
    assert 40.0 == pytest.approx(point.itl_ms[0] * itl_tail(0.95), rel=1e-6)


def test_a_tight_ttft_is_used_up_exactly():
    answer = sustained_per_s(LAW, AMPLE, CHAT, slo(ttft_s=0.380))

    assert Binding.COMPUTE_TTFT is answer.binding
    point = latencies(AMPLE, CHAT, answer.requests_per_s)
    assert 380.0 == pytest.approx(point.ttft_ms[0] * ttft_tail(0.95), rel=1e-6)


def test_a_tight_end_to_end_time_is_used_up_exactly():
    answer = sustained_per_s(LAW, AMPLE, CHAT, slo(e2e_s=20.0))

    assert Binding.COMPUTE_E2E is answer.binding
    point = latencies(AMPLE, CHAT, answer.requests_per_s)
    assert 20_000.0 == pytest.approx(point.e2e_ms[0] * e2e_tail(0.95), rel=1e-6)


def test_waiting_for_kv_room_is_a_lack_of_kv_room_though_the_ttft_is_missed():
    answer = sustained_per_s(LAW, 2 * ROOM_FOR_ONE, CHAT, slo(ttft_s=2.0))

    assert Binding.KV is answer.binding
    assert answer.requests_per_s < UTILISATION_CAP * LAW.rate_per_s(512.0, 256.0, 2.0)
    assert latencies(2 * ROOM_FOR_ONE, CHAT, answer.requests_per_s).wait_ms[0] > 100.0


def test_the_tighter_of_two_targets_decides():
    ttft, itl = (sustained_per_s(LAW, AMPLE, CHAT, one) for one in (slo(0.380), slo(itl_s=0.040)))

    both = sustained_per_s(LAW, AMPLE, CHAT, slo(0.380, 0.040))

    assert min(ttft.requests_per_s, itl.requests_per_s) == pytest.approx(both.requests_per_s)


@pytest.mark.parametrize(
    ("kv_tokens", "target", "binding"),
    [
        (0.0, slo(), Binding.KV),
        (767.0, slo(), Binding.KV),
        (AMPLE, slo(ttft_s=0.05), Binding.COMPUTE_TTFT),
        (AMPLE, slo(itl_s=0.015), Binding.COMPUTE_ITL),
        (AMPLE, slo(e2e_s=10.0), Binding.COMPUTE_E2E),
    ],
)
def test_what_a_request_alone_cannot_have_is_refused_with_the_reason(kv_tokens, target, binding):
    answer = sustained_per_s(LAW, kv_tokens, CHAT, target)

    assert (0.0, 0.0, binding) == (answer.requests_per_s, answer.batch, answer.binding)


def test_one_request_that_just_fits_is_served():
    assert sustained_per_s(LAW, 768.0, CHAT, slo()).requests_per_s > 0


def test_batch_is_what_is_in_service_at_that_rate():
    answer = sustained_per_s(LAW, AMPLE, CHAT, slo(itl_s=0.040))

    assert latencies(AMPLE, CHAT, answer.requests_per_s).batch[0] == pytest.approx(answer.batch, rel=1e-6)
    assert 1 < answer.batch < 256


def test_the_means_of_an_slo_are_its_limits_over_their_tails():
    targets = mean_targets([slo(1.0, 0.05, 9.0, quantile=0.99)] * 2)

    assert [1000 / ttft_tail(0.99)] * 2 == targets.ttft_ms.tolist()
    assert [50 / itl_tail(0.99)] * 2 == targets.itl_ms.tolist()
    assert [9000 / e2e_tail(0.99)] * 2 == targets.e2e_ms.tolist()


def test_a_missing_term_has_no_mean():
    targets = mean_targets([slo()])

    assert [np.inf] == targets.ttft_ms.tolist()
    assert [np.inf] == targets.itl_ms.tolist()
    assert [np.inf] == targets.e2e_ms.tolist()


def test_mixes_solved_together_are_as_if_solved_alone():
    mixes = [Mix(512.0, 256.0), Mix(30_000.0, 10.0), Mix(1.0, 1.0), Mix(900_000.0, 1.0), Mix(4000.0, 900.0)]
    prompts = np.array([mix.prompt_tokens for mix in mixes])
    outputs = np.array([mix.output_tokens for mix in mixes])
    target = slo(2.5, 0.060)

    together = sustained(LAW, 200_000.0, prompts, outputs, mean_targets([target] * len(mixes)))

    assert [sustained_per_s(LAW, 200_000.0, mix, target) for mix in mixes] == together
    assert [True, False, True, False, True] == [answer.requests_per_s > 0 for answer in together]


def test_laws_and_rooms_solved_together_are_as_if_solved_alone():
    """So that all shapes of a board take one call."""
    laws, rooms = [LAW, LAW.slower(1.6), LAW.slower(0.4)], [AMPLE, 60_000.0, 900.0]
    of_each = Law(*(np.array(each) for each in zip(*map(astuple, laws), strict=True)))
    target = slo(2.5, 0.045, 30.0)

    prompts, outputs = np.full(3, CHAT.prompt_tokens), np.full(3, CHAT.output_tokens)
    together = sustained(of_each, np.array(rooms), prompts, outputs, mean_targets([target] * 3))

    alone = [sustained_per_s(law, room, CHAT, target) for law, room in zip(laws, rooms, strict=True)]
    assert alone == together


def test_less_than_a_token_counts_as_one():
    assert sustained_per_s(LAW, AMPLE, Mix(1.0, 1.0), slo()) == sustained_per_s(
        LAW, AMPLE, Mix(0.0, 0.0), slo()
    )


def test_no_mixes_have_no_answers():
    assert [] == sustained(LAW, AMPLE, np.array([]), np.array([]), mean_targets([]))


def test_no_guess_moves_what_halving_alone_finds():
    """To the last bit, one row or many: laws, rooms, mixes and targets of all kinds."""
    chance = np.random.default_rng(3)
    for count in [1] * 40 + [12] * 10:
        laws = stacked([Law(*chance.lognormal(np.log([8.0, 0.02, 2e-5]), 0.8)) for _ in range(count)])
        prompts, outputs = np.exp(chance.uniform(0, 11, count)), np.exp(chance.uniform(0, 8, count))
        rooms, alone = 2 * (prompts + outputs) * np.exp(chance.uniform(0, 6, count)), np.ones(count)
        # From all but refused (a rate of next to nothing) to far from what binds.
        loose = 1 + np.exp(chance.uniform(-16, 2, (3, count)))
        targets = MeanTargets(
            loose[0] * laws.ttft_ms(prompts, outputs, alone),
            loose[1] * laws.itl_ms(prompts, outputs, alone),
            np.where(
                chance.random(count) < 0.3, np.inf, loose[2] * laws.residence_ms(prompts, outputs, alone)
            ),
        )
        found = sustained(laws, rooms, prompts, outputs, targets)

        replica = Replica(laws, rooms, prompts, outputs)
        cap = UTILISATION_CAP * replica.full_rate_per_s
        low, high = np.zeros(count), cap
        for _ in range(29):
            trial = (low + high) / 2
            is_met = targets.met_by(replica.at(trial))
            low, high = np.where(is_met, trial, low), np.where(is_met, high, trial)
        halved = np.where(targets.met_by(replica.at(cap)), cap, low)
        assert halved.tolist() == [one.requests_per_s for one in found]


def test_no_guess_comes_to_a_rate_of_nothing():
    """At which a queue has no mean: as where a row that is all but refused is found before the others."""
    prompts, outputs, alone = np.full(2, 700.0), np.full(2, 90.0), np.ones(2)
    law = LAW.for_each(prompts)
    itl = law.itl_ms(prompts, outputs, alone) * (1 + np.array([1e-13, 0.1]))
    endless = np.full(2, np.inf)

    # A warning of numpy's fails this.
    found = sustained(law, AMPLE, prompts, outputs, MeanTargets(endless, itl, endless))
    assert [True, False] == [one.requests_per_s < 1e-6 for one in found]
