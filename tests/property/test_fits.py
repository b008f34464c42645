"""What must hold for any measurement: slopes rest on contrasts, doubt never grows, bounds stay below."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from capacity.belief import Source
from capacity.catalogue import MODELS
from capacity.estimate import CapacityModel
from capacity.fit import Point, fit
from capacity.histograms import Window
from capacity.operations import Operations
from capacity.prior import prior
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.shape import shapes_of
from fleet.workload import LatencyTarget, Slo, Workload, WorkloadKey

QWEN = MODELS["qwen2.5-7b-bf16"]
PRIORS = {shape: prior(QWEN, H100_80GB, shape) for shape in shapes_of(H100_80GB)}
SERVED = Workload(
    WorkloadKey("any", "one"), QWEN.name, Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.06))
)
NOISE = 1 + 1e-6


def between(low, high):
    return st.floats(low, high, allow_nan=False)


shapes = st.sampled_from(list(PRIORS))
mixes = st.builds(Mix, between(10.0, 8000.0), between(2.0, 1000.0))


@st.composite
def points(draw):
    """A latency within a factor of 3 of what the prior says, at any load."""
    shape, mix, batch = draw(shapes), draw(mixes), draw(between(1.0, 256.0))
    law, lengths = PRIORS[shape], (mix.prompt_tokens, mix.output_tokens)
    return Point(
        shape,
        mix,
        batch,
        itl_ms=law.itl_ms(*lengths, batch) * draw(between(0.33, 3.0)),
        ttft_ms=draw(st.none() | between(0.33, 3.0).map(lambda f: f * law.ttft_ms(*lengths, batch))),
        requests=draw(between(1.0, 1e5)),
    )


some = st.lists(points(), min_size=1, max_size=12)


@given(points(), st.integers(1, 20))
def test_one_operating_point_never_moves_a_slope(point, times):
    belief = fit([point] * times, PRIORS).belief(PRIORS[point.shape], point.shape)

    assert PRIORS[point.shape].beta_ms_per_token == belief.law.beta_ms_per_token
    assert PRIORS[point.shape].gamma_ms_per_kv_token == belief.law.gamma_ms_per_kv_token
    assert Source.CORRECTED is belief.source


@given(some)
def test_a_fit_is_finite_and_its_doubt_a_covariance(measured):
    found = fit(measured, PRIORS)

    for shape, law in PRIORS.items():
        belief = found.belief(law, shape)
        assert np.isfinite([belief.law.alpha_ms, belief.law.beta_ms_per_token]).all()
        assert belief.law.alpha_ms > 0
        assert np.linalg.eigvalsh(belief.covariance).min() > -1e-12


@given(some)
def test_no_measurement_makes_a_law_more_doubtful(measured):
    before, after = fit([], PRIORS), fit(measured, PRIORS)

    for shape, law in PRIORS.items():
        was, now = (found.belief(law, shape).covariance for found in (before, after))
        assert (np.diag(now) <= np.diag(was) * NOISE).all()


SLICE = next(shape for shape in PRIORS if shape.profile == "4g.40gb")
A_THIRD = Point(SLICE, Mix(73.0, 2.0), 96.0, itl_ms=39.7, ttft_ms=None, requests=1.0)
"""So far from what the prior says that most of it stays unexplained."""

WHOLE = next(shape for shape in PRIORS if shape.is_one_card)
CROWDS = [
    Point(WHOLE, Mix(45.0, 2.0), batch, itl_ms, ttft_ms=None, requests=1.0)
    for batch, itl_ms in ((155.0, 97.75982257491103), (161.0, 101.10966230605527))
]
"""Nearly all prefill, and slow: a slower law lets the objectives give way further."""


@given(points(), between(1.01, 2.0))
@example(A_THIRD, 1.06)
def test_a_slower_measurement_never_makes_a_law_faster(point, factor):
    slower = replace(point, itl_ms=point.itl_ms * factor)

    fast, slow = (fit([one], PRIORS).belief(PRIORS[point.shape], point.shape).law for one in (point, slower))
    assert fast.alpha_ms <= slow.alpha_ms * NOISE


@given(some, mixes)
@example(CROWDS, Mix(10.0, 2.0))
def test_whatever_was_measured_a_capacity_is_bounded_from_below(measured, mix):
    assume(mix.prompt_tokens + mix.output_tokens <= QWEN.max_model_len)
    model = CapacityModel([H100_80GB])
    model.learn(SERVED.key, fit(measured, PRIORS))

    for capacity in model.capacities(SERVED, list(PRIORS), [mix]).values():
        assert 0 <= capacity.work_low <= capacity.work * NOISE


@given(st.lists(points(), min_size=1, max_size=60))
def test_what_is_kept_of_a_day_is_bounded_by_how_much_points_differ(measured):
    """Twice the same points are kept as often as once."""
    once, twice = Operations(), Operations()
    for point in measured:
        once.add(point, PRIORS[point.shape], 0.0)
    for point in [*measured, *measured]:
        twice.add(point, PRIORS[point.shape], 0.0)

    assert len(once.points(0.0)) == len(twice.points(0.0)) <= len(measured)


@given(between(20.0, 5000.0), between(0.05, 200.0), mixes, between(1e-3, 0.5), st.booleans())
def test_a_window_says_what_went_into_it(requests, resident, mix, itl_s, is_queued):
    """Little's law both ways: residents x time = tokens x time between them."""
    seconds = requests * mix.output_tokens * itl_s / resident
    window = Window(
        seconds,
        itl_sum_s=resident * seconds,
        tokens=requests * mix.output_tokens,
        ttft_sum_s=requests,
        first_tokens=requests,
        completions=requests,
        prompt_tokens=requests * mix.prompt_tokens,
        output_tokens=requests * mix.output_tokens,
        is_queued=is_queued,
    )

    point = window.joined(window).point(next(iter(PRIORS)), 1e12)

    assert 1000 * itl_s == pytest.approx(point.itl_ms)
    assert 1 + resident * (1 - 1 / 256) == pytest.approx(point.batch)
    assert is_queued == (point.ttft_ms is None)
