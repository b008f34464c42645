"""`foreslice train`: from a table of demand to a stored model that may serve."""

import json

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError
from foreslice.challenging import Asked, run_train
from foreslice.models import run_promote
from predictor.registry.registry import Registry
from predictor.sources.demand_table import Columns
from tests.builders.demand import DAY, HALF_HOUR_S, office

WINDOWS = "30m"


def heights(days, seed):
    return np.repeat(np.random.default_rng(seed + 10).uniform(0.5, 3.0, days), DAY)


@pytest.fixture
def table(tmp_path):
    """Write a table of two series, so many days of it."""

    def write(days, step_s=HALF_HOUR_S):
        times = step_s * np.arange(days * DAY)
        rows = [
            pd.DataFrame({"t": times, "by": name, "value": office(days, seed) * heights(days, seed)})
            for seed, name in enumerate("ab")
        ]
        pd.concat(rows).to_csv(tmp_path / "demand.csv", index=False)
        return tmp_path / "demand.csv"

    return write


def asked(file=None, config=None, recipe=None, windows=WINDOWS):
    return Asked(file, Columns("t", "by", "value"), config, recipe, windows, quantiles=".9")


def trained(capsys, file, store, windows=WINDOWS, tried=0.4):
    run_train(asked(file, windows=windows), tried, (str(store), "fleet"), as_json=True)
    return json.loads(capsys.readouterr().out)


def test_a_model_is_stored_and_may_serve(capsys, table, tmp_path):
    found = trained(capsys, table(12), tmp_path / "s")
    assert ("fleet", []) == (found["model"], found["objections"])
    registry = Registry(str(tmp_path / "s"))
    assert [found["version"]] == registry.versions("fleet")
    assert registry.champion("fleet").artefact is None
    assert 2 == registry.manifest("fleet", found["version"]).training.series


def test_a_second_one_is_tried_beside_what_serves(capsys, table, tmp_path):
    store = tmp_path / "s"
    first = trained(capsys, table(12), store)["version"]
    run_promote(Registry(str(store)), f"fleet/{first}", as_json=True)
    capsys.readouterr()
    second = trained(capsys, table(14), store)
    (score,) = Registry(str(store)).manifest("fleet", second["version"]).scores
    assert score.loss_of(first) is not None


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"tried": 0.6}, "has learnt from what it would be tried on; give newer demand"),
        (
            {"windows": "1h"},
            r"what serves has windows_s \(1800,\), wanted are \(3600,\)",
        ),
    ],
)
def test_what_serves_is_never_tried_unfairly(capsys, table, tmp_path, given, match):
    file, store = table(12), tmp_path / "s"
    first = trained(capsys, file, store)["version"]
    run_promote(Registry(str(store)), f"fleet/{first}", as_json=True)
    with pytest.raises(InputError, match=match):
        trained(capsys, file, store, **given)
    assert [first] == Registry(str(store)).versions("fleet")


def test_what_serves_is_not_tried_on_other_steps(capsys, table, tmp_path):
    store = tmp_path / "s"
    first = trained(capsys, table(12), store)["version"]
    run_promote(Registry(str(store)), f"fleet/{first}", as_json=True)
    with pytest.raises(InputError, match="what serves has step_s 1800, wanted are 600"):
        trained(capsys, table(36, step_s=600), store)
    assert [first] == Registry(str(store)).versions("fleet")


def test_it_says_what_it_stored(capsys, table, tmp_path):
    run_train(asked(table(12)), 0.4, (str(tmp_path / "s"), "fleet"), as_json=False)
    stored, gate = capsys.readouterr().out.splitlines()
    assert stored.startswith("stored: fleet/")
    assert "`foreslice models promote` lets it serve" in gate
