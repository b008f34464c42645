"""A challenger is taught on the past, tried on what came after, and goes through the gate."""

from functools import cache

import numpy as np
import pytest

from fleet.errors import InputError
from predictor.recipe import Question
from predictor.registry.challenge import challenger
from predictor.registry.gate import RULES, objections
from predictor.registry.registry import Registry
from tests.builders.demand import DAY, HALF_HOUR_S, office, steps
from tests.builders.recipes import recipe

DAYS = 16
TRIED_FROM_S = 9 * 86400
WINDOWS_S = (1800, 3600)
QUANTILES = (0.5, 0.9)
NOW_S = 1_790_000_000


def quick(windows_s=WINDOWS_S):
    return recipe(Question(windows_s, QUANTILES), trees=25, leaves=7, rows_per_leaf=10)


def heights(days, seed):
    return np.repeat(np.random.default_rng(seed + 10).uniform(0.5, 3.0, days), DAY)


def fleet(days=DAYS, change=None):
    """Four series of office hours, a height a day: neither now nor last week tells the morning."""
    series = [office(days, seed) * heights(days, seed) for seed in range(4)]
    for one in series if change is not None else []:
        one[TRIED_FROM_S // HALF_HOUR_S :] = change
    return [steps(one) for one in series]


def made(series=None, champions=None, **given):
    return challenger(
        "global",
        fleet() if series is None else series,
        **{
            "recipe": quick(),
            "tried_from_s": TRIED_FROM_S,
            "champions": champions or {},
            "made_s": NOW_S,
            **given,
        },
    )


@cache
def first():
    return made()


@pytest.fixture
def registry(tmp_path):
    return Registry(str(tmp_path))


def test_it_is_read_back_whole_and_passes_the_gate(registry):
    version = registry.publish(first(), "global")
    found = registry.load("global", version)
    assert (4, 0, TRIED_FROM_S) == (
        found.manifest.training.series,
        found.manifest.training.from_s,
        found.manifest.training.until_s,
    )
    assert {(w, q) for w in WINDOWS_S for q in QUANTILES} == {
        (score.window_s, score.quantile) for score in found.manifest.scores
    }
    assert [] == objections(found.manifest, None)
    assert version == registry.promote("global", version, NOW_S).version


def test_it_is_scored_beside_champions_on_the_same_windows(registry):
    version = registry.publish(first(), "global")
    champion = registry.load("global", version)
    again = registry.publish(made(champions={version: champion.model}), "global")
    scores = registry.manifest("global", again).scores
    assert [score.pinball for score in scores] == [score.loss_of(version) for score in scores]
    assert {*RULES, version} == {loss.method for loss in scores[0].rivals}
    registry.promote("global", version, NOW_S)
    with pytest.raises(InputError, match=f"costs 1.000 of what {version} does"):
        registry.promote("global", again, NOW_S)


def test_what_it_is_tried_on_teaches_it_nothing(registry):
    """The days after the cut may be anything: the model is the same to the last digit."""
    rng = np.random.default_rng(9)
    other = made(fleet(change=rng.uniform(1, 1000, (DAYS * DAY) - TRIED_FROM_S // HALF_HOUR_S)))
    models = [registry.load("global", registry.publish(one, "global")) for one in (first(), other)]
    rows = rng.normal(size=(50, len(models[0].manifest.signature.features))).astype(np.float32)
    np.testing.assert_array_equal(*(one.model.predict(rows, 3600.0)[0] for one in models))
    assert models[0].manifest.training == models[1].manifest.training
    assert models[0].manifest.folds != models[1].manifest.folds


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"series": []}, "series of several steps, or none"),
        ({"series": [steps(np.ones(500)), steps(np.ones(500), step_s=60)]}, "series of several steps"),
        ({"recipe": quick((2700,))}, "window of 2700 s, which is not whole steps of 1800 s"),
        ({"tried_from_s": 0}, "too little to learn from"),
        ({"tried_from_s": 86400, "series": [steps(office(3))]}, "too little to learn from"),
        ({"tried_from_s": DAYS * 86400}, "nothing to be tried on"),
        ({"tried_from_s": DAYS * 86400 - 3600}, "nothing to be tried on"),
    ],
)
def test_too_little_is_one_line(given, match):
    with pytest.raises(InputError, match=match):
        made(**given)
