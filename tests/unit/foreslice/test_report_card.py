"""The card of a model with plots: what it costs beside its rivals, and whether its quantiles hold."""

import pytest

from foreslice.report import card
from foreslice.report.ink import GREEN, RED
from predictor.registry.artefact import MANIFEST
from predictor.registry.manifest import manifest_of
from tests.builders.models import NAME, QUANTILES, SIGNATURE, files, scores


def drawn(figure, name):
    (trace,) = [one for one in figure.data if one.name == name]
    return trace


def test_a_bar_is_the_loss_over_that_of_a_rival():
    figure = card.loss_figure(scores(pinball=0.08, champion=0.16))
    assert {"over last + residual", "over max(last, last week)", "over champion"} == {
        one.name for one in figure.data
    }
    assert [pytest.approx(0.8)] * 4 == [*drawn(figure, "over last + residual").y]
    assert [pytest.approx(0.5)] * 4 == [*drawn(figure, "over champion").y]
    assert (["30m", "30m", "1h", "1h"], ["q 0.5", "q 0.95"] * 2) == tuple(map(list, figure.data[0].x))


def test_a_rival_that_cost_nothing_has_no_bar():
    assert [None] * 4 == [*drawn(card.loss_figure(scores(champion=0.0)), "over champion").y]


def test_a_quantile_that_holds_is_green_and_one_that_does_not_is_red():
    held = drawn(card.coverage_figure(scores()), "covered")
    assert [100 * quantile for quantile in QUANTILES] * 2 == [pytest.approx(one) for one in held.y]
    assert {GREEN} == set(held.marker.color)
    # 90 % pass for neither .5 nor .95.
    assert {RED} == set(drawn(card.coverage_figure(scores(coverage=0.9)), "covered").marker.color)


def test_the_page_has_both_and_needs_nothing_from_elsewhere():
    text = card.page(manifest_of(files()[MANIFEST]))
    assert f"<h1>Model {NAME}</h1>" in text
    assert f"takes {len(SIGNATURE.features)} features" in text
    assert "0.800" in text
    assert 'src="http' not in text
