"""What must hold of priors for any model on any card: more hardware is never slower, and nothing is free."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.ask import askable, capacity_of
from capacity.catalogue import ARCHITECTURES, MODELS
from capacity.contention import CONTENTION, NONE, expected_law
from capacity.formats import FORMATS
from capacity.hardware import speed_of
from capacity.prior import AGREEMENT_MS, AGREEMENTS_PER_LAYER, fits, kv_tokens, obstacle, prior
from fleet.boards import BOARDS
from fleet.demand import Mix
from fleet.shape import Shape, shapes_of, share_of, slice_of
from fleet.workload import LatencyTarget, Slo

boards = st.sampled_from([*BOARDS.values()])
models = st.sampled_from([*MODELS.values()])
cards = st.sampled_from((1, 2, 4, 8))
mixes = st.builds(Mix, st.floats(1, 4000), st.floats(1, 1000))
lengths = st.integers(1, 200_000)
shares = st.integers(5, 95)
sharing = st.sampled_from([name for name, contention in CONTENTION.items() if contention is not NONE])


def parameters(law):
    return (law.alpha_ms, law.beta_ms_per_token, law.gamma_ms_per_kv_token)


@given(models, boards)
def test_every_law_is_positive_and_slower_on_a_slice(model, board):
    whole = parameters(prior(model, board, Shape(board.id)))

    assert min(whole) > 0
    for shape in shapes_of(board):
        assert all(
            part >= full for part, full in zip(parameters(prior(model, board, shape)), whole, strict=True)
        )


@given(models, boards, cards)
def test_more_cards_are_never_more_than_that_much_faster_and_slower_by_their_all_reduces_at_most(
    model, board, n
):
    assume(n <= speed_of(board).nvlink_cards)
    one, many = (prior(model, board, Shape(board.id, cards=k)) for k in (1, n))
    agreements_ms = AGREEMENTS_PER_LAYER * model.architecture.layers * AGREEMENT_MS

    assert all(n * a >= b * (1 - 1e-9) for a, b in zip(parameters(many), parameters(one), strict=True))
    assert many.alpha_ms <= one.alpha_ms + agreements_ms
    assert many.gamma_ms_per_kv_token <= one.gamma_ms_per_kv_token * (1 + 1e-9)


@given(models, boards, cards, lengths)
def test_an_engine_starts_only_with_room_for_weights_and_its_longest_sequence(model, board, n, length):
    one = replace(model, max_model_len=length)
    shape = Shape(board.id, cards=n)
    why = obstacle(one, board, shape)

    assert (why is None) == fits(one, board, shape)
    if why is None:
        assert kv_tokens(one, board, shape) >= length
        assert one.weight_bytes < slice_of(board, shape).memory_gib * 2**30


@given(models, boards, cards, st.integers(1, 100_000), st.integers(1, 100_000))
def test_a_longer_longest_sequence_never_lets_an_engine_start(model, board, n, length, more):
    short, long = (replace(model, max_model_len=each) for each in (length, length + more))

    assert fits(short, board, Shape(board.id, cards=n)) >= fits(long, board, Shape(board.id, cards=n))


@given(st.sampled_from([*ARCHITECTURES]))
def test_fewer_bits_are_never_heavier(name):
    weights = [MODELS[f"{name}-{each}"].weight_bytes for each in ("bf16", "fp8", "awq")]

    assert sorted(weights, reverse=True) == weights
    assert MODELS[f"{name}-awq"].weight_bytes == MODELS[f"{name}-gptq"].weight_bytes


@given(models)
def test_no_more_is_read_or_computed_than_there_is(model):
    assert 0 < model.active_parameters <= model.parameters
    assert 0 < model.streamed_bytes <= model.weight_bytes


@given(models, boards, sharing, shares, shares)
def test_a_larger_share_is_never_slower_and_none_as_fast_as_the_card(model, board, mechanism, one, other):
    small, large = (share_of(board, n) for n in sorted((one, other)))
    laws = [parameters(expected_law(model, board, shape, mechanism)) for shape in (small, large)]
    whole = parameters(prior(model, board, Shape(board.id)))

    assert all(a >= b > c for a, b, c in zip(*laws, whole, strict=True))


@given(st.sampled_from([*ARCHITECTURES]), st.sampled_from([*FORMATS]), boards, mixes)
def test_answers_are_bounded_and_either_refused_or_answered(name, form, board, mix):
    model = MODELS[f"{name}-{form}"]
    slo = Slo(LatencyTarget(0.95, 5.0), LatencyTarget(0.95, 0.2))

    for answer in capacity_of(model, board, askable(board, "dra"), mix, slo):
        assert (answer.obstacle is None) == (answer.binding is not None)
        assert 0 <= answer.requests_per_s_low <= answer.requests_per_s * (1 + 1e-6)
        if answer.obstacle is not None:
            assert 0 == answer.requests_per_s == pytest.approx(answer.kv_tokens)
