"""Whether a challenger may serve."""

import math
from dataclasses import replace

import pytest

from predictor import backtest
from predictor.registry import artefact
from predictor.registry.gate import LEAST_WINDOWS, RULES, WORST, band, objections, ratio_to
from predictor.registry.manifest import manifest_of
from tests.builders.models import files, scores

CHAMPION = "0123456789ab"


def manifest(**scored):
    return manifest_of(files(**scored)[artefact.MANIFEST])


def with_first(found, **changed):
    """The same, but for its first score."""
    return replace(found, scores=(replace(found.scores[0], **changed), *found.scores[1:]))


def test_the_rules_are_those_of_the_backtest():
    assert (backtest.LAST, backtest.LAST_WEEK) == RULES


def test_a_first_model_has_to_beat_the_rules():
    assert [] == objections(manifest(pinball=0.099), None)
    assert [
        "it costs 1.000 of what last + residual does",
        "it costs 1.000 of what max(last, last week) does",
    ] == objections(manifest(pinball=0.1), None)


@pytest.mark.parametrize(
    ("ours", "champion", "said"),
    [
        (0.08, 0.081, []),
        (0.08, 0.08, [f"it costs 1.000 of what {CHAMPION} does"]),
        (0.08, 0.064, [f"it costs 1.250 of what {CHAMPION} does"]),
        (0.11, 0.12, [f"it costs 1.100 of what {rule} does" for rule in RULES]),
    ],
)
def test_a_challenger_has_to_beat_the_champion_and_the_rules(ours, champion, said):
    assert said == objections(manifest(pinball=ours, **{CHAMPION: champion}), CHAMPION)


def test_a_challenger_that_was_not_scored_beside_the_champion_is_refused():
    """The champion may have changed while it was trained."""
    assert [f"it was not scored beside {CHAMPION} on the same windows"] == objections(manifest(), CHAMPION)


def test_no_window_and_quantile_may_suffer():
    found = with_first(manifest(pinball=0.05), pinball=0.1 * WORST + 0.001)
    assert "at q 0.5 of 1800 s it costs 1.060 of what" in objections(found, None)[0]
    assert [] == objections(with_first(manifest(pinball=0.05), pinball=0.1 * WORST - 0.001), None)


def test_the_band_of_a_high_quantile_is_that_of_the_published_figures():
    assert (0.91, 0.98) == tuple(round(edge, 2) for edge in band(0.95))
    assert (0.41, 0.57) == tuple(round(edge, 2) for edge in band(0.5))
    assert 1.0 == band(0.999999)[1]


@pytest.mark.parametrize(("coverage", "passes"), [(0.89, False), (0.92, True), (0.979, True), (0.99, False)])
def test_a_quantile_that_does_not_cover_what_it_says_is_refused(coverage, passes):
    found = manifest()
    last = replace(found.scores[-1], coverage=coverage)
    against = objections(replace(found, scores=(*found.scores[:-1], last)), None)
    assert passes == (not against)
    if against:
        assert f"its q 0.95 of 3600 s covers {coverage:.1%}, allowed are 91.1% to 98.1%" == against[0]


def test_a_model_without_scores_is_refused():
    assert ["it was never scored"] == objections(replace(manifest(), scores=()), None)


def test_a_model_that_was_hardly_scored_is_refused():
    few = with_first(manifest(), windows=LEAST_WINDOWS - 1)
    assert ["it was scored on 99 windows, 100 are the least"] == objections(few, None)


def test_a_perfect_rival_is_not_beaten():
    assert 1.0 == ratio_to(scores(pinball=0.0, rival=0.0), "rival")
    assert math.inf == ratio_to(scores(pinball=0.1, rival=0.0), "rival")
    assert ratio_to((), "rival") is None


def test_a_score_that_is_no_number_does_not_win():
    assert objections(with_first(manifest(), pinball=math.nan), None)
    assert objections(with_first(manifest(), coverage=math.nan), None)
