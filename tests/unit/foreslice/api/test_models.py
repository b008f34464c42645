"""Models from a notebook: the same gate, the same store, and a search that does not peep."""

import numpy as np
import pandas as pd
import pytest
import yaml

from fleet.errors import InputError
from foreslice import backtest, promote, read_recipe, rollback, train, tune
from foreslice.api.tuning import CHOSEN
from foreslice.shelf import served_signature
from predictor.recipe import Question
from predictor.registry.registry import Registry
from tests.builders.demand import DAY, HALF_HOUR_S, office
from tests.builders.recipes import POOLED, recipe
from tests.builders.work import daily_work

QUICK = recipe(Question((1800,), (0.9,)), base=POOLED, trees=60)
DAYS = 12


def demand(days=DAYS, change=1.0):
    """Two offices with a height a day; what comes after 70 % of the time may be changed."""
    parts = []
    for seed, name in enumerate("ab"):
        values = office(days, seed) * np.repeat(np.random.default_rng(seed + 10).uniform(0.5, 3, days), DAY)
        values[round(CHOSEN * len(values)) :] *= change
        times = pd.to_datetime(HALF_HOUR_S * np.arange(len(values)), unit="s", utc=True)
        parts.append(pd.DataFrame({"time": times, "workload": name, "requests_per_s": values}))
    return pd.concat(parts, ignore_index=True)


def test_what_is_stored_goes_through_the_gate_has_its_card_and_is_taken_back(tmp_path):
    made = train(demand(), tmp_path, "fleet", recipe=QUICK)
    assert () == made.objections
    assert ["30m"] == [*made.scores["window"]]
    assert (made.scores["over last + residual"] < 1).all()
    assert 1 == promote(made.which, tmp_path)
    assert "<h2>Coverage</h2>" in (tmp_path / made.which / "card.html").read_text()
    name, version = made.which.split("/")
    assert version == Registry(str(tmp_path)).champion(name).promotion.version
    assert rollback(name, tmp_path) is None


def test_what_has_lost_is_not_promoted(tmp_path):
    made = train(demand(change=np.linspace(1, 0.01, round(0.3 * DAYS * DAY) + 1)[1:]), tmp_path, recipe=QUICK)
    assert made.objections
    with pytest.raises(InputError, match="is not promoted"):
        promote(made.which, tmp_path)
    with pytest.raises(InputError, match="names no version"):
        promote("global", tmp_path)


@pytest.fixture
def space(tmp_path):
    """A recipe with a search space of four points."""
    path = tmp_path / "mine.yaml"
    said = {
        "version": "v1",
        "parameters": {"trees": 20, "leaves": 7, "rows_per_leaf": 10},
        "windows": ["30m"],
        "quantiles": [0.9],
        "calibration": {"memory": "5d", "share": 0.5, "cap": 1.0},
        "search": {"parameters.leaves": [2, 7], "features.leave_out": [[], ["yesterday*"]]},
    }
    path.write_text(yaml.safe_dump(said))
    return path


def test_a_search_tries_points_of_the_space_and_keeps_the_best(space):
    found = tune(demand(), space, trials=3)
    assert 3 == len(found.trials)
    assert {"parameters.leaves", "features.leave_out", "over_rules"} == set(found.trials.columns)
    assert found.trials["over_rules"].is_monotonic_increasing
    assert found.trials["parameters.leaves"].iloc[0] == found.recipe.parameters["leaves"]
    assert tuple(found.trials["features.leave_out"].iloc[0]) == found.recipe.left_out


def test_a_search_never_sees_what_judges_it(space):
    ours, theirs = tune(demand(), space, trials=2), tune(demand(change=40.0), space, trials=2)
    pd.testing.assert_frame_equal(ours.trials, theirs.trials)
    assert ours.recipe == theirs.recipe
    assert ours.over_rules != theirs.over_rules


def test_a_backtest_has_a_row_a_workload_window_and_quantile():
    rows = backtest(demand(5), ["1h"], [0.9], test_fraction=0.2, recipe=QUICK)
    assert [("a", "1h", 0.9), ("b", "1h", 0.9)] == [
        *zip(rows.workload, rows.window, rows["quantile"], strict=True)
    ]
    assert (rows["covered_low"] < rows["covered_high"]).all()
    with pytest.raises(InputError, match="no window that can be scored"):
        backtest(demand(1), ["1h"], [0.9], recipe=QUICK)


def test_minutes_are_gathered_for_a_model_that_the_service_can_share(tmp_path):
    """Its signature is the one that the running service asks for."""
    times = pd.to_datetime(60 * np.arange(6 * 1440), unit="s", utc=True)
    minutes = pd.DataFrame({"time": times, "requests_per_s": daily_work(6)})
    made = train(minutes, tmp_path, recipe=recipe(base=read_recipe("shared"), trees=5), step="5m")
    assert served_signature() == made.manifest.signature
    with pytest.raises(InputError, match="are steps of 30m, which make no steps of 5m"):
        train(demand(), tmp_path, step="5m")
