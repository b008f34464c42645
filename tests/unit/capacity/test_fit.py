"""Laws from measured latencies: what may move, what must not, and what one shape says of another."""

import numpy as np
import pytest

from capacity.belief import SLICE_SIGMA, Source, prior_belief, scaled
from capacity.catalogue import MODELS
from capacity.fit import ITL_SIGMA, Point, Told, fit
from capacity.prior import prior
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape, shapes_of
from tests.builders.hidden import engine, held

QWEN = MODELS["qwen2.5-7b-bf16"]
WHOLE, HALF, QUARTER = (Shape("h100-80gb", name) for name in ("whole", "3g.40gb", "1g.20gb"))
PRIORS = {shape: prior(QWEN, H100_80GB, shape) for shape in shapes_of(H100_80GB)}
CHAT, SUMMARIES = Mix(1000.0, 250.0), Mix(4000.0, 60.0)


def measured(shape, *batches, factors=(1.0, 1.0, 1.0), mix=CHAT, ttft=True, bias=1.0):
    """What an engine whose alpha, beta, gamma are these times the prior's would show at some batches."""
    law = scaled(PRIORS[shape], np.log(factors))
    return [
        Point(
            shape,
            mix,
            batch,
            itl_ms=bias * law.itl_ms(mix.prompt_tokens, mix.output_tokens, batch),
            ttft_ms=bias * law.ttft_ms(mix.prompt_tokens, mix.output_tokens, batch) if ttft else None,
            requests=1000.0,
            itl_bias=bias,
            ttft_bias=bias,
        )
        for batch in batches
    ]


def factors_of(found, shape):
    law, before = found.belief(PRIORS[shape], shape).law, PRIORS[shape]
    return [
        law.alpha_ms / before.alpha_ms,
        law.beta_ms_per_token / before.beta_ms_per_token,
        law.gamma_ms_per_kv_token / before.gamma_ms_per_kv_token,
    ]


@pytest.mark.parametrize("shape", [WHOLE, QUARTER])
def test_without_points_the_fit_is_the_prior(shape):
    belief, before = fit([], PRIORS).belief(PRIORS[shape], shape), prior_belief(PRIORS[shape], shape)

    assert before.law == belief.law
    assert before.covariance == pytest.approx(belief.covariance)
    assert Source.PRIOR is belief.source


@pytest.mark.parametrize("shape", [WHOLE, HALF])
@pytest.mark.parametrize("times", [1, 50])
def test_one_operating_point_never_moves_a_slope(shape, times):
    """However often it was measured, and though its first tokens are known as well."""
    found = fit(measured(shape, 20.0, factors=(1.3, 1.3, 1.3)) * times, PRIORS)

    alpha, beta, gamma = factors_of(found, shape)
    assert [1.0, 1.0] == [beta, gamma]
    assert alpha > 1.3
    assert Source.CORRECTED is found.source


def test_points_too_alike_are_one_operating_point():
    found = fit(measured(WHOLE, 20.0, 20.2, 20.4, factors=(1.0, 1.3, 1.3)), PRIORS)

    assert [1.0, 1.0] == factors_of(found, WHOLE)[1:]


def test_one_operating_point_leaves_slopes_as_doubtful_as_they_were():
    """Only their sum with alpha is known better."""
    [point] = measured(WHOLE, 8.0, ttft=False)
    found = fit([point], PRIORS).belief(PRIORS[WHOLE], WHOLE)

    assert 0.95 * 0.15 < np.sqrt(found.covariance[1, 1]) <= 0.15
    assert ITL_SIGMA < np.sqrt(found.covariance[0, 0]) < 0.05


def test_points_far_apart_tell_alpha_from_slopes():
    found = fit(measured(WHOLE, 1.0, 10.0, 50.0, 150.0, factors=(0.85, 1.25, 1.0)), PRIORS)

    assert [0.85, 1.25] == pytest.approx(factors_of(found, WHOLE)[:2], rel=0.05)
    assert Source.FITTED is found.source


def test_what_is_measured_decides_where_there_is_much_of_it():
    """After 40 points the truth lies within two standard deviations of the fit, and those are small."""
    batches, truth = np.geomspace(1.0, 200.0, 20), (1.2, 0.9, 1.1)
    points = [p for mix in (CHAT, SUMMARIES) for p in measured(WHOLE, *batches, factors=truth, mix=mix)]
    found = fit(points, PRIORS)

    deviations = np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.mean - np.log(truth)) < 2 * deviations).all()
    assert deviations[:2].max() < 0.03


def test_a_bias_of_the_measurement_is_taken_off():
    plain, biased = (fit(measured(WHOLE, 1.0, 80.0, bias=bias), PRIORS).mean for bias in (1.0, 1.07))

    assert plain == pytest.approx(biased)


def test_one_shape_says_something_of_every_other():
    """Half of the card is 20 % slower throughout: most of that is the engine's, the rest the slice law's."""
    found = fit(measured(HALF, 1.0, 10.0, 60.0, factors=(1.2, 1.2, 1.2)), PRIORS)

    on_half, on_whole, on_quarter = (np.mean(factors_of(found, s)) for s in (HALF, WHOLE, QUARTER))
    assert 1.2 == pytest.approx(on_half, rel=0.02)
    assert 1.05 < on_whole < 1.15
    assert on_whole == on_quarter


def test_what_was_never_measured_stays_in_doubt_by_the_slice_law():
    found = fit(measured(WHOLE, *np.geomspace(1.0, 200.0, 10)), PRIORS)

    whole, quarter = (found.belief(PRIORS[shape], shape).covariance for shape in (WHOLE, QUARTER))
    assert whole + SLICE_SIGMA**2 == pytest.approx(quarter)


def test_a_new_shape_is_corrected_by_its_first_point():
    """As expected on the card, 30 % slower on the quarter: the one point of the first replica says so."""
    known = measured(WHOLE, *np.geomspace(1.0, 100.0, 8))
    before, after = (
        fit(known, PRIORS),
        fit([*known, *measured(QUARTER, 4.0, factors=(1.3, 1.3, 1.3))], PRIORS),
    )

    assert 1.0 == pytest.approx(np.mean(factors_of(before, QUARTER)), rel=0.01)
    assert 1.25 < np.mean(factors_of(after, QUARTER)) < 1.32
    assert np.mean(factors_of(after, WHOLE)) < 1.04
    doubts = [np.sqrt(f.belief(PRIORS[QUARTER], QUARTER).covariance[0, 0]) for f in (before, after)]
    assert doubts[1] < 0.5 * doubts[0]


def test_few_requests_say_little_of_the_first_token():
    [point] = measured(WHOLE, 4.0, factors=(1.5, 1.5, 1.5))
    alone, many = (Point(WHOLE, CHAT, 4.0, None, point.ttft_ms, requests) for requests in (1.0, 100_000.0))

    moved = [fit([one], PRIORS).mean[0] for one in (alone, many)]
    assert 0 < moved[0] < 0.2 * moved[1]


def test_points_of_a_benchmark_file_are_named_as_such():
    assert Source.IMPORT is fit(measured(WHOLE, 1.0, 50.0), PRIORS, imported=True).source


def test_the_order_of_the_points_does_not_matter():
    points = measured(WHOLE, 1.0, 9.0, 80.0, factors=(1.1, 0.9, 1.0)) + measured(HALF, 2.0, 30.0)

    assert fit(points, PRIORS).mean == pytest.approx(fit(points[::-1], PRIORS).mean, abs=1e-12)


@pytest.mark.parametrize("points_each", [(1, 1), (2, 10)])
def test_bounds_from_fits_hold_for_nine_engines_in_ten(points_each):
    """Of 100 with hidden truth, 0.91 +- 0.08 in nine of ten draws and more; the bench asks 1,500."""
    chance = np.random.default_rng(3)
    holds, _ = held([engine(chance, points_each) for _ in range(100)])

    assert 0.83 <= holds.mean() <= 0.99


def test_what_points_told_before_changes_no_fit():
    """Whether they come again, twice, beside others, or by another prior."""
    told, first, more = Told(), measured(WHOLE, 2.0, 30.0, factors=(1.2, 1.1, 1.0)), measured(HALF, 4.0)
    other = PRIORS | {WHOLE: scaled(PRIORS[WHOLE], np.log((2.0, 1.0, 1.0)))}
    for points, priors in ((first, PRIORS), (first + first + more, PRIORS), (first, other), (more, PRIORS)):
        alone, kept = fit(points, priors), fit(points, priors, told=told)
        np.testing.assert_array_equal(alone.mean, kept.mean)
        np.testing.assert_array_equal(alone.covariance, kept.covariance)


def test_a_point_that_told_something_once_is_not_worked_out_again():
    told, points = Told(), measured(WHOLE, 2.0, 30.0)
    first, again = told.by(points, PRIORS), told.by(points, PRIORS)
    assert [True] * 4 == [one is other for one, other in zip(first, again, strict=True)]
