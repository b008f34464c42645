"""Recipes: what a file may say, what it makes, and whose code it may name."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from fleet.demand import QUANTILES
from fleet.errors import InputError
from foreslice.settings.learning import SharedModelSettings
from foreslice.settings.load import load as load_settings
from foreslice.settings.load import rung_of
from foreslice.settings.recipe import json_schema_text
from foreslice.settings.recipe_file import any_of, load, served, shipped, types_of
from foreslice.settings.yaml_file import InvalidSettings
from foreslice.shelf import shelf_of
from predictor.boosting import QuantileBoosting
from predictor.features import Target
from predictor.recipe import Guest

ROOT = Path(__file__).parents[3]
CALIBRATION = {"memory": "5d", "share": 0.5, "cap": 1.0}
MODEL = {"version": "v1", "kind": "model", "windows": ["30m"], "calibration": CALIBRATION}
GUEST = {
    "version": "v1",
    "kind": "forecaster",
    "forecaster": "predictor.forecasters.hold.Hold",
    "windows": ["30m"],
}
HOLD = (GUEST["forecaster"],)
LINES = "sklearn.linear_model.QuantileRegressor"


@pytest.fixture
def written(tmp_path):
    """Write a recipe, and return its path."""

    def write(recipe=None, **changes):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({**(MODEL if recipe is None else recipe), **changes}))
        return path

    return write


def test_what_is_shipped_is_what_can_be_served():
    for path in sorted((ROOT / "models/recipes").glob("*.yaml")):
        assert shipped(path.stem) == load(path)
    assert shipped("own") == served(ROOT / "models/recipes/own.yaml", ())


def test_a_recipe_says_how_a_model_is_made(written):
    recipe = load(
        written(
            parameters={"leaves": 4},
            target="step",
            features={"leave_out": ["last week*"], "every": "1h"},
            calendar={"zone": "Europe/Berlin", "country": "DE"},
        )
    )
    made = recipe.regressor(0.9)
    assert (QuantileBoosting, 0.9, 4) == (type(made), made.quantile, made.leaves)
    assert (Target.STEP, (1800,), QUANTILES) == (
        recipe.question.target,
        recipe.question.windows_s,
        recipe.question.quantiles,
    )
    assert ("Europe/Berlin", "DE") == (recipe.question.calendar.zone, recipe.question.calendar.country)
    assert (432000, 3600) == (recipe.calibration.memory_s, recipe.every_s)
    assert [False, True] == [recipe.takes(name) for name in ("last week, window", "yesterday, window")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"windos": ["30m"]}, "windos: unknown key, did you mean windows?"),
        ({"windows": []}, "windows: Tuple should have at least 1 item"),
        ({"windows": ["1h", "30m"]}, "windows must rise"),
        ({"windows": ["30"]}, "a duration needs a number and a unit"),
        ({"quantiles": [0.9, 0.5]}, "quantiles must rise"),
        ({"quantiles": [1.5]}, "quantiles[0]: must be less than 1 (is 1.5)"),
        ({"calibration": {"memory": "5d", "share": 2, "cap": 1}}, "calibration.share: must be less than"),
        ({"estimator": "boosting"}, "estimator: must be the import path of a class"),
        ({"version": "v2"}, "version: must be 'v1'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written, changes, expected):
    with pytest.raises(InvalidSettings) as refusal:
        load(written(**changes))
    assert expected in str(refusal.value)
    assert "mine.yaml:" in str(refusal.value)


def test_nobodys_code_is_imported_without_leave(written):
    with pytest.raises(InputError, match=f"{LINES} is not allowed; add it to learning.allowed"):
        load(written(estimator=LINES))
    recipe = load(written(estimator=LINES, parameters={"alpha": 0.1}), [LINES])
    assert 0.1 == recipe.regressor(0.9).alpha


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("nowhere.Nothing", "cannot be imported .No module named 'nowhere'.; install the package"),
        ("sklearn.linear_model.Nothing", "cannot be imported"),
        ("predictor.conformal.MEMORY_S", "is no class"),
    ],
)
def test_what_is_not_there_is_one_line(written, path, expected):
    with pytest.raises(InputError, match=expected):
        load(written(estimator=path), [path])


def test_parameters_that_it_does_not_take_are_one_line(written):
    with pytest.raises(
        InputError, match=r"cannot be made with its parameters .*leafs.*; correct `parameters`"
    ):
        load(written(parameters={"leafs": 4}))
    with pytest.raises(InputError, match="cannot be made with its parameters"):
        any_of(written(GUEST, parameters={"tree": 4}), HOLD)


def test_a_forecaster_is_made_by_the_service_and_not_stored(written):
    assert isinstance(served(written(GUEST), HOLD), Guest)
    with pytest.raises(InputError, match="is of a forecaster, which the service makes anew each day"):
        load(written(GUEST), HOLD)
    with pytest.raises(InputError, match=r"Hold is not allowed"):
        any_of(written(GUEST))


@pytest.mark.parametrize(
    ("recipe", "changes", "expected"),
    [
        (MODEL, {"quantiles": [0.5]}, "others than the peaks that decisions look at"),
        (MODEL, {"target": "step"}, "others than the peaks that decisions look at"),
        (MODEL, {"windows": ["30m", "2h"]}, "not on top of the ladder; choose some of 15m, 30m, 1h"),
        (GUEST, {"windows": ["5m"]}, "not on top of the ladder"),
    ],
)
def test_what_no_decision_could_use_is_not_served(written, recipe, changes, expected):
    path = written(recipe, **changes)
    with pytest.raises(InputError, match=expected):
        served(path, HOLD)
    any_of(path, HOLD)


SETTINGS = {
    "version": "v1",
    "metrics": {"source": "embedded"},
    "cluster": {"kind": "embedded"},
    "workloads": [{"name": "chat", "model": "qwen2.5-7b-bf16", "slo": {"ttft": {"p95": "1s"}}}],
}


def test_settings_name_the_recipe_and_whose_code_it_may_name(written, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump(SETTINGS))
    assert shipped("own") == rung_of(load_settings(path), tmp_path)
    written(GUEST)
    path.write_text(
        yaml.safe_dump({**SETTINGS, "learning": {"recipe": "mine.yaml", "allowed": [GUEST["forecaster"]]}})
    )
    assert "mine" == rung_of(load_settings(path), tmp_path).name
    path.write_text(yaml.safe_dump({**SETTINGS, "learning": {"recipe": "mine.yaml"}}))
    with pytest.raises(InvalidSettings, match=r"learning.recipe: .*Hold is not allowed"):
        load_settings(path)


def test_stored_models_go_by_the_full_names_of_allowed_classes():
    assert {"sklearn.linear_model._quantile.QuantileRegressor"} == types_of([LINES])


def test_a_store_that_the_service_reads_may_hold_what_is_allowed_and_installed(tmp_path):
    shared = SharedModelSettings(store="s")
    assert shelf_of(shared, tmp_path, [LINES]) is not None
    with pytest.raises(InputError, match=r"nowhere\.Nothing cannot be imported"):
        shelf_of(shared, tmp_path, ["nowhere.Nothing"])


def test_the_schema_in_the_repository_is_that_of_the_code():
    assert json_schema_text() == (ROOT / "models/recipes/schema.json").read_text()


@pytest.mark.parametrize(("recipe", "is_one"), [(MODEL, True), (GUEST, True), ({**MODEL, "x": 1}, False)])
def test_the_schema_tells_recipes_from_others(recipe, is_one):
    validator = jsonschema.Draft202012Validator(json.loads(json_schema_text()))
    assert is_one == validator.is_valid(recipe)


def test_editors_accept_what_is_shipped():
    for path in (ROOT / "models/recipes").glob("*.yaml"):
        jsonschema.validate(yaml.safe_load(path.read_text()), json.loads(json_schema_text()))
