"""Forecasts hold for any past: ordered, finite, not negative, blind to the future."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.demand import QUANTILES, WINDOWS_S
from fleet.errors import RefusedError
from predictor.conformal import Recent, ranks
from predictor.forecasters.daily import Daily
from predictor.forecasters.hold import Hold
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.residual import Residual
from predictor.ladder import Ladder
from predictor.scores import coverage, forward_peaks
from tests.builders.work import DAY, KEY, daily_work, series

FORECASTERS = pytest.mark.parametrize("maker", [LastValue, Residual, Daily, Hold, Ladder])

works = st.one_of(st.floats(0, 1e6), st.just(0.0), st.just(math.nan))
"""Work of one bucket; idle and unknown ones are common."""

stretches = st.lists(
    st.tuples(works, st.integers(1, 200), st.booleans(), st.floats(0, 1)), min_size=1, max_size=12
)
"""Pasts in stretches: a level, for how long, whether censored, how noisy."""


def past(drawn):
    """Expand stretches to work and censoring by bucket."""
    rng = np.random.default_rng(0)
    work = [level * (1 + noise * rng.random(length)) for level, length, _, noise in drawn]
    return np.concatenate(work), np.concatenate([np.full(n, cut) for _, n, cut, _ in drawn])


def table(forecast):
    return np.array([[forecast.peaks[w, q] for q in QUANTILES] for w in WINDOWS_S])


@FORECASTERS
@given(drawn=stretches)
@settings(max_examples=30)
def test_quantiles_are_ordered_finite_and_not_negative(maker, drawn):
    work, is_censored = past(drawn)
    forecaster = maker(KEY).fit(series(work, is_censored))
    if np.isnan(work).all():
        with pytest.raises(RefusedError):
            forecaster.peaks()
        return
    peaks = table(forecaster.peaks())
    assert np.isfinite(peaks).all()
    assert (peaks >= 0).all()
    assert (np.diff(peaks, axis=0) >= 0).all()
    assert (np.diff(peaks, axis=1) >= 0).all()


@FORECASTERS
@given(drawn=stretches, future=stretches)
@settings(max_examples=20)
def test_the_future_moves_no_forecast(maker, drawn, future):
    """What was said at a time, in a life that goes on, is what is said by one that ends there."""
    work, is_censored = past(drawn)
    work[0] = 1.0
    later, is_later_censored = past(future)
    life = series(np.concatenate((work, later)), np.concatenate((is_censored, is_later_censored)))
    forecaster, said = maker(KEY).fit(series([])), None
    for n, (value, cut) in enumerate(zip(life.work, life.is_censored, strict=True)):
        if n == len(work):
            said = forecaster.peaks()
        forecaster.update(float(value), is_censored=bool(cut))
    assert maker(KEY).fit(series(work, is_censored)).peaks() == said


@FORECASTERS
@given(drawn=stretches, cut=st.floats(0, 1))
@settings(max_examples=15)
def test_it_does_not_matter_how_much_of_the_past_came_as_history(maker, drawn, cut):
    work, is_censored = past(drawn)
    work[-1] = 1.0
    seen = int(cut * len(work))
    forecaster = maker(KEY).fit(series(work[:seen], is_censored[:seen]))
    for value, is_cut in zip(work[seen:], is_censored[seen:], strict=True):
        forecaster.update(float(value), is_censored=bool(is_cut))
    assert maker(KEY).fit(series(work, is_censored)).peaks() == forecaster.peaks()


@given(
    scores=st.lists(st.floats(-100, 100), min_size=1, max_size=80),
    bounds=st.lists(st.floats(-100, 100), max_size=80),
    order=st.randoms(use_true_random=False),
)
def test_recent_scores_have_the_same_quantiles_in_any_order_and_bounds_only_raise_them(scores, bounds, order):
    def fed(items):
        recent = Recent()
        for score, is_bound in items:
            recent.add(0, (score,), is_lower_bound=is_bound)
        return recent

    items = [(score, False) for score in scores] + [(bound, True) for bound in bounds]
    shuffled = order.sample(items, len(items))
    exact = fed(items[: len(scores)]).quantiles()
    assert [sorted(scores)[rank] for rank in ranks(len(scores))] == exact
    assert fed(items).quantiles() == fed(shuffled).quantiles()
    assert all(both >= alone for both, alone in zip(fed(items).quantiles(), exact, strict=True))


@given(scores=st.lists(st.floats(-9, 9), max_size=40), before=st.integers(0, 50))
def test_expired_scores_leave_no_trace(scores, before):
    recent = Recent()
    for at, score in enumerate(scores):
        recent.add(at, (score,), is_lower_bound=False)
    recent.expire(before)
    assert sorted(scores[before:]) == list(recent.ordered())


@pytest.mark.parametrize("maker", [Residual, Ladder])
def test_forecasts_that_are_too_old_to_be_scored_are_not_missed(maker):
    work = daily_work(6.5, seed=4)
    fitted = maker(KEY).fit(series(work))
    updated = maker(KEY).fit(series(work[:DAY]))
    for value in work[DAY:].tolist():
        updated.update(value)
    assert updated.peaks() == fitted.peaks()


@FORECASTERS
def test_scaling_the_work_scales_the_forecast(maker):
    work = daily_work(1.5)
    np.testing.assert_allclose(
        1e3 * table(maker(KEY).fit(series(work)).peaks()), table(maker(KEY).fit(series(1e3 * work)).peaks())
    )


@pytest.mark.parametrize("maker", [Residual, Daily, Hold, Ladder])
@pytest.mark.parametrize("seed", [0, 1])
def test_nominal_95_percent_cover_what_they_say_out_of_sample(maker, seed):
    """Three days after five of history, daily sine plus the noise of counts; at windows up to 15 min.

    Longer windows hold too few independent peaks in three days to tell .95 from .97.
    """
    work = daily_work(8, seed=seed, per_minute=120)
    forecaster = maker(KEY).fit(series(work[: 5 * DAY]))
    said = []
    for value in work[5 * DAY :]:
        said.append(forecaster.peaks())
        forecaster.update(float(value))
    for window_s in WINDOWS_S[:3]:
        peaks = forward_peaks(work[5 * DAY :], window_s)
        covered = coverage(peaks, np.array([forecast.peaks[window_s, 0.95] for forecast in said]))
        assert 0.92 <= covered <= 0.975, window_s
