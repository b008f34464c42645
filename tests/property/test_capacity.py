"""What must hold for any law, mix and target: more of anything good never carries less."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capacity.catalogue import MODELS
from capacity.estimate import CapacityModel
from capacity.law import Law
from capacity.prior import kv_tokens, prior
from capacity.queueing import BatchQueue
from capacity.routing import carried
from capacity.sustained import UTILISATION_CAP, sustained_per_s
from fleet.boards import BOARDS, H100_80GB
from fleet.demand import Mix
from fleet.shape import Configuration, Shape, shapes_of, slice_of
from fleet.workload import LatencyTarget, Router, Slo, Workload, WorkloadKey

# The rate is found to 1e-9 of its cap; two caps may differ. A little more room lets in a little more company,
# which a target close to a lone request's latency feels: 4e-6 was seen, a whole card against its 7g.
NOISE = 1 + 1e-4


def between(low, high):
    return st.floats(low, high, allow_nan=False)


laws = st.builds(Law, between(0.5, 80.0), between(1e-3, 1.0), between(0.0, 1e-3))
mixes = st.builds(Mix, between(1.0, 30_000.0), between(1.0, 3000.0))
rooms = between(0.0, 2e6)
targets = st.builds(LatencyTarget, st.sampled_from((0.5, 0.9, 0.95, 0.99)), between(0.005, 20.0))
slos = st.builds(Slo, st.none() | targets, st.none() | targets, st.none() | targets)
factors = between(1.0, 4.0)
shapes = st.sampled_from([shape for board in BOARDS.values() for shape in shapes_of(board)])
models = st.sampled_from([f"qwen2.5-{size}b-{each}" for size in (3, 7, 14) for each in ("bf16", "awq")])

# One model for all examples: what it remembers must not change an answer either.
FLEET = CapacityModel(BOARDS.values())


def rate(law, room, mix, slo):
    return sustained_per_s(law, room, mix, slo).requests_per_s


def relaxed(target, factor):
    return target and LatencyTarget(target.quantile, target.limit_s * factor)


def workload(model, slo):
    return Workload(WorkloadKey("any", "one"), model, slo)


@given(laws, rooms, mixes, slos)
def test_the_rate_is_finite_and_below_the_utilisation_cap(law, room, mix, slo):
    limit = UTILISATION_CAP * law.rate_per_s(mix.prompt_tokens, mix.output_tokens, 256.0)

    assert 0 <= rate(law, room, mix, slo) <= limit * NOISE


@given(laws, rooms, mixes, slos, factors)
def test_looser_targets_never_carry_less(law, room, mix, slo, factor):
    looser = Slo(relaxed(slo.ttft, factor), relaxed(slo.itl, factor), relaxed(slo.e2e, factor))

    assert rate(law, room, mix, slo) <= rate(law, room, mix, looser) * NOISE


@given(laws, rooms, mixes, slos, factors)
def test_more_kv_room_never_carries_less(law, room, mix, slo, factor):
    assert rate(law, room, mix, slo) <= rate(law, room * factor, mix, slo) * NOISE


@given(laws, rooms, mixes, slos, factors)
def test_a_slower_law_never_carries_more(law, room, mix, slo, factor):
    assert rate(law.slower(factor), room, mix, slo) <= rate(law, room, mix, slo) * NOISE


@given(laws, rooms, mixes, slos, factors)
def test_slower_compute_alone_never_carries_more(law, room, mix, slo, factor):
    slower = Law(law.alpha_ms, law.beta_ms_per_token * factor, law.gamma_ms_per_kv_token)

    assert rate(slower, room, mix, slo) <= rate(law, room, mix, slo) * NOISE


@given(laws, rooms, mixes, slos, factors)
def test_longer_prompts_never_carry_more(law, room, mix, slo, factor):
    longer = Mix(mix.prompt_tokens * factor, mix.output_tokens)

    assert rate(law, room, longer, slo) <= rate(law, room, mix, slo) * NOISE


@given(laws, rooms, mixes, factors)
def test_longer_outputs_never_carry_more_where_nobody_is_in_a_hurry(law, room, mix, factor):
    """Latency targets can gain a little: with a longer output each iteration holds less prefill."""
    longer, patient = Mix(mix.prompt_tokens, mix.output_tokens * factor), Slo()

    assert rate(law, room, longer, patient) <= rate(law, room, mix, patient) * NOISE


@given(laws, rooms, mixes, slos, between(0.1, 10.0))
def test_the_unit_of_time_does_not_matter(law, room, mix, slo, factor):
    stretched = Slo(relaxed(slo.ttft, factor), relaxed(slo.itl, factor), relaxed(slo.e2e, factor))

    assert rate(law, room, mix, slo) == pytest.approx(
        factor * rate(law.slower(factor), room, mix, stretched), rel=1e-5, abs=1e-12
    )


@given(st.lists(between(0.01, 100.0), min_size=1, max_size=40), between(0.01, 0.95), st.data())
def test_little_holds_in_any_batch_queue(steps, rho, data):
    """Waits grow with arrivals, and nobody is served faster than the fastest state allows."""
    rates = np.cumsum(steps)[np.newaxis, :]
    places = data.draw(st.integers(1, len(steps)))
    rates = np.minimum(rates, rates[0, places - 1])
    queue, arrivals = BatchQueue(rates, np.array([float(places)])), rho * rates[:, -1]

    steady, calmer = queue.at(arrivals), queue.at(arrivals * 0.9)

    assert 0 <= calmer.wait_s[0] <= steady.wait_s[0] * NOISE
    assert 0 < arrivals[0] * steady.residence_s[0] <= places * NOISE


@given(shapes, models)
def test_a_slice_is_never_faster_or_roomier_than_its_card(shape, name):
    board, model = BOARDS[shape.board], MODELS[name]
    law, whole = prior(model, board, shape), prior(model, board, Shape(board.id))

    assert law.alpha_ms >= whole.alpha_ms
    assert law.beta_ms_per_token >= whole.beta_ms_per_token
    assert kv_tokens(model, board, shape) <= kv_tokens(model, board, Shape(board.id))


@given(models, mixes, st.none() | targets)
def test_of_two_slices_the_one_with_more_of_both_never_carries_less(name, mix, ttft):
    """As long as waiting counts: who minds the ITL alone gains from a small room, which keeps company out."""
    slo = Slo(ttft)
    profiles = sorted(shapes_of(H100_80GB), key=lambda shape: slice_of(H100_80GB, shape).sm)
    rates = {shape: FLEET.sustained(workload(name, slo), shape, mix) for shape in profiles}

    for small in profiles:
        for large in profiles:
            less, more = slice_of(H100_80GB, small), slice_of(H100_80GB, large)
            if less.sm <= more.sm and less.memory_gib <= more.memory_gib:
                assert rates[small] <= rates[large] * NOISE


@given(shapes, models.filter(lambda name: "14b" not in name), st.lists(mixes, min_size=1, max_size=3), slos)
def test_a_capacity_is_bounded_from_below_and_by_the_worst_mix(shape, name, some, slo):
    each = [FLEET.capacity(workload(name, slo), shape, [mix]) for mix in some]
    capacity = FLEET.capacity(workload(name, slo), shape, some)

    if None in each:
        assert capacity is None
    else:
        assert min(one.work for one in each) == capacity.work
        assert min(one.work_low for one in each) == capacity.work_low
        assert 0 <= capacity.work_low < capacity.work


@given(models, mixes, slos)
def test_the_reference_always_carries_one(name, mix, slo):
    capacity = FLEET.capacity(workload(name, slo), FLEET.reference(workload(name, slo)), [mix])

    assert 1.0 == capacity.work
    assert 0 < capacity.work_low < 1


@given(models, mixes, slos, between(1e-3, 1e3), between(1e-3, 1e3))
def test_work_adds_up_over_requests(name, mix, slo, one, other):
    requests = np.array([one, other, one + other])

    work = FLEET.work(
        workload(name, slo), requests, np.full(3, mix.prompt_tokens), np.full(3, mix.output_tokens)
    )

    assert work[0] + work[1] == pytest.approx(work[2])


@given(models, mixes, slos)
def test_rounding_a_mix_never_promises_more(name, mix, slo):
    """What is looked up for the rounded mix is at most what the mix itself sustains."""
    assume(1.1 * (mix.prompt_tokens + mix.output_tokens) <= MODELS[name].max_model_len)
    board = Shape("h100-80gb")
    law, room = prior(MODELS[name], H100_80GB, board), kv_tokens(MODELS[name], H100_80GB, board)
    patient = Slo(ttft=LatencyTarget(0.95, 1000.0))

    assert FLEET.sustained(workload(name, patient), board, mix) <= rate(law, room, mix, patient) * NOISE


@given(
    st.dictionaries(shapes, st.integers(0, 50), max_size=5),
    st.lists(between(0.0, 2.0), min_size=5, max_size=5),
)
def test_equal_shares_never_carry_more_than_shares_by_load(counts, capacities):
    configuration = Configuration(counts)
    by_shape = dict(zip(counts, capacities, strict=False))

    equal, by_load = (carried(configuration, by_shape, router) for router in (Router.EQUAL, Router.WEIGHTED))

    assert 0 <= equal <= by_load * NOISE
